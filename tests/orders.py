"""Request bodies as merchants send them. Keyword arguments replace fields; `...` removes a field."""

import secrets
from typing import Any

GOOD_CARD = "4084084084084081"
DECLINED_CARD = "4084080000005408"
CHALLENGED_CARD = "4000000000002503"
FRICTIONLESS_CARD = "4000000000002701"
UNRECOGNISED_CARD = "4000000000002925"


def new_reference(prefix: str = "ref") -> str:
    # No more than ten digits in a row, which can't be taken for a card number.
    return f"{prefix}-{secrets.token_hex(5)}z{secrets.token_hex(5)}"


def card_source(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "type": "card",
            "pan": GOOD_CARD,
            "name": "Ada Obi",
            "expiry_month": "12",
            "expiry_year": "2035",
            "cvv": "408",
        },
        changes,
    )


def card_payment(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "request_type": "payment",
            "payment_method": "card",
            "reference": new_reference(),
            "amount": 50_000,
            "currency": "NGN",
            "redirect_url": "https://shop.example/back",
            "source": card_source(),
        },
        changes,
    )


def transfer_payment(account_id: str, **changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "request_type": "payment",
            "payment_method": "virtual_account",
            "payment_method_id": account_id,
            "expiry_duration": 900,
            "reference": new_reference("tp"),
            "amount": 50_000,
            "currency": "NGN",
        },
        changes,
    )


def payout(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "request_type": "payout",
            "reference": new_reference("po"),
            "amount": 250_000,
            "currency": "NGN",
            "customer": {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"},
        },
        changes,
    )


def beneficiary(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "reference": new_reference("ben"),
            "name": "Kano Dye Works",
            "account_number": "0690213447",
            "bank_code": "044",
        },
        changes,
    )


def batch_item(place: int = 0, **changes: Any) -> dict[str, Any]:
    """Return a payout of a batch. Each place has an account of its own."""
    customer = {"name": f"Supplier {place}", "account_number": f"01234{place:05}", "bank_code": "058"}
    item = {"reference": new_reference("item"), "amount": 20_000, "currency": "NGN", "customer": customer}
    return _changed(item, changes)


def payout_batch(*items: dict[str, Any], **changes: Any) -> dict[str, Any]:
    """Return a batch of these payouts, by default of three."""
    payouts = list(items) or [batch_item(place) for place in range(3)]
    batch = {"reference": new_reference("batch"), "title": "Suppliers, week 48", "payouts": payouts}
    return _changed(batch, changes)


def card_check(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "request_type": "card_check",
            "reference": new_reference("chk"),
            "currency": "NGN",
            "source": card_source(type="CARD"),
        },
        changes,
    )


def address(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "address_line1": "12 Marina",
            "city": "Lagos",
            "state": "Lagos",
            "postal_code": "101241",
            "country": "NGA",
        },
        changes,
    )


def dynamic_account(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "type": "dynamic",
            "reference": new_reference("va"),
            "first_name": "Ada",
            "last_name": "Obi",
            "email": "ada@shop.example",
            "currency": "NGN",
            "address": address(),
        },
        changes,
    )


def static_account(**changes: Any) -> dict[str, Any]:
    everything = {
        "type": "static",
        "middle_name": "Ngozi",
        "phone_number": "08012345678",
        "dob": "1990-12-31",
        "bvn": "22212345678",
        "gender": "female",
    }
    return dynamic_account(**everything | changes)


def business_account(**changes: Any) -> dict[str, Any]:
    everything = {
        "type": "static",
        "account_type": "business",
        "business_name": "Ada Books Ltd",
        "phone_number": "08012345678",
        "bvn": "22212345678",
        "first_name": ...,
        "last_name": ...,
    }
    return dynamic_account(**everything | changes)


def card_form(number: str, **changes: str) -> dict[str, str]:
    """Return what a payer sends from the card page of a checkout."""
    return {"number": number, "expiry": "12/35", "name": "Ada Obi", "code": "408", "attempt": "0"} | changes


def payment_link(**changes: Any) -> dict[str, Any]:
    return _changed(
        {
            "reference": new_reference("link"),
            "title": "Bookbinding workshop",
            "amount": 1_500_000,
            "currency": "NGN",
        },
        changes,
    )


def _changed(request: dict[str, Any], changes: dict[str, Any]) -> dict[str, Any]:
    merged = request | {name.replace("three_ds", "3ds"): value for name, value in changes.items()}
    return {name: value for name, value in merged.items() if value is not ...}
