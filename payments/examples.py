"""Examples of payments, refunds, settlements, unapplied transfers and disputes, and of the data of each kind of event.

The API's description shows them, and exams send them. Values are the examples of the declared fields: here stands only
what makes one example differ from another.
"""

from typing import Any, TypeAlias

from django.utils.module_loading import import_string

from kit.api.fields.answer_fields import Answer
from payments.representation import payments as shown
from payments.representation.disputes import DISPUTE as DISPUTE_ANSWER
from payments.representation.disputes import EVIDENCE
from payments.rules import outcomes
from payments.rules.outcomes import Outcome
from payments.rules.sandbox_triggers import SMALLEST_TRIGGERING_AMOUNT, TEST_CARDS, Special
from virtual_accounts import representation as accounts
from webhooks.models import Event

Example: TypeAlias = dict[str, Any]

DECLINED = outcomes.NOT_SUFFICIENT_FUNDS
CHALLENGED_CARD = next(card.number for card in TEST_CARDS if card.result is Special.CHALLENGE)
DECLINED_AMOUNT = SMALLEST_TRIGGERING_AMOUNT + int(DECLINED.gateway_code)


def named(**examples: Example) -> Example:
    """Return examples under their names, as OpenAPI wants them."""
    return {
        name: {"summary": name.replace("_", " ").capitalize(), "value": value}
        for name, value in examples.items()
    }


# Fields that an answer repeats only if the request has them.
_OF_REQUESTS = ("payment_link_id", "payment_link_reference", "narration", "metadata")


def _payment(kind: str, *without: str, **changes: Any) -> Example:
    """Return a successful transaction of a kind, or the one that the changes make of it."""
    values = {
        "request_type": "payment" if kind in shown.PAYMENTS else kind,
        "payment_method": kind,
        "status": "success",
        "refund_status": "none",
    }
    return shown.PAYMENT.example(kind, without=(*_OF_REQUESTS, *without), **values | changes)


def _card_payment(*without: str, **changes: Any) -> Example:
    return _payment(shown.CARD, "redirect_link", "amount_authorized", *without, **changes)


def _unpaid(outcome: Outcome, status: str = "failed") -> Example:
    """Return the fields of a card payment that took no money."""
    untaken = dict.fromkeys(("fee", "total_amount_captured", "total_amount_available_to_refund"), 0)
    summary = {"response_code": outcome.code, "response_summary": outcome.summary}
    return untaken | summary | {"status": status}


