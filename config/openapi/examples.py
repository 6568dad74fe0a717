"""Examples of requests that the sandbox accepts unchanged, and of its responses."""

from typing import Any, TypeAlias

from kit.api.strict_fields import RequestSerializer
from ledger.views import BALANCE_OF_CURRENCY
from payments import event_representation as events
from payments import outcomes
from payments import representation as shown
from payments.sandbox_triggers import SMALLEST_TRIGGERING_AMOUNT, TEST_CARDS, Special
from payments.serializers import (
    AdvanceSerializer,
    BeneficiarySerializer,
    BillingAddressSerializer,
    CaptureSerializer,
    CardCheckSerializer,
    CardPaymentSerializer,
    CheckedSourceSerializer,
    CreditUnappliedSerializer,
    DestinationSerializer,
    PayerSerializer,
    PayoutSerializer,
    RefundSerializer,
    ResolveBeneficiarySerializer,
    ReturnUnappliedSerializer,
    SimulateSerializer,
    SourceSerializer,
    VirtualAccountPaymentSerializer,
)
from payments.views import payments
from payments.views.wallet import MOVEMENT
from virtual_accounts import representation as accounts
from virtual_accounts.serializers import (
    AddressSerializer,
    BusinessAccountSerializer,
    DynamicAccountSerializer,
    StaticAccountSerializer,
)

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


def _filled(serializer: type[RequestSerializer], *names: str) -> Example:
    """Return the examples of these fields, by default of all that have one."""
    fields: Any = serializer().fields
    return {
        name: fields[name].example
        for name in names or fields
        if getattr(fields[name], "example", None) is not None
    }


_CARD = _filled(SourceSerializer, "type", "pan", "name", "expiry_month", "expiry_year", "cvv")
_CARD_PAYMENT = {
    "request_type": "payment",
    "payment_method": "card",
    **_filled(CardPaymentSerializer, "reference", "amount", "currency", "redirect_url"),
    "source": _CARD,
}
_PAYOUT = {
    "request_type": "payout",
    "reference": "payout-5",
    **_filled(PayoutSerializer, "amount", "currency"),
    "customer": _filled(BeneficiarySerializer, "name", "account_number", "bank_code"),
}

PAYMENT_REQUESTS = named(
    card_payment=_CARD_PAYMENT,
    card_payment_with_everything=_CARD_PAYMENT
    | {
        "reference": "order-1043",
        "source": _CARD | {"billing_address": _filled(BillingAddressSerializer)},
        "customer": _filled(PayerSerializer, "reference", "name", "email"),
        "3ds": {"enabled": True, "challenge_preference": "no_challenge"},
        **_filled(CardPaymentSerializer, "narration", "payment_ip", "authorization_type", "metadata"),
    },
    card_payment_with_challenge=_CARD_PAYMENT
    | {"reference": "order-1044", "source": _CARD | {"pan": CHALLENGED_CARD}},
    card_payment_to_capture_later=_CARD_PAYMENT | {"reference": "order-1045", "capture": False},
    card_payment_that_is_declined=_CARD_PAYMENT | {"reference": "order-1046", "amount": DECLINED_AMOUNT},
    virtual_account_payment={
        "request_type": "payment",
        "reference": "order-1047",
        **_filled(
            VirtualAccountPaymentSerializer,
            *("amount", "currency", "payment_method", "payment_method_id", "expiry_duration"),
        ),
    },
    payout=_PAYOUT,
    card_check={
        "request_type": "card_check",
        **_filled(CardCheckSerializer, "reference", "currency"),
        "source": _filled(CheckedSourceSerializer, *_CARD),
    },
)
CAPTURE_REQUESTS = named(everything={}, a_part=_filled(CaptureSerializer, "amount"))
VOID_REQUESTS = named(nothing={})
REFUND_REQUESTS = named(
    everything_left={"reference": "refund-8"},
    a_part=_filled(RefundSerializer, "reference", "amount", "reason"),
    to_an_account=_filled(RefundSerializer, "reference", "amount")
    | {"destination": _filled(DestinationSerializer)},
)

