"""The data of each kind of event: an example for each flow that ends in it."""

from typing import Any, TypeAlias

from developer_site.openapi.examples import (
    ADVANCED,
    CANCELLED,
    PAYMENT,
    REFUND,
    RETURNED_PAYOUT,
    SETTLEMENT,
    UNAPPLIED,
    VOIDED,
    named,
)
from payments.rules import outcomes
from payments.rules.outcomes import Outcome
from webhooks.models import Event

Example: TypeAlias = dict[str, Any]

RECEIVED, EXPECTED = 40_000, 50_000  # minor units
REFUSED_PAYOUT = outcomes.payout_failure("91")


def _value(examples: Example, name: str, *without: str, **changes: Any) -> Example:
    """Return the value of an example with changes."""
    value: Example = {part: value for part, value in examples[name]["value"].items() if part not in without}
    return value | changes


def _failed(outcome: Outcome) -> Example:
    return {"status": "failed", "response_code": outcome.code, "response_summary": outcome.summary}


def _refused(outcome: Outcome) -> Example:
    """Return the fields of what the bank or the issuer refused."""
    return _failed(outcome) | {"gateway_code": outcome.gateway_code}


_TRANSFER = PAYMENT["virtual_account_payment"]["value"]
_MISMATCH = outcomes.amount_mismatch(expected=EXPECTED, received=RECEIVED, currency="NGN")
_UNPAID = {"fee": 0, "total_amount_captured": 0, "total_amount_available_to_refund": 0}

EVENT_DATA: dict[Event, Example] = {
    Event.PAYMENT_SUCCESS: named(
        card_payment=_value(PAYMENT, "card_payment"),
        virtual_account_payment=_value(PAYMENT, "virtual_account_payment"),
    ),
    Event.PAYMENT_FAILED: named(
        card_payment_that_is_declined=_value(PAYMENT, "card_payment_that_is_declined"),
        card_payment_that_is_voided=_value(VOIDED, "voided"),
        card_payment_that_is_cancelled=_value(CANCELLED, "cancelled"),
        virtual_account_payment_that_expires=_value(ADVANCED, "session", "advanced"),
    ),
    Event.PAYMENT_MISMATCH: named(
        virtual_account_payment=_TRANSFER
        | _failed(_MISMATCH)
        | {name: value for name, value in _UNPAID.items() if name in _TRANSFER}
        | {
            "virtual_account_details": _TRANSFER["virtual_account_details"]
            | {"amount_received": str(RECEIVED), "status": "mismatch"}
        }
    ),
    Event.PAYOUT_SUCCESS: named(payout=_value(PAYMENT, "payout")),
    Event.PAYOUT_FAILED: named(
        payout=_value(
            PAYMENT, "payout", **_refused(REFUSED_PAYOUT), gateway_recommendation=REFUSED_PAYOUT.advice, fee=0
        )
    ),
    Event.REFUND_SUCCESS: named(
        refund_of_a_card_payment=_value(REFUND, "a_part"),
        refund_of_a_transfer=_value(REFUND, "to_an_account"),
    ),
    Event.REFUND_FAILED: named(
        refund_of_a_card_payment=_value(
            REFUND, "a_part", **_failed(outcomes.DO_NOT_HONOUR), gateway_code="05"
        ),
        refund_of_a_transfer=_value(REFUND, "to_an_account", **_refused(REFUSED_PAYOUT)),
    ),
    Event.PAYOUT_REVERSED: named(payout=_value(RETURNED_PAYOUT, "payout")),
    Event.TRANSFER_UNAPPLIED: named(transfer=_value(UNAPPLIED, "open")),
    Event.SETTLEMENT_RELEASED: named(settlement=_value(SETTLEMENT, "released")),
}
