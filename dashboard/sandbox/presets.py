"""Example requests, one for each outcome in the sandbox's outcome table."""

from __future__ import annotations

import json
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from payments.outcomes import Outcome
from payments.sandbox_triggers import (
    CARD_AMOUNTS,
    LOST_ANSWER_ACCOUNT,
    PAYOUT_AMOUNTS,
    SMALLEST_TRIGGERING_AMOUNT,
    TEST_CARDS,
    Special,
)
from payments.status_names import outcome_name
from virtual_accounts.models import Session, VirtualAccount

GOOD_CARD = "4084084084084081"
USUAL_AMOUNT = 250_000
PAYMENTS = "/api/payments"


@dataclass(frozen=True, slots=True, kw_only=True)
class Preset:
    """An example request. Its body is JSON, as a merchant's server would send it."""

    name: str  # in the query
    title: str
    result: str  # the expected outcome
    target: str
    document: Mapping[str, Any]

    @property
    def body(self) -> str:
        return json.dumps(self.document, indent=2)


@dataclass(frozen=True, slots=True)
class Group:
    title: str
    presets: Sequence[Preset]


def groups(*, account: VirtualAccount | None, session: Session | None) -> list[Group]:
    """Return all presets. Transfers need an account, and arrivals an open session."""
    return [
        Group("Card payments", list(_cards())),
        Group("Payouts", list(_payouts())),
        Group("Card checks", [_check()]),
        Group("Virtual accounts", list(_transfers(account, session))),
    ]


def _cards() -> Iterable[Preset]:
    yield _card("success", "Payment succeeds", "success")
    yield _card("authorise", "Authorise only", "pending until captured", capture=False)
    challenge = {"enabled": True, "challenge_preference": "challenge_mandated"}
    yield _card("3ds", "3-D Secure challenge", "pending, open its redirect_link", three_ds=challenge)
    for card in TEST_CARDS:
        yield _card(
            f"card-{card.number[-4:]}",
            f"Test card •••• {card.number[-4:]}",
            _in_words(card.result),
            pan=card.number,
        )
    for ending, result in CARD_AMOUNTS.items():
        yield _card(
            f"amount-{ending}", f"Amount ending in {ending}", _in_words(result), amount=_ending_in(ending)
        )


def _payouts() -> Iterable[Preset]:
    yield _payout("payout", "Payout succeeds", "success")
    for ending, result in PAYOUT_AMOUNTS.items():
        expected = f"{_in_words(result)}, gateway code {ending}"
        yield _payout(f"payout-{ending}", f"Amount ending in {ending}", expected, amount=_ending_in(ending))
    yield _payout(
        "payout-lost",
        "Bank timeout",
        "pending, then success",
        account_number=LOST_ANSWER_ACCOUNT,
    )


def _check() -> Preset:
    source = _source(GOOD_CARD) | {"type": "CARD"}
    document = {"request_type": "card_check", "currency": "NGN", "source": source}
    return Preset(name="check", title="Card is valid", result="success", target=PAYMENTS, document=document)


def _transfers(account: VirtualAccount | None, session: Session | None) -> Iterable[Preset]:
    if account is not None:
        document = {
            "request_type": "payment",
            "payment_method": "virtual_account",
            "payment_method_id": str(account.pk),
            "expiry_duration": 3600,
            "reference": _reference(),
            "amount": USUAL_AMOUNT,
            "currency": account.currency,
        }
        title, result = "Payment by transfer", "pending until the transfer arrives"
        yield Preset(name="transfer", title=title, result=result, target=PAYMENTS, document=document)
    if session is not None:
        exact = session.expected_amount
        yield _arrival("arrival", "Exact amount arrives", "success", session, amount=exact)
        yield _arrival("mismatch", "Amount mismatch", "mismatch", session, amount=exact + 100)


def _arrival(name: str, title: str, result: str, session: Session, *, amount: int) -> Preset:
    document = {"account_number": session.number_id, "amount": amount, "sender_name": "Chidi Eze"}
    target = "/api/virtual-accounts/simulate"
    return Preset(name=name, title=title, result=result, target=target, document=document)


def _card(
    name: str,
    title: str,
    result: str,
    *,
    amount: int = USUAL_AMOUNT,
    pan: str = GOOD_CARD,
    capture: bool = True,
    three_ds: dict[str, Any] | None = None,
) -> Preset:
    document: dict[str, Any] = {
        "request_type": "payment",
        "payment_method": "card",
        "reference": _reference(),
        "amount": amount,
        "currency": "NGN",
        "redirect_url": "http://localhost/done",
        "source": _source(pan),
    }
    document |= {} if capture else {"capture": False}
    document |= {"3ds": three_ds} if three_ds else {}
    return Preset(name=name, title=title, result=result, target=PAYMENTS, document=document)


def _payout(
    name: str, title: str, result: str, *, amount: int = USUAL_AMOUNT, account_number: str = "0123456789"
) -> Preset:
    document = {
        "request_type": "payout",
        "reference": _reference(),
        "amount": amount,
        "currency": "NGN",
        "customer": {"name": "Ada Obi", "account_number": account_number, "bank_code": "058"},
    }
    return Preset(name=name, title=title, result=result, target=PAYMENTS, document=document)


def _source(pan: str) -> dict[str, str]:
    card = {"type": "card", "pan": pan, "name": "Ada Obi", "cvv": "408"}
    return card | {"expiry_month": "12", "expiry_year": "2035"}


def _ending_in(ending: str) -> int:
    return SMALLEST_TRIGGERING_AMOUNT + int(ending)


def _in_words(result: Outcome | Special) -> str:
    return (
        f"{result.code} {outcome_name(result.summary)}"
        if isinstance(result, Outcome)
        else result.value.replace("`", "")
    )


def _reference() -> str:
    return f"try-{secrets.token_hex(5)}"
