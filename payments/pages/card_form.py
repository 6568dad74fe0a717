"""The form of the card page. Number and security code live here and in `Card` only, and are never shown again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from kit.db.card_number_fields import holds_number
from kit.text.display_names import has_control_character, pasted
from kit.text.masking import LENGTHS, has_card_number, passes_luhn
from payments.rules.cards import Card, CardSecret, brand_of, has_expired

LONGEST_NAME = 100
LONGEST_EXPIRY = 10
SEPARATORS = str.maketrans("", "", " -\u2012\u2013")
EXPIRY = re.compile(r"(0?[1-9]|1[0-2])[/ \u2012\u2013-]{0,3}(?:20)?([0-9]{2})\Z")
YEAR_FIRST = re.compile(r"\A(20[0-9]{2})[/-](0?[1-9]|1[0-2])\Z")  # HTML, autofill "cc-exp"
CODE = re.compile(r"[0-9]{3,4}\Z")


@dataclass(slots=True)
class CardForm:
    """The fields that may be shown again, and the errors by field."""

    expiry: str = ""
    name: str = ""
    errors: dict[str, str] = field(default_factory=dict)

    def entries(self) -> dict[str, str]:
        """Return what a browser may keep. Digits are left out where they could be those of a card or a code."""
        return {
            "expiry": self.expiry if EXPIRY.match(self.expiry) else "",
            "name": "" if any(each.isdigit() for each in self.name) else self.name,
        }

    def error_list(self) -> list[tuple[str, str]]:
        """Return the errors with the ids of their fields, in the order of a card."""
        return [
            (name, self.errors[name]) for name in ("number", "expiry", "code", "name") if name in self.errors
        ]


def read_card(data: Mapping[str, Any], *, now: datetime) -> tuple[CardForm, Card | None]:
    """Read a submitted card. Returns the form, and the card if all of it is valid.

    The payer may write the number with blanks or hyphens, and the expiry as MM/YY, MMYY or MM/YYYY. Browsers may fill it
    in as YYYY-MM.
    """
    entered = {name: pasted(str(data.get(name, ""))) for name in ("number", "expiry", "name", "code")}
    number, code = (entered[name].translate(SEPARATORS).strip() for name in ("number", "code"))
    form = CardForm(
        expiry=_shown_again(entered["expiry"])[:LONGEST_EXPIRY],
        name=_shown_again(entered["name"])[:LONGEST_NAME],
    )
    expiry = EXPIRY.match(YEAR_FIRST.sub(r"\2/\1", form.expiry))
    checks = {
        "number": _number_fault(number),
        "expiry": _expiry_fault(expiry, now=now),
        "name": _name_fault(entered["name"], number),
        "code": ""
        if CODE.match(code)
        else "Enter the 3 or 4 digits of the security code, usually on the back.",
    }
    form.errors = {name: fault for name, fault in checks.items() if fault}
    if form.errors or expiry is None:
        return form, None
    return form, Card(
        secret=CardSecret(number=number, cvv=code),
        brand=brand_of(number),
        bin=number[:6],
        last4=number[-4:],
        name=form.name,
        expiry_month=expiry[1].zfill(2),
        expiry_year=f"20{expiry[2]}",
        billing_address={},
    )


def _shown_again(text: str) -> str:
    """Return a text on one line, or nothing of it if it holds a card number."""
    return "" if has_card_number(text) else " ".join(text.split())


def _number_fault(number: str) -> str:
    if not number:
        return "Enter the card number."
    if not (number.isascii() and number.isdecimal()):
        return "Enter the card number without letters."
    if len(number) not in LENGTHS:
        return "Enter the whole card number, usually 16 digits."
    return "" if passes_luhn(number) else "Check the card number. One of its digits is wrong."


def _expiry_fault(expiry: re.Match[str] | None, *, now: datetime) -> str:
    if expiry is None:
        return "Enter the expiry date as on the card, such as 03/29."
    if has_expired(month=expiry[1], year=f"20{expiry[2]}", now=now):
        return "This card has expired. Use another card."
    return ""


def _name_fault(name: str, number: str) -> str:
    if not name.strip():
        return "Enter the name on the card."
    if has_card_number(name) or (number and holds_number(name, number)):
        return "Do not enter your card number here."
    if len(" ".join(name.split())) > LONGEST_NAME:
        return f"Enter at most {LONGEST_NAME} characters."
    return "Enter the name without special characters." if has_control_character(name.strip()) else ""
