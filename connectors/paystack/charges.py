"""Cards sent to Paystack from here (`PAYSTACK_CARDS=direct`), which needs their written approval.

A charge may ask the payer for several things one after another: PIN, one-time code, telephone number, date of birth,
address, or a bank's page. Nothing that a payer enters is kept, logged or sent twice.
"""

from collections.abc import Mapping
from typing import Any

from kit.text.display_names import printable_line
from payments.rails.protocol import ActionKind, CardOrder, PayerAction
from payments.rules.cards import Card

Document = dict[str, Any]

CHARGE = "/charge"
# Statuses of a charge that waits for its payer.
ASKED = {
    "send_pin": ActionKind.PIN,
    "send_otp": ActionKind.OTP,
    "send_phone": ActionKind.PHONE,
    "send_birthday": ActionKind.BIRTHDAY,
    "send_address": ActionKind.ADDRESS,
    "open_url": ActionKind.REDIRECT,
}
ADDRESS = ("address", "city", "state", "zip_code")
LONGEST_PROMPT = 255


def body(order: CardOrder, card: Card, *, email: str) -> Document:
    """Return a charge. It holds the card's number and CVV."""
    return {
        "email": email,
        "amount": order.amount,
        "currency": order.currency,
        "reference": order.id.hex,
        "callback_url": order.return_url,
        "card": {
            "number": card.secret.reveal_number(),
            "cvv": card.secret.reveal_cvv(),
            "expiry_month": card.expiry_month,
            "expiry_year": card.expiry_year[-2:],
        },
    }


def submission(order: CardOrder, kind: ActionKind, value: Mapping[str, str]) -> tuple[str, Document]:
    """Return where what a payer entered is sent, and the document."""
    names = ADDRESS if kind is ActionKind.ADDRESS else (kind.value,)
    return f"{CHARGE}/submit_{kind}", {name: value[name] for name in names} | {"reference": order.id.hex}


def action_of(charge: Document) -> PayerAction | None:
    """Return what a charge asks the payer for, or None."""
    kind = ASKED.get(str(charge.get("status")))
    if kind is None:
        return None
    prompt, url = charge.get("display_text"), charge.get("url")
    return PayerAction(
        kind=kind,
        prompt=printable_line(prompt)[:LONGEST_PROMPT] if isinstance(prompt, str) else "",
        url=url if isinstance(url, str) else "",
    )
