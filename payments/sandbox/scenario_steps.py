"""Steps of sandbox scenarios: signed calls, and the payer's answers to 3-D Secure pages."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from kit.text.masking import mask_card_numbers
from payments.models import Transaction
from payments.rules import outcomes
from payments.rules.outcomes import Outcome
from payments.rules.sandbox_triggers import ONE_TIME_CODE, TEST_CARDS

Json: TypeAlias = Mapping[str, Any]

PAYMENTS, ACCOUNTS, ADVANCE = "/api/payments", "/api/virtual-accounts", "/api/sandbox/advance"
DISPUTES = "/api/disputes"
BATCHES = "/api/payout-batches"
NEW = "{{new}}"
GOOD_CARD = "4084084084084081"
AMOUNT = 250_000  # minor units; its last digits trigger nothing
CURRENCY = "NGN"
SENDER = "Chidi Eze"
APPROVED, DECLINED = {"code": ONE_TIME_CODE}, {"action": "decline"}
WRONG_CODE = {"code": "000000"}
_CARDS = re.compile(f"({'|'.join([GOOD_CARD, *(card.number for card in TEST_CARDS)])})")

Status = Transaction.Status
SUCCESS, PENDING, FAILED = str(Status.SUCCESS), str(Status.PENDING), str(Status.FAILED)


@dataclass(frozen=True, slots=True)
class Expected:
    """What an answer must have: the HTTP status, and the outcome if it is about one."""

    http_status: int
    status: str = ""
    response_code: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A signed call, or the payer's answer to a 3-D Secure page: a form without a signature."""

    id: str
    expect: Expected
    method: str = ""
    payer: str = ""  # approve or decline
    path: str
    body: Json | None = None


def post(step: str, path: str, body: Json, expect: Expected) -> Step:
    return Step(id=step, method="POST", path=path, body=body, expect=expect)


def get(step: str, path: str, expect: Expected) -> Step:
    return Step(id=step, method="GET", path=path, expect=expect)


def payer(answer: str, form: Json, *, step: str = "payer", http_status: int = 303) -> Step:
    """Return the payer's answer to the 3-D Secure page of the step `pay`."""
    return Step(id=step, payer=answer, path="{{pay.redirect_link}}", body=form, expect=Expected(http_status))


def pay(
    status: str,
    outcome: Outcome | None = None,
    *,
    amount: int = AMOUNT,
    capture: bool = True,
    three_ds: Json | None = None,
    **card: str,
) -> Step:
    """Return a card payment. `card` changes the card."""
    body: dict[str, Any] = {
        "request_type": "payment",
        "payment_method": "card",
        "reference": NEW,
        "amount": amount,
        "currency": CURRENCY,
        "redirect_url": "https://shop.example/done",
        "customer": {"reference": "customer-7", "email": "ada@shop.example", "name": "Ada Obi"},
        "source": source(**card),
    }
    body |= {} if capture else {"capture": False}
    body |= {"3ds": three_ds} if three_ds else {}
    decided = outcome or (outcomes.COMPLETED if status == SUCCESS else outcomes.PROCESSING)
    return post("pay", PAYMENTS, body, Expected(201, status, decided.code))


def source(pan: str = GOOD_CARD, *, expiry_year: str = "2035") -> Json:
    card = {"type": "card", "pan": pan, "name": "Ada Obi", "expiry_month": "12"}
    return card | {"expiry_year": expiry_year, "cvv": "408"}


def operate(operation: str, body: Json, expect: Expected) -> Step:
    """Return a capture, void, cancellation or refund of the payment of the step `pay`."""
    path = f"{PAYMENTS}/{{{{pay.reference}}}}/{operation}"
    return post("refund" if operation == "refunds" else operation, path, body, expect)


def result(status: str, outcome: Outcome) -> Step:
    """Return the look-up of the payment of the step `pay`."""
    return get("result", f"{PAYMENTS}/{{{{pay.reference}}}}", Expected(200, status, outcome.code))


def advance(status: str, outcome: Outcome, *, of: str = "pay", step: str = "advance") -> Step:
    """Return the step in which what the payment waits for happens now."""
    body = {"payment": f"{{{{{of}.reference}}}}"}
    return post(step, ADVANCE, body, Expected(200, status, outcome.code))


def dispute_step(step: str, path: str = "", body: Json | None = None, *, http_status: int = 200) -> Step:
    """Return a call about the dispute that the step `advance` opened."""
    return post(step, f"{DISPUTES}/{{{{advance.disputes.0.id}}}}{path}", body or {}, Expected(http_status))