_ADDRESS = _filled(AddressSerializer, "address_line1", "city", "state", "postal_code", "country")
ACCOUNT_REQUESTS = named(
    static_account=_filled(StaticAccountSerializer) | {"address": _ADDRESS},
    dynamic_account=_filled(DynamicAccountSerializer, "type", "email", "currency", "first_name", "last_name")
    | {"reference": "checkout", "address": _ADDRESS},
    business_account=_filled(
        BusinessAccountSerializer,
        "type",
        "account_type",
        "email",
        "currency",
        "business_name",
        "phone_number",
        "bvn",
    )
    | {"reference": "ada-books", "address": _ADDRESS},
)
RESOLVE_REQUESTS = named(account=_filled(ResolveBeneficiarySerializer, "account_number", "bank_code"))
ADVANCE_REQUESTS = named(payment=_filled(AdvanceSerializer, "payment"))
CREDIT_REQUESTS = named(credit=_filled(CreditUnappliedSerializer, "reason"))
RETURN_REQUESTS = named(
    to_the_sender=_filled(ReturnUnappliedSerializer, "reason"),
    to_a_destination=_filled(ReturnUnappliedSerializer, "reason")
    | {"destination": _filled(DestinationSerializer, "name", "account_number", "bank_code")},
)
SIMULATE_REQUESTS = named(
    transfer=_filled(SimulateSerializer, "account_number", "amount"),
    transfer_of_a_known_sender=_filled(SimulateSerializer),
)


_OF_APPROVALS = ("gateway_code", "acquirer_transaction_id", "authorization_code", "merchant_descriptor")
_NOTHING_TAKEN = {"fee": 0, "total_amount_captured": 0, "total_amount_available_to_refund": 0}

_PAID = shown.PAYMENT.example(
    shown.CARD,
    without=("redirect_link", "amount_authorized"),
    request_type="payment",
    payment_method="card",
    status="success",
    refund_status="none",
    source=shown.CARD_SHOWN.example(type="card"),
)
_DECLINED = _NOTHING_TAKEN | {
    "status": "failed",
    "amount": DECLINED_AMOUNT,
    "response_code": DECLINED.code,
    "response_summary": DECLINED.summary,
    "gateway_code": DECLINED.gateway_code,
    "gateway_recommendation": DECLINED.advice,
}
_PENDING = _NOTHING_TAKEN | {
    "status": "pending",
    "response_code": outcomes.PROCESSING.code,
    "response_summary": outcomes.PROCESSING.summary,
}


def _without(answer: Example, *names: str) -> Example:
    return {name: value for name, value in answer.items() if name not in names}


PAYMENT_ANSWERS = named(
    card_payment=_PAID,
    card_payment_with_challenge=_without(
        _PAID, *_OF_APPROVALS, "retrieval_reference_number", "system_trace_audit_number", "completed_at"
    )
    | _PENDING
    | {"redirect_link": shown.PAYMENT["redirect_link"].example},
    card_payment_that_is_declined=_without(_PAID, "authorization_code", "merchant_descriptor") | _DECLINED,
    virtual_account_payment=shown.PAYMENT.example(
        shown.TRANSFER,
        without=("gateway_code", "acquirer_transaction_id"),
        request_type="payment",
        reference="order-1047",
        payment_method="virtual_account",
        status="success",
        refund_status="none",
        fee=500,
        response_summary="Payment of 50000 NGN received from Ada Obi",
        virtual_account_details=accounts.TRANSFER_DETAILS.example(status="success"),
    ),
    payout=shown.PAYMENT.example(
        shown.PAYOUT,
        request_type="payout",
        reference=_PAYOUT["reference"],
        status="success",
        fee=1_000,
        customer=shown.CUSTOMER.example(without=("merchant_reference",)),
    ),
    card_check=shown.PAYMENT.example(
        shown.CARD_CHECK,
        without=("narration",),
        request_type="card_check",
        reference="check-77",
        status="success",
        amount=0,
        source=shown.CARD_SHOWN.example(type="card"),
    ),
)
PAID = named(card_payment=_PAID)


def returned_payout() -> Example:
    """Return the example of a payout with its reversal."""
    payout: Example = PAYMENT_ANSWERS["payout"]
    return payout | {"value": payout["value"] | {"reversal": shown.REVERSAL.example()}}


