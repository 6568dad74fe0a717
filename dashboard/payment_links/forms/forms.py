"""Forms of payment links. What is entered becomes a request of the API and is validated by its rules.

Names of fields are those of the API, except for objects and lists, whose parts are fields here.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.conf import settings
from django.forms import BoundField

from dashboard.payment_links.forms.form_fields import (
    AccountField,
    AmountField,
    LinesField,
    MomentField,
    WholeNumberField,
    as_typed,
)
from dashboard.ui.forms.field_choices import set_choices
from dashboard.ui.forms.forms import PageForm
from kit.money.amount_input import CURRENCY, InvalidAmount, minor_units
from kit.money.form_fields import PastedField, ReferenceField
from kit.money.money import money, written
from kit.text.masking import mask_card_numbers
from kit.time.durations import in_words
from payments.links.link_rules import DEFAULT_COLLECT, DEFAULT_WINDOW, MOST_CUSTOM_FIELDS
from payments.models import PaymentLink
from payments.services.links import links

METHODS = (
    ("card,virtual_account", "Card and bank transfer, card first"),
    ("virtual_account,card", "Card and bank transfer, transfer first"),
    ("card", "Card only"),
    ("virtual_account", "Bank transfer only"),
)
WINDOWS = (600, 1_800, 3_600, 14_400, 43_200, 86_400)  # seconds
ASKED = (("required", "Required"), ("optional", "Optional"), ("no", "Don’t ask"))  # noqa: RUF001
PERSONAL = ("name", "email", "phone")
FIXED, RANGE = "fixed", "range"
LONGEST_KEY = 40


@dataclass(frozen=True, slots=True)
class QuestionFields:
    """The fields of one custom field."""

    number: int
    label: BoundField
    key: BoundField
    required: BoundField


class LinkForm(PageForm):
    """The fields of a link that may change."""

    title = forms.CharField(max_length=80, help_text="What is paid for. Payers see it.")
    description = LinesField(required=False, max_length=500)
    max_uses = WholeNumberField(
        required=False,
        label="Maximum uses",
        help_text="How many payments may succeed in total, of any quantity. Leave it empty for no limit.",
    )
    expires_at = MomentField(
        required=False,
        label="Expires",
        help_text="The last moment to begin a payment, from 5 minutes to 5 years ahead. Leave it empty for never.",
    )
    payment_methods = forms.ChoiceField(choices=METHODS, label="Payment methods")
    transfer_window = forms.ChoiceField(
        label="Time for a transfer",
        help_text="How long an account number accepts the payer’s transfer. At most 1 hour with maximum uses.",  # noqa: RUF001
    )
    payment_method_id = AccountField(
        required=False,
        label="Virtual account",
        help_text="Where transfers arrive: one of your dynamic accounts in the currency of the link.",
    )
    collect_name = forms.ChoiceField(choices=ASKED, label="Name")
    collect_email = forms.ChoiceField(choices=ASKED, label="Email")
    collect_phone = forms.ChoiceField(choices=ASKED, label="Phone")
    redirect_url = forms.CharField(
        required=False,
        max_length=2048,
        label="Redirect URL",
        widget=forms.TextInput(attrs={"inputmode": "url"}),
        help_text="The page that payers are sent to after success. Leave it empty for a receipt.",
    )
    success_message = LinesField(
        required=False, max_length=300, label="Success message", help_text="Shown on the receipt."
    )
    support_contact = forms.CharField(
        required=False,
        max_length=100,
        label="Support contact",
        help_text="An email address or phone number, for every page of the link. Leave it empty to use the contact of the settings.",
    )

    def __init__(self, *args: Any, accounts: Sequence[tuple[str, str]], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "payment_method_id", [("", "The account for payment links"), *accounts])
        for number in self._numbers:
            self.fields[f"label_{number}"] = forms.CharField(
                required=False, max_length=50, label=f"Question {number}"
            )
            self.fields[f"key_{number}"] = forms.CharField(
                required=False, max_length=LONGEST_KEY, label="Name in the API"
            )
            self.fields[f"required_{number}"] = forms.BooleanField(required=False, label="Required")
        window = int(self.initial.get("transfer_window", DEFAULT_WINDOW))
        set_choices(self, "transfer_window", _windows(window))

    # Fields that are folded until one of them differs from what is proposed.
    MORE: Sequence[str] = (
        "payment_methods", "transfer_window", "payment_method_id", "collect_name", "collect_email", "collect_phone",
        "redirect_url", "success_message", "support_contact",
    )  # fmt: skip

    @property
    def opens_more(self) -> bool:
        """Return whether a field that is folded differs from what is proposed, or has an error."""
        proposed = {"payment_methods": METHODS[0][0]} | new_link_initial()
        return self.has_questions or any(
            self[name].errors or str(self[name].value() or "") not in {"", proposed.get(name, "")}
            for name in self.MORE
            if name in self.fields
        )

    _numbers = range(1, MOST_CUSTOM_FIELDS + 1)

    @property
    def questions(self) -> list[QuestionFields]:
        """Return the fields of the merchant's own questions."""
        return [
            QuestionFields(number, self[f"label_{number}"], self[f"key_{number}"], self[f"required_{number}"])
            for number in self._numbers
        ]

    @property
    def has_questions(self) -> bool:
        """Return whether a question was filled in."""
        return any(each.label.value() or each.key.value() for each in self.questions)

    @property
    def asked_questions(self) -> list[int]:
        """Return the numbers of the questions to ask. Clearing a stored question removes it.

        The form must be valid.
        """
        return [
            number
            for number in self._numbers
            if self.cleaned_data[f"label_{number}"] or f"key_{number}" in self._typed_keys
        ]

    @property
    def _typed_keys(self) -> set[str]:
        return {name for name in self.changed_data if name.startswith("key_") and self.cleaned_data[name]}

    def mutable_values(self) -> dict[str, Any]:
        """Return the values of the API's fields that may change; None for an empty one. The form must be valid."""
        given = self.cleaned_data
        texts = ("description", "payment_method_id", "redirect_url", "success_message", "support_contact")
        return {
            "title": given["title"],
            "max_uses": int(given["max_uses"]) if given.get("max_uses") else None,
            "expires_at": given["expires_at"].isoformat() if given["expires_at"] else None,
            "payment_methods": given["payment_methods"].split(","),
            "transfer_window": int(given["transfer_window"]),
            "collect": {name: given[f"collect_{name}"] for name in PERSONAL},
            "custom_fields": [self._question(number) for number in self.asked_questions] or None,
            **{name: given[name] or None for name in texts},
        }

    def _question(self, number: int) -> dict[str, Any]:
        given = self.cleaned_data
        label = given[f"label_{number}"]
        key = given[f"key_{number}"] or key_of(label) or f"field_{number}"
        return {"label": label, "key": key, "required": given[f"required_{number}"]}