def open_dynamic_account() -> Step:
    body = _holder() | {"type": "dynamic"}
    return post("account", ACCOUNTS, body, Expected(201))


def open_static_account() -> Step:
    details = {
        "type": "static",
        "middle_name": "Ngozi",
        "phone_number": "08012345678",
        "dob": "1990-12-31",
        "gender": "female",
        "bvn": "22123456789",
    }
    return post("account", ACCOUNTS, _holder() | details, Expected(201))


def _holder() -> dict[str, Any]:
    return {
        "reference": NEW,
        "email": "ada@shop.example",
        "currency": CURRENCY,
        "first_name": "Ada",
        "last_name": "Obi",
        "address": {
            "address_line1": "12 Marina",
            "city": "Lagos",
            "state": "Lagos",
            "postal_code": "101241",
            "country": "NGA",
        },
    }


def await_transfer() -> Step:
    """Return a payment into the account of the step `account`."""
    body = {
        "request_type": "payment",
        "payment_method": "virtual_account",
        "payment_method_id": "{{account.id}}",
        "reference": NEW,
        "amount": AMOUNT,
        "currency": CURRENCY,
        "expiry_duration": 3600,
    }
    return post("pay", PAYMENTS, body, Expected(201, PENDING, outcomes.PROCESSING.code))


def arrive(number: str, amount: int, *, step: str = "arrive") -> Step:
    """Return a bank transfer to an account number."""
    body = {"account_number": number, "amount": amount, "sender_name": SENDER}
    return post(step, f"{ACCOUNTS}/simulate", body, Expected(200))


def pay_out(expect: Expected, *, amount: int = AMOUNT, account_number: str = "0123456789") -> Step:
    customer = {"name": "Ada Obi", "account_number": account_number, "bank_code": "058"}
    body = {
        "request_type": "payout",
        "reference": NEW,
        "amount": amount,
        "currency": CURRENCY,
        "customer": customer,
    }
    return post("payout", PAYMENTS, body, expect)


def make_batch(*, amount: int, account_number: str = "0123456789", step: str = "batch") -> Step:
    """Return a payout batch of one payout."""
    return _batch([_payout(1, amount=amount, account_number=account_number)], step=step)


def make_two(*, failing: int) -> Step:
    """Return a payout batch of one that fails by its amount, and one to the account of the step `account`."""
    other = _payout(2, amount=AMOUNT, account_number="{{account.customer.account_number}}")
    return _batch([_payout(1, amount=failing), other])


def _payout(number: int, *, amount: int, account_number: str = "0123456789") -> Json:
    customer = {"name": "Ada Obi", "account_number": account_number, "bank_code": "058"}
    return {"reference": f"{NEW}-{number}", "amount": amount, "currency": CURRENCY, "customer": customer}


def _batch(payouts: list[Json], *, step: str = "batch") -> Step:
    body = {"reference": NEW, "title": "Suppliers", "payouts": payouts}
    return post(step, BATCHES, body, Expected(201))


def batch_step(step: str, operation: str, *, of: str = "batch", status: int = 200) -> Step:
    """Return an approval, cancellation or retry of the batch of an earlier step."""
    return post(step, f"{BATCHES}/{{{{{of}.reference}}}}/{operation}", {}, Expected(status))


def advance_batch(step: str, *, of: str = "batch") -> Step:
    """Return the step in which the accounts of a batch are checked, or its payouts sent, now."""
    return post(step, ADVANCE, {"payout_batch": f"{{{{{of}.reference}}}}"}, Expected(200))


def reject_batch(step: str, *, of: str) -> Step:
    """Return the step in which another member rejects the batch of an earlier step."""
    body = {"payout_batch": f"{{{{{of}.reference}}}}", "until": "rejected"}
    return post(step, ADVANCE, body, Expected(200))


def check_card(expect: Expected, **card: str) -> Step:
    body = {"request_type": "card_check", "reference": NEW, "currency": CURRENCY, "source": source(**card)}
    return post("check", PAYMENTS, body, expect)


def without_real_cards(text: str) -> str:
    """Return a text with every card number masked but those of the scenarios.

    >>> without_real_cards("4084084084084081, 5399831619690403")
    '4084084084084081, 539983******0403'
    """
    parts = _CARDS.split(text)
    return "".join(part if number % 2 else mask_card_numbers(part) for number, part in enumerate(parts))
