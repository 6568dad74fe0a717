"""Events of payments that don't exist, as an exam sends them to a receiver."""

import uuid
from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from kit.files import bounded_json
from kit.time.timestamps import timestamp
from merchants.models import Business
from payments.representation import (
    CARD,
    CUSTOMER,
    PAYMENT,
    PAYMENTS,
    PAYOUT,
    REFUND,
    REVERSAL,
    SETTLEMENT,
    TRANSFER,
    UNAPPLIED_TRANSFER,
)
from payments.rules import outcomes
from payments.rules.outcomes import Outcome
from virtual_accounts.representation import TRANSFER_DETAILS
from webhooks import publishing
from webhooks.models import Event

AMOUNT = 250_000  # minor units
RECEIVED = 240_000
TIMES = ("payment_timestamp", "completed_at", "created_at", "received_at", "released_at")
DECLINED = outcomes.NOT_SUFFICIENT_FUNDS
NEVER = (
    "payment_link_id",
    "payment_link_reference",
    "redirect_link",
    "amount_authorized",
    "settle_status",
    "reversal",
)


class SampleEvents:
    """Makes the documents of events in the currency of a business. Each has new random ids."""

    def __init__(self, business: Business) -> None:
        self._currency = business.currencies[0] if business.currencies else "NGN"

    def of_kind(self, kind: str, *, reference: str, at: datetime) -> dict[str, Any]:
        """Return an event of a kind."""
        makers: dict[Event, Callable[[], dict[str, Any]]] = {
            Event.PAYMENT_SUCCESS: _card_payment,
            Event.PAYMENT_FAILED: _declined_payment,
            Event.PAYMENT_MISMATCH: _mismatched_payment,
            Event.PAYOUT_SUCCESS: _payout,
            Event.PAYOUT_FAILED: _failed_payout,
            Event.REFUND_SUCCESS: partial(_refund, outcomes.COMPLETED),
            Event.REFUND_FAILED: partial(_refund, DECLINED),
            Event.PAYOUT_REVERSED: _returned_payout,
            Event.TRANSFER_UNAPPLIED: _unapplied_transfer,
            Event.SETTLEMENT_RELEASED: partial(SETTLEMENT.example, status="released"),
        }
        return self._event(Event(kind), makers[Event(kind)](), reference=reference, at=at)

    def into_static_account(self, *, reference: str, at: datetime) -> dict[str, Any]:
        """Return the event of a transfer into a static account, which creates a payment."""
        return self._event(Event.PAYMENT_SUCCESS, _transfer_payment(), reference=reference, at=at)

    def _event(self, kind: Event, data: dict[str, Any], *, reference: str, at: datetime) -> dict[str, Any]:
        own = {
            "id": str(uuid.uuid4()),
            "currency": self._currency,
            **dict.fromkeys(("reference", "payment_reference"), reference),
            **dict.fromkeys(TIMES, timestamp(at)),
        }
        data |= {name: value for name, value in own.items() if name in data}
        event: dict[str, Any] = bounded_json.loads(publishing.render(uuid.uuid4(), kind, data=data, now=at))
        return event


def _sample(kind: str, outcome: Outcome, *without: str, **changes: Any) -> dict[str, Any]:
    """Return a finished transaction, built from the examples of the declared fields."""
    is_paid = outcome is outcomes.COMPLETED
    values = {
        "request_type": "payment" if kind in PAYMENTS else kind,
        "payment_method": kind,
        "status": "success" if is_paid else "failed",
        "response_code": outcome.code,
        "response_summary": outcome.summary,
        "gateway_code": outcome.gateway_code or None,
        "gateway_recommendation": outcome.advice or None,
        "amount": AMOUNT,
        "refund_status": "none",
        "total_amount_captured": AMOUNT if is_paid else 0,
        "total_amount_available_to_refund": AMOUNT if is_paid else 0,
        "fee": 3_750 if is_paid else 0,
    }
    shown = PAYMENT.example(kind, without=(*NEVER, *without), **values | changes)
    return {name: value for name, value in shown.items() if value is not None}


def _card_payment() -> dict[str, Any]:
    return _sample(CARD, outcomes.COMPLETED, "narration", "metadata")


def _declined_payment() -> dict[str, Any]:
    return _sample(CARD, DECLINED, "authorization_code", "merchant_descriptor", "narration", "metadata")


def _transfer_payment() -> dict[str, Any]:
    details = TRANSFER_DETAILS.example(
        status="success", expected_amount=str(AMOUNT), amount_received=str(AMOUNT)
    )
    return _sample(TRANSFER, outcomes.COMPLETED, "customer", "metadata", virtual_account_details=details)


def _mismatched_payment() -> dict[str, Any]:
    details = TRANSFER_DETAILS.example(
        status="mismatch", expected_amount=str(AMOUNT), amount_received=str(RECEIVED)
    )
    outcome = outcomes.amount_mismatch(expected=AMOUNT, received=RECEIVED, currency="NGN")
    return _sample(TRANSFER, outcome, "metadata", virtual_account_details=details)


def _payout() -> dict[str, Any]:
    return _sample(PAYOUT, outcomes.COMPLETED, "metadata", customer=CUSTOMER.example(PAYOUT))


def _returned_payout() -> dict[str, Any]:
    return _payout() | {"reversal": REVERSAL.example()}


def _refund(outcome: Outcome) -> dict[str, Any]:
    return REFUND.example(
        without=("destination",),
        status="success" if outcome is outcomes.COMPLETED else "failed",
        response_code=outcome.code,
        response_summary=outcome.summary,
        gateway_code=outcome.gateway_code,
    )


def _unapplied_transfer() -> dict[str, Any]:
    decided = ("reason", "decided_at", "return_reference")
    return UNAPPLIED_TRANSFER.example(without=decided, why="late", state="open")


def _failed_payout() -> dict[str, Any]:
    return _sample(PAYOUT, DECLINED, "metadata", customer=CUSTOMER.example(PAYOUT))