VOIDED = named(
    voided=_without(_PAID, "gateway_code", "authorization_code")
    | _NOTHING_TAKEN
    | {
        "status": "failed",
        "response_code": outcomes.VOIDED.code,
        "response_summary": outcomes.VOIDED.summary,
    }
)
CANCELLED = named(
    cancelled=_without(_PAID, *_OF_APPROVALS, "retrieval_reference_number", "system_trace_audit_number")
    | _NOTHING_TAKEN
    | {
        "status": "failed",
        "response_code": outcomes.CANCELLED.code,
        "response_summary": outcomes.CANCELLED.summary,
    }
)
_OF_DECISIONS = ("reason", "decided_at", "return_reference")
_REFUND = shown.REFUND.example(status="success")
REFUND = named(
    a_part=_REFUND,
    of_a_transfer_payment=_REFUND | {"destination": shown.REFUND_DESTINATION.example()},
)
_SETTLEMENT = shown.SETTLEMENT.example(without=("brought_forward", "carried_forward"), status="released")
SETTLEMENT = named(released=_SETTLEMENT)
SETTLEMENT_WITH_ITEMS = named(
    released=_SETTLEMENT
    | {
        "items": {
            "data": [
                shown.SETTLEMENT_ITEM.example(kind="payment"),
                shown.SETTLEMENT_ITEM.example(
                    kind="refund", reference="refund-9", amount=-10_000, fee=0, net=-10_000
                ),
            ],
            "next": None,
            "previous": None,
        }
    }
)
_UNAPPLIED = shown.UNAPPLIED_TRANSFER.example(
    without=_OF_DECISIONS, state="open", why="second", sender=accounts.SENDER.example()
)
_DECIDED = shown.UNAPPLIED_TRANSFER.example(why="second", sender=accounts.SENDER.example(), state="returned")
UNAPPLIED = named(open=_UNAPPLIED)
CREDITED = named(credited=_without(_DECIDED, "return_reference") | {"state": "credited"})
RETURNED = named(returned=_DECIDED)
_ACCOUNT = accounts.VIRTUAL_ACCOUNT.example(status="active") | {"customer": accounts.ACCOUNT_HOLDER.example()}
ACCOUNTS = named(
    static_account=_ACCOUNT,
    dynamic_account=_ACCOUNT
    | {
        "reference": "checkout",
        "customer": accounts.ACCOUNT_HOLDER.example(name="Ada Obi", account_number="", reference="checkout"),
    },
)
_SUBJECT = events.EVENT_SUBJECT.example(type="transaction")
_DELIVERED = events.EVENT.example(
    event="payment.success", state="delivered", next_attempt_at=None, subject=_SUBJECT
)
EVENT = named(delivered=_DELIVERED)
EVENT_IN_DETAIL = named(
    delivered=events.EVENT_IN_DETAIL.example(
        event="payment.success",
        state="delivered",
        next_attempt_at=None,
        subject=_SUBJECT,
        attempts=[events.EVENT_ATTEMPT.example(error=None, explanation=None)],
    )
)
BALANCES = named(balances={"data": [BALANCE_OF_CURRENCY.example()]})
MOVEMENTS = named(
    a_page={
        "data": [MOVEMENT.example(kind="payout_accepted")],
        "next": None,
        "previous": None,
        "opening_balance": 400_000,
        "closing_balance": 249_000,
    }
)
INACTIVE_ACCOUNT = named(static_account=_ACCOUNT | {"status": "inactive"})
SIMULATED = named(simulated=payments.SIMULATED.example())
BENEFICIARY = named(beneficiary=payments.BENEFICIARY.example())
ADVANCED = named(
    session=_without(PAYMENT_ANSWERS["virtual_account_payment"]["value"], "settle_status")
    | {
        "status": "failed",
        "fee": 0,
        "response_code": outcomes.TRANSFER_EXPIRED.code,
        "response_summary": outcomes.TRANSFER_EXPIRED.summary,
        "virtual_account_details": accounts.TRANSFER_DETAILS.example(status="expired", amount_received=""),
        "advanced": "session",
    }
)
BANKS = named(banks={"data": [payments.BANK.example()]})


def page(examples: Example) -> Example:
    """Return a list's first and last page with these in it."""
    values = [example["value"] for example in examples.values()]
    return named(a_page={"data": values, "next": None, "previous": None})
