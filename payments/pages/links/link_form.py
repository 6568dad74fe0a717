"""The form of a payment link's page: what the payer chooses and enters, read strictly."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from django.core.exceptions import ValidationError
from django.core.validators import EmailValidator

from kit.money.amount_input import InvalidAmount, minor_units
from kit.money.money import money
from kit.text.display_names import has_control_character, pasted
from kit.text.masking import has_card_number
from kit.text.phone_numbers import is_phone_number
from payments.models import PaymentLink
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkouts import Details

LONGEST_NAME = 100
LONGEST_ANSWER = 200
LONGEST_SHOWN = 300  # more than any field accepts, so that a text that was cut isn't accepted
CARD_NUMBER_HERE = "Do not enter your card number here."
# Some numbers of other countries are also numbers that card schemes issue, and would be stored masked.
WITHOUT_COUNTRY = "Enter this number without its country code, such as 0803 123 4567."
COUNTRY_CODE = re.compile(r"\+|00")
QUANTITY = re.compile(r"[0-9]{1,3}\Z")
ANSWER = "field_"  # prefix of the names of the merchant's own fields


@dataclass(frozen=True, slots=True)
class Question:
    """A field of the form for the template: its name, label, value and how browsers fill it in."""

    name: str
    label: str
    is_required: bool = False
    value: str = ""
    error: str = ""
    kind: str = "text"
    input_mode: str = ""
    autocomplete: str = ""


PERSONAL = (
    Question("name", "Full name", autocomplete="name"),
    Question("email", "Email", kind="email", autocomplete="email"),
    Question("phone", "Phone number", kind="tel", input_mode="tel", autocomplete="tel"),
)


@dataclass(slots=True)
class LinkForm:
    """The submitted or empty form of a link. `details` are set if it is valid."""

    link: PaymentLink
    methods: list[str]  # that can be used at the moment
    values: Mapping[str, str] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    details: Details | None = None

    def read(self, data: Mapping[str, Any]) -> None:
        """Read a submitted form and set `details`, or `errors` by field."""
        self.values = {name: pasted(str(value)) for name, value in data.items()}
        amount, quantity, method = self._amount(), self._quantity(), self._method()
        texts = {question.name: self._text(question) for question in self.questions()}
        if not self.errors and (why_not := checkouts.why_not(self.link, method, amount * quantity)):
            self.errors[self._field_of_total()] = why_not
        if self.errors:
            return
        answers = {
            name.removeprefix(ANSWER): text
            for name, text in texts.items()
            if name.startswith(ANSWER) and text
        }
        self.details = Details(
            amount=amount * quantity,
            quantity=quantity,
            method=method,
            name=texts.get("name", ""),
            email=texts.get("email", ""),
            phone=texts.get("phone", ""),
            answers=answers,
        )

    def questions(self) -> list[Question]:
        """Return the fields that the payer fills in, apart from amount, quantity and method."""
        return [*self._asked(), *self._own()]

    def entries(self) -> dict[str, str]:
        """Return what a browser may keep of the entries, by field."""
        return {name: _shown_again(self.values[name]) for name in self._names() if name in self.values}

    def error_list(self) -> list[tuple[str, str]]:
        """Return the errors with the ids of their fields, in the order of the page."""
        return [(name, self.errors[name]) for name in self._names() if name in self.errors]

    @property
    def amount_text(self) -> str:
        return _shown_again(self.values.get("amount", ""))

    @property
    def quantity_text(self) -> str:
        return _shown_again(self.values.get("quantity", "1"))

    @property
    def chosen_method(self) -> str:
        """Return the chosen method, by default the first of the link."""
        chosen = self.values.get("method", "")
        return chosen if chosen in self.methods else next(iter(self.methods), "")

    def _names(self) -> list[str]:
        return ["amount", "quantity", "method", *(question.name for question in self.questions())]

    def _asked(self) -> list[Question]:
        known = {"name": self.link.customer_name, "email": self.link.customer_email}
        return [
            self._filled(replace(question, is_required=self.link.asks_for(question.name) == "required"))
            for question in PERSONAL
            if self.link.asks_for(question.name) != "no" and not known.get(question.name)
        ]

    def _own(self) -> list[Question]:
        return [
            self._filled(
                Question(
                    f"{ANSWER}{each['key']}", each["label"], is_required=each["required"], autocomplete="off"
                )
            )
            for each in self.link.custom_fields
        ]

    def _filled(self, question: Question) -> Question:
        name = question.name
        value = _shown_again(self.values.get(name, ""))
        return replace(question, value=value, error=self.errors.get(name, ""))

    def _amount(self) -> int:
        """Return the amount of one unit. The merchant's is never read from the form."""
        link = self.link
        if link.amount is not None:
            return link.amount
        low, high = link.smallest_entered_amount, link.amount_max or 0
        try:
            amount = minor_units(self.values.get("amount", ""), link.currency)
        except InvalidAmount as invalid:
            self.errors["amount"] = str(invalid)
            return 0
        if not low <= amount <= high:
            between = f"{money(low, link.currency)} to {money(high, link.currency)}"
            self.errors["amount"] = f"Enter an amount of {between}."
        return amount

    def _quantity(self) -> int:
        most = self.link.quantity_max
        text = self.values.get("quantity", "1").strip()
        if most == 1:
            return 1
        if not QUANTITY.match(text) or not 1 <= int(text) <= most:
            self.errors["quantity"] = f"Enter a whole number from 1 to {most}."
            return 1
        return int(text)

    def _field_of_total(self) -> str:
        """Return the field in which the payer can change what the total is paid by, or the total."""
        if len(self.methods) > 1:
            return "method"
        return "amount" if self.link.amount is None else "quantity"

    def _method(self) -> str:
        chosen = self.values.get("method", "")
        if len(self.methods) == 1:
            return self.methods[0]
        if chosen not in self.methods:
            self.errors["method"] = "Choose how you want to pay."
        return chosen

    def _text(self, question: Question) -> str:
        value = " ".join(self.values.get(question.name, "").split())
        if not value:
            if question.is_required:
                self.errors[question.name] = (
                    f"Answer “{question.label}”."
                    if question.name.startswith(ANSWER)
                    else f"Enter your {question.label.lower()}."
                )
            return ""
        error = _fault(question, value)
        if error:
            self.errors[question.name] = error
        return value


def _shown_again(text: str) -> str:
    """Return the beginning of a text, or nothing of it if it holds a card number."""
    return "" if has_card_number(text) else text[:LONGEST_SHOWN]


def _fault(question: Question, value: str) -> str:
    """Return what is wrong with a text, or an empty string."""
    if has_card_number(value):
        return WITHOUT_COUNTRY if question.name == "phone" and COUNTRY_CODE.match(value) else CARD_NUMBER_HERE
    longest = LONGEST_NAME if question.name == "name" else 254 if question.name == "email" else LONGEST_ANSWER
    if len(value) > longest:
        return f"Enter at most {longest} characters."
    if has_control_character(value):
        return "Enter this without special characters."
    if question.name == "email" and not _is_email(value):
        return "Enter an email address such as name@example.com."
    if question.name == "phone" and not is_phone_number(value):
        return "Enter a phone number with 7 to 15 digits, such as 0803 123 4567."
    return ""


def _is_email(text: str) -> bool:
    try:
        EmailValidator()(text)
    except ValidationError:
        return False
    return True
