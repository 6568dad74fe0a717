"""The forms by which payers enter what the acquirer asks for, one for each kind of input.

What is secret is never shown again, and no input is kept anywhere.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import date

from kit.db import clock
from kit.text.display_names import has_control_character, pasted
from kit.text.masking import has_card_number
from kit.text.plurals import counted
from payments.rails.protocol import ActionKind

CODE = re.compile(r"[0-9A-Za-z]{1,16}\Z")
PIN = re.compile(r"[0-9]{4,6}\Z")
PHONE = re.compile(r"\+?[0-9]{7,15}\Z")
DAY = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}\Z")
BETWEEN_DIGITS = str.maketrans("", "", " -().\u2012\u2013")
EARLIEST_BIRTHDAY = date(1900, 1, 1)
LONGEST_LINE = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class InputField:
    """A field of a form. `read` returns the entered text as it is sent, and raises ValueError with what is wrong."""

    name: str
    label: str
    read: Callable[[str], str]
    sent_as: str = ""  # the name in `CardAcquirer.answer_action`, if it differs
    autocomplete: str
    type: str = "text"
    inputmode: str = ""
    longest: int = LONGEST_LINE
    hint: str = ""
    is_secret: bool = False
    is_code: bool = False  # shown in large digits


@dataclass(frozen=True, slots=True, kw_only=True)
class InputForm:
    """The form of one kind of input. `wrong` says that the acquirer refused it."""

    fields: tuple[InputField, ...]
    wrong: str
    button: str = "Continue"


@dataclass(slots=True)
class Entered:
    """A submitted form: the value to send, or what is wrong by field. `entries` may be shown again."""

    value: dict[str, str]
    entries: dict[str, str]
    errors: dict[str, str]


def read_input(kind: ActionKind, data: Mapping[str, str]) -> Entered:
    """Read the submitted form of a kind of input."""
    entered = Entered({}, {}, {})
    for field in FORMS[kind].fields:
        text = pasted(str(data.get(field.name, ""))).strip()
        try:
            value = field.read(text)
        except ValueError as fault:
            entered.errors[field.name] = str(fault)
        else:
            entered.value[field.sent_as or field.name] = value
        if not (field.is_secret or has_card_number(text)):
            entered.entries[field.name] = text[: field.longest]
    return entered


def _code(text: str) -> str:
    code = "".join(text.split())
    if not CODE.match(code):
        raise ValueError("Enter the code that you received.")
    return code


def _pin(text: str) -> str:
    if not PIN.match(text):
        raise ValueError("Enter the 4 digits of your card PIN.")
    return text


def _phone(text: str) -> str:
    number = text.translate(BETWEEN_DIGITS)
    if not PHONE.match(number):
        raise ValueError("Enter your phone number, such as 0801 234 5678.")
    return number


def _birthday(text: str) -> str:
    try:
        day = date.fromisoformat(text) if DAY.match(text) else None
    except ValueError:
        day = None
    if day is None or not EARLIEST_BIRTHDAY <= day <= clock.now().date():
        raise ValueError("Enter your date of birth as year, month and day, such as 1990-07-31.")
    return day.isoformat()


def _line(what: str) -> Callable[[str], str]:
    def read(text: str) -> str:
        line = " ".join(text.split())
        if not line:
            raise ValueError(f"Enter {what}.")
        if has_card_number(line):
            raise ValueError("Do not enter your card number here.")
        if len(line) > LONGEST_LINE or has_control_character(line):
            raise ValueError(f"Enter {what} in at most {LONGEST_LINE} characters.")
        return line

    return read


FORMS: dict[ActionKind, InputForm] = {
    ActionKind.OTP: InputForm(
        fields=(
            InputField(
                name="code",
                label="One-time code",
                read=_code,
                sent_as=ActionKind.OTP,
                autocomplete="one-time-code",
                inputmode="numeric",
                longest=16,
                hint="Your bank sent it to you.",
                is_secret=True,
                is_code=True,
            ),
        ),
        wrong="Incorrect code.",
        button="Approve",
    ),
    ActionKind.PIN: InputForm(
        fields=(
            InputField(
                name="pin",
                label="Card PIN",
                read=_pin,
                autocomplete="off",
                type="password",
                inputmode="numeric",
                longest=6,
                hint="The 4 digits that you use at a cash machine. They are sent to your bank and never stored.",
                is_secret=True,
                is_code=True,
            ),
        ),
        wrong="Incorrect PIN.",
    ),
    ActionKind.PHONE: InputForm(
        fields=(
            InputField(
                name="phone",
                label="Phone number",
                read=_phone,
                autocomplete="tel",
                type="tel",
                inputmode="tel",
                longest=30,
                hint="The number that your bank knows.",
            ),
        ),
        wrong="Your bank knows another phone number.",
    ),
    ActionKind.BIRTHDAY: InputForm(
        fields=(
            InputField(
                name="birthday",
                label="Date of birth",
                read=_birthday,
                autocomplete="bday",
                type="date",
                longest=10,
                hint="Your own, as your bank knows it.",
            ),
        ),
        wrong="Your bank knows another date of birth.",
    ),
    ActionKind.ADDRESS: InputForm(
        fields=(
            InputField(
                name="address",
                label="Street and number",
                read=_line("your street and number"),
                autocomplete="street-address",
                hint="Your billing address, as your bank knows it.",
            ),
            InputField(name="city", label="City", read=_line("your city"), autocomplete="address-level2"),
            InputField(name="state", label="State", read=_line("your state"), autocomplete="address-level1"),
            InputField(
                name="zip_code", label="Postcode", read=_line("your postcode"), autocomplete="postal-code"
            ),
            InputField(
                name="country", label="Country", read=_line("your country"), autocomplete="country-name"
            ),
        ),
        wrong="Your bank knows another address.",
    ),
}


def shown_fields(
    kind: ActionKind, *, entries: Mapping[str, str], errors: Mapping[str, str], minutes_left: int
) -> list[dict[str, object]]:
    """Return the fields as a template shows them. The hint of the first one says how long the page is open."""
    shown = []
    focused = next(iter(errors), FORMS[kind].fields[0].name)
    for number, field in enumerate(FORMS[kind].fields):
        hint, error = field.hint, errors.get(field.name, "")
        if number == 0:
            subject = "It" if kind == ActionKind.OTP else "This page"
            hint = f"{hint} {subject} expires in {counted(minutes_left, 'minute')}."
        described_by = [f"{field.name}-error"] * bool(error) + [f"{field.name}-hint"] * bool(hint)
        shown.append(
            {
                "name": field.name,
                "label": field.label,
                "type": field.type,
                "inputmode": field.inputmode,
                "autocomplete": field.autocomplete,
                "longest": field.longest,
                "is_code": field.is_code,
                "is_focused": field.name == focused,
                "entry": entries.get(field.name, ""),
                "hint": hint,
                "error": error,
                "described_by": " ".join(described_by),
            }
        )
    return shown