class NewLinkForm(LinkForm):
    """A new link that can be paid more than once."""

    is_for_one = False
    # As on the page, for the summary of errors.
    field_order = (
        "title", "description", "currency", "price", "amount", "quantity_max", "amount_min", "amount_max", "suggested",
    )  # fmt: skip

    MORE = (*LinkForm.MORE, "slug")
    price = forms.ChoiceField(
        choices=((FIXED, "Fixed amount"), (RANGE, "The payer chooses")), widget=forms.RadioSelect
    )
    currency = forms.ChoiceField()
    amount = AmountField(required=False)
    quantity_max = WholeNumberField(
        required=False,
        label="Maximum quantity",
        help_text="How many a payer may buy in one payment, from 1 to 100. Maximum uses limits the payments.",
    )
    amount_min = AmountField(required=False, label="Smallest amount")
    amount_max = AmountField(required=False, label="Largest amount")
    suggested = forms.CharField(
        required=False,
        max_length=120,
        label="Suggested amounts",
        widget=forms.TextInput(attrs={"inputmode": "decimal"}),
        help_text="Up to 4, with spaces between them, such as 1000 2500 5000.",
    )
    slug = forms.CharField(
        required=False,
        max_length=40,
        label="Address",
    )
    reference = ReferenceField(
        label="Reference", help_text="Your own reference. A reference belongs to one link only."
    )

    def __init__(self, *args: Any, currencies: Sequence[str], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        set_choices(self, "currency", ((each, each) for each in currencies))
        if "slug" in self.fields:
            self.fields["slug"].help_text = (
                f"What follows {settings.PUBLIC_URL}/l/ in the address: 4 to 40 lowercase letters, digits and hyphens. "
                "Leave it empty for a random address."
            )

    @property
    def prices(self) -> Iterator[tuple[str, str, bool]]:
        """Yield the ways to price the link: value, label, and whether it is chosen."""
        chosen = self["price"].value()
        for value, label in self.fields["price"].choices:  # type: ignore[attr-defined]
            yield value, label, value == chosen

    @property
    def preview_title(self) -> str:
        return mask_card_numbers(str(self["title"].value() or "")) or "Title"

    @property
    def preview_amount(self) -> str:
        """Return the amount as payers read it, or nothing while it isn't valid."""
        if not self.is_bound or not {"currency", "minor_units"} <= self.cleaned_data.keys():
            return ""
        amounts, currency = self.cleaned_data["minor_units"], self.cleaned_data["currency"]
        shown = [amounts[name] for name in ("amount", "amount_min", "amount_max") if name in amounts]
        return "" if None in shown else " to ".join(money(each, currency) for each in shown)

    def clean(self) -> dict[str, Any]:
        """Read the amounts that belong to the chosen price."""
        given = self.cleaned_data
        if "currency" in given and "price" in given:
            names = ("amount",) if given["price"] == FIXED else ("amount_min", "amount_max")
            given["minor_units"] = {name: self._amount(name, given.get(name, "")) for name in names}
            if given["price"] == RANGE:
                given["minor_units"]["suggested"] = self._suggested(given.get("suggested", ""))
        return given

    def _amount(self, name: str, text: str) -> int | None:
        try:
            return minor_units(text, self.cleaned_data["currency"])
        except InvalidAmount as refusal:
            self.add_error(name, str(refusal))
            return None

    def _suggested(self, text: str) -> list[int | None]:
        joined = re.sub(rf"({CURRENCY})\s+(?=[0-9])", r"\1", text)  # "NGN 500.00" is one amount
        return [self._amount("suggested", each) for each in re.split(r"[\s;]+|,\s+", joined.strip()) if each]

    def order(self) -> dict[str, Any]:
        """Return the body of the equivalent POST /api/payment-links. The form must be valid."""
        given = self.cleaned_data
        order = {
            "reference": given["reference"],
            "currency": given["currency"],
            **self.mutable_values(),
            **self._price(),
            "slug": given.get("slug"),
        }
        return {name: value for name, value in order.items() if value not in (None, "")}

    def _price(self) -> dict[str, Any]:
        amounts, given = self.cleaned_data["minor_units"], self.cleaned_data
        if given["price"] == FIXED:
            most = given["quantity_max"]
            return {"amount": amounts["amount"], "quantity_max": int(most) if most else None}
        span = {"min": amounts["amount_min"], "max": amounts["amount_max"]}
        return {"amount_range": span | ({"suggested": amounts["suggested"]} if amounts["suggested"] else {})}


class NewLinkForOneForm(NewLinkForm):
    """A new link for one payment, such as an order's, whose payer may be known."""

    is_for_one = True
    EXPIRES_AFTER = timedelta(days=30)

    max_uses = slug = None  # type: ignore[assignment]  # so Django leaves fields of a base class out
    customer_reference = forms.CharField(
        required=False,
        max_length=100,
        label="Customer ID",
        help_text="Your own reference of the customer. Required if you enter an email address or a name.",
    )
    customer_email = PastedField(required=False, max_length=254, label="Customer email")
    customer_name = PastedField(required=False, max_length=255, label="Customer name")

    def order(self) -> dict[str, Any]:
        customer = {name: self.cleaned_data[f"customer_{name}"] for name in ("reference", "email", "name")}
        known = {name: value for name, value in customer.items() if value}
        return super().order() | {"max_uses": 1} | ({"customer": known} if known else {})


class ChangeLinkForm(LinkForm):
    """A change of a link."""

    # The moment of the change that the page was rendered after.
    made = forms.CharField(required=False, widget=forms.HiddenInput)

    @classmethod
    def of(
        cls, link: PaymentLink, data: Any = None, *, accounts: Sequence[tuple[str, str]]
    ) -> ChangeLinkForm:
        """Return the form with the stored values."""
        return cls(data, initial=_initial_of(link), accounts=accounts)

    def changes(self) -> dict[str, Any]:
        """Return the body of the equivalent PATCH: the fields that were changed. The form must be valid."""
        touched = {_api_name(name) for name in self.changed_data}
        return {name: value for name, value in self.mutable_values().items() if name in touched}


def new_link_initial() -> dict[str, Any]:
    """Return the values that the form of a new link proposes, besides its reference."""
    collected = {f"collect_{name}": asked for name, asked in DEFAULT_COLLECT.items()}
    return {"price": FIXED, "transfer_window": str(DEFAULT_WINDOW), **collected}


def initial_like(link: PaymentLink, *, now: datetime) -> dict[str, Any]:
    """Return the values of a new link like another one, except for its names, its customer and an end that is over."""
    stored = _initial_of(link)
    is_over = link.expires_at is not None and link.expires_at <= now
    amounts = {"amount": link.amount, "amount_min": link.amount_min, "amount_max": link.amount_max}
    return stored | {
        "expires_at": "" if is_over else stored["expires_at"],
        "price": FIXED if link.has_fixed_amount else RANGE,
        "currency": link.currency,
        "quantity_max": str(link.quantity_max) if link.quantity_max > 1 else "",
        "suggested": " ".join(written(each, link.currency) for each in link.suggested_amounts),
        **{name: written(each, link.currency) for name, each in amounts.items() if each is not None},
    }


def _initial_of(link: PaymentLink) -> dict[str, Any]:
    # Pages mask card numbers. A masked value that is submitted again is no change.
    stored = {
        name: mask_card_numbers(value) if isinstance(value, str) else value
        for name, value in links.mutable_fields(link).items()
    }
    asked = {f"collect_{name}": link.asks_for(name) for name in PERSONAL}
    questions = {
        f"{part}_{number}": question[part]
        for number, question in enumerate(link.custom_fields, start=1)
        for part in ("label", "key", "required")
    }
    return (
        stored
        | asked
        | questions
        | {
            "max_uses": "" if link.max_uses is None else str(link.max_uses),
            "expires_at": as_typed(link.expires_at),
            "payment_methods": ",".join(link.payment_methods),
            "transfer_window": str(link.transfer_window),
            "made": link.updated_at.isoformat(),
        }
    )


def _api_name(name: str) -> str:
    """Return the API's field that a field of the form is a part of.

    >>> [_api_name(each) for each in ("title", "collect_phone", "required_2")]
    ['title', 'collect', 'custom_fields']
    """
    if name.startswith("collect_"):
        return "collect"
    return "custom_fields" if re.fullmatch(r"(label|key|required)_[0-9]", name) else name


def _windows(stored: int) -> list[tuple[str, str]]:
    """Return the choices of a transfer's time, with the stored one."""
    return [(str(each), in_words(timedelta(seconds=each), parts=3)) for each in sorted({*WINDOWS, stored})]


def key_of(label: str) -> str:
    """Return a key for a question, from its label.

    >>> key_of("T-shirt size?"), key_of("Àdìrẹ pattern"), key_of("尺寸")
    ('t_shirt_size', 'adire_pattern', '')
    """
    plain = unicodedata.normalize("NFKD", label).encode("ascii", "ignore").decode().lower()
    return "_".join(re.findall(r"[a-z0-9]+", plain))[:LONGEST_KEY]