_OF_APPROVALS = ("gateway_code", "acquirer_transaction_id", "authorization_code", "merchant_descriptor")
_OF_MESSAGES = ("retrieval_reference_number", "system_trace_audit_number")
_TRANSFER_PAYMENT: Example = {
    "reference": "order-1047",
    "response_summary": "Payment of 50000 NGN received from Ada Obi",
}
_PAYOUT = _payment(
    shown.PAYOUT,
    "awaiting_approval",
    reference="payout-5",
    fee=1_000,
    customer=shown.CUSTOMER.example(without=("merchant_reference",)),
)
PAID = named(card_payment=_card_payment())
_PENDING = _unpaid(outcomes.PROCESSING, "pending")
CREATED_PAYMENT = named(
    card_payment=_card_payment(),
    card_payment_with_everything=_card_payment(
        reference="order-1043",
        narration=shown.PAYMENT["narration"].example,
        metadata=shown.PAYMENT["metadata"].example,
        customer=shown.CUSTOMER.example(shown.CARD),
    ),
    card_payment_with_challenge=_card_payment(
        *_OF_APPROVALS,
        *_OF_MESSAGES,
        "completed_at",
        reference="order-1044",
        source=shown.CARD_SHOWN.example(card_bin=CHALLENGED_CARD[:6], card_last4=CHALLENGED_CARD[-4:]),
        **_PENDING,
    )
    | {"redirect_link": shown.PAYMENT["redirect_link"].example},
    card_payment_to_capture_later=_card_payment("completed_at", reference="order-1045", **_PENDING)
    | {"amount_authorized": 50_000},
    card_payment_that_is_declined=_card_payment(
        "authorization_code",
        "merchant_descriptor",
        reference="order-1046",
        **_unpaid(DECLINED),
        amount=DECLINED_AMOUNT,
        gateway_code=DECLINED.gateway_code,
        gateway_recommendation=DECLINED.advice,
    ),
    virtual_account_payment=_payment(
        shown.TRANSFER,
        "gateway_code",
        "acquirer_transaction_id",
        "completed_at",
        **_TRANSFER_PAYMENT | _PENDING,
        virtual_account_details=accounts.TRANSFER_DETAILS.example(status="pending", amount_received=""),
    ),
    payout=_PAYOUT,
    card_check=_payment(shown.CARD_CHECK, "redirect_link", reference="check-77", amount=0),
)
PAYMENT = CREATED_PAYMENT | named(
    virtual_account_payment=_payment(
        shown.TRANSFER,
        "gateway_code",
        "acquirer_transaction_id",
        fee=500,
        virtual_account_details=accounts.TRANSFER_DETAILS.example(status="success"),
        **_TRANSFER_PAYMENT,
    )
)
RETURNED_PAYOUT = named(payout=_PAYOUT | {"reversal": shown.REVERSAL.example()})
VOIDED = named(voided=_card_payment("gateway_code", "authorization_code", **_unpaid(outcomes.VOIDED)))
CANCELLED = named(cancelled=_card_payment(*_OF_APPROVALS, *_OF_MESSAGES, **_unpaid(outcomes.CANCELLED)))
ADVANCED = named(
    session=_payment(
        shown.TRANSFER,
        "gateway_code",
        "acquirer_transaction_id",
        **_TRANSFER_PAYMENT
        | _unpaid(outcomes.TRANSFER_EXPIRED)
        | {"total_amount_available_to_refund": 50_000},
        virtual_account_details=accounts.TRANSFER_DETAILS.example(status="expired", amount_received=""),
    )
    | {"advanced": "session"}
)
_REFUND = shown.REFUND.example(status="success")
_REFUND_WITHOUT_REASON = shown.REFUND.example(without=("reason",), status="success")
REFUND = named(
    everything_left=_REFUND_WITHOUT_REASON | {"reference": "refund-8", "amount": 50_000},
    a_part=_REFUND,
    to_an_account=_REFUND_WITHOUT_REASON
    | {"reference": "refund-10", "payment_reference": "order-1047"}
    | {"destination": shown.REFUND_DESTINATION.example(name="Bisi Ojo")},
)
_SETTLEMENT = shown.SETTLEMENT.example(
    without=("brought_forward", "carried_forward", "reserved"), status="released"
)
SETTLEMENT = named(released=_SETTLEMENT)
_UNAPPLIED = shown.UNAPPLIED_TRANSFER.example(why="second", state="returned")
UNAPPLIED = named(
    open=shown.UNAPPLIED_TRANSFER.example(
        without=("reason", "decided_at", "return_reference"), why="second", state="open"
    )
)
CREDITED = named(
    credited=shown.UNAPPLIED_TRANSFER.example(without=("return_reference",), why="second", state="credited")
)
RETURNED = named(returned=_UNAPPLIED)

_OPEN_DISPUTE = DISPUTE_ANSWER.example(
    without=("resolved_at", "outcome_amount", "previous", "network_reason"), reason="fraudulent"
)
_ANSWERED = {"evidence": [EVIDENCE.example(kind="delivery", without=("name", "type", "size", "sha256"))]}
DISPUTE = named(
    awaiting_an_answer=_OPEN_DISPUTE,
    under_review=_OPEN_DISPUTE | _ANSWERED | {"status": "under_review"},
    won=_OPEN_DISPUTE
    | _ANSWERED
    | {"status": "won", "resolved_at": "2026-02-20T08:00:00.000Z", "outcome_amount": 50_000},
    accepted=_OPEN_DISPUTE
    | {"status": "accepted", "resolved_at": "2026-02-06T08:00:00.000Z", "outcome_amount": 0},
)
DISPUTE_EVIDENCE = named(
    text=_ANSWERED["evidence"][0],
    file=EVIDENCE.example(
        kind="receipt",
        without=("text",),
        type="application/pdf",
        size=48_213,
    ),
)

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

# By name: payout batches are above this package.
_BATCH: Answer = import_string("payout_batches.representation.PAYOUT_BATCH")
_OF_OTHER_BATCHES = ("run_at", "waits_for", "retry_of")

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
    Event.ACCOUNT_ACTIVE: named(account=accounts.VIRTUAL_ACCOUNT.example(status="active")),
    Event.ACCOUNT_FAILED: named(
        account=accounts.VIRTUAL_ACCOUNT.example(
            status="inactive", customer=accounts.ACCOUNT_HOLDER.example(account_number="", bank_code="")
        )
    ),
    Event.PAYOUT_BATCH_COMPLETED: named(batch=_BATCH.example(without=_OF_OTHER_BATCHES, status="completed")),
    Event.DISPUTE_OPENED: named(dispute=_value(DISPUTE, "awaiting_an_answer")),
    Event.DISPUTE_UPDATED: named(dispute=_value(DISPUTE, "under_review")),
    Event.DISPUTE_DUE_SOON: named(dispute=_value(DISPUTE, "awaiting_an_answer")),
    Event.DISPUTE_CLOSED: named(dispute=_value(DISPUTE, "won")),
    Event.BALANCE_ADJUSTED: named(adjustment=shown.BALANCE_ADJUSTMENT.example()),
}
