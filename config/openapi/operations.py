"""Every operation of the API: what it is called, what it takes, and everything it can answer."""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework.views import APIView

from config.openapi import descriptions as words
from config.openapi import examples
from kit.api.answers import Answer
from kit.api.strict_fields import RequestSerializer
from ledger.views import BALANCES, BalanceView
from payments import representation as shown
from payments.event_representation import EVENT_IN_DETAIL, EVENTS_PAGE
from payments.filters import (
    EventFilterSerializer,
    FilterSerializer,
    MovementFilterSerializer,
    SettlementFilterSerializer,
    UnappliedFilterSerializer,
)
from payments.flows import FLOWS
from payments.serializers import (
    AdvanceSerializer,
    CancelSerializer,
    CaptureSerializer,
    CreditUnappliedSerializer,
    DeactivateSerializer,
    RefundSerializer,
    ResolveBeneficiarySerializer,
    ReturnUnappliedSerializer,
    SimulateSerializer,
    VoidSerializer,
)
from payments.views import events, payments, sandbox, settlements, unapplied_transfers, wallet
from virtual_accounts import views as accounts
from virtual_accounts.filters import AccountFilterSerializer
from virtual_accounts.representation import VIRTUAL_ACCOUNT, VIRTUAL_ACCOUNTS_PAGE
from virtual_accounts.serializers import (
    BusinessAccountSerializer,
    DynamicAccountSerializer,
    StaticAccountSerializer,
)

Schema: TypeAlias = dict[str, Any]

REPLAY = ("Idempotent-Replayed",)


@dataclass(frozen=True, slots=True)
class Success:
    """A success: its words, what its body shows, examples, and headers of its own."""

    description: str
    body: Answer | None = None
    examples: dict[str, Schema] = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A request's body: what reads it, or a function that makes that, and examples."""

    serializer: Any
    examples: dict[str, Schema]
    required: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class Operation:
    id: str
    tag: str
    summary: str
    answers: dict[int, Success]
    problems: tuple[str, ...] = ()  # beside those of every operation
    description: str = ""
    body: Body | None = None
    filters: type[RequestSerializer] | None = None
    is_list: bool = False
    headers: dict[str, str] = field(default_factory=dict)
    reference: str = "order-1042"  # the example of one in the path


EVERYWHERE = (
    "missing_header", "malformed_header", "unknown_key", "timestamp_out_of_range", "invalid_signature",
    "nonce_reused", "not_acceptable", "rate_limited", "internal_error", "temporarily_unavailable",
)  # fmt: skip
OF_WRITES = (
    "malformed_json", "invalid_request", "unknown_field", "key_may_not_write", "length_required",
    "body_too_large", "unsupported_media_type",
)  # fmt: skip


NO_SUCH = ("not_found",)
OF_RAILS = ("rail_unavailable",)
OF_LISTS = ("invalid_request", "unknown_field")
REPLAYED = "The reference was used before: the resource's current state. Nothing was executed again."


def create_payment_body() -> PolymorphicProxySerializer:
    """Return the union of all kinds of requests, distinguished as in `payments.flows`."""
    kinds: dict[str, dict[str, Any]] = {}
    for (request_type, method), flow in FLOWS.items():
        kinds.setdefault(request_type, {})[str(method)] = type(flow.serializer)
    return _union(
        "CreatePayment", "request_type", {name: _methods(name, kind) for name, kind in kinds.items()}
    )


def create_account_body() -> PolymorphicProxySerializer:
    """Return the union of all kinds of accounts, distinguished as in `virtual_accounts.serializers`."""
    static = {"individual": StaticAccountSerializer, "business": BusinessAccountSerializer}
    kinds = {
        "static": _union("StaticVirtualAccount", "account_type", static),
        "dynamic": DynamicAccountSerializer,
    }
    return _union("CreateVirtualAccount", "type", kinds)


def _methods(request_type: str, kind: dict[str, Any]) -> Any:
    if len(kind) == 1:
        return next(iter(kind.values()))
    return _union(request_type.title().replace("_", ""), "payment_method", kind)


def _union(name: str, decided_by: str, members: dict[str, Any]) -> PolymorphicProxySerializer:
    return PolymorphicProxySerializer(
        component_name=name, resource_type_field_name=decided_by, serializers=members
    )


OPERATIONS: dict[tuple[type[APIView], str], Operation] = {
    (payments.PaymentsView, "POST"): Operation(
        id="createPayment",
        tag="Payments",
        summary="Create a payment, a payout or a card check",
        description=words.CREATE_PAYMENT + words.sandbox_tables("cards", "amounts", "3ds", "payouts"),
        body=Body(serializer=create_payment_body, examples=examples.PAYMENT_REQUESTS),
        answers={
            201: Success(
                "Created. A declined payment is created too: see `status`.",
                shown.PAYMENT,
                examples.PAYMENT_ANSWERS,
                ("Location",),
            ),
            200: Success(REPLAYED, shown.PAYMENT, examples.PAID, REPLAY),
        },
        problems=(
            *OF_WRITES,
            "not_allowed_here",
            "reserved_reference",
            "card_number_misplaced",
            "unsupported_currency",
            "no_price",
            "invalid_payment_method",
            "duplicate_reference",
            "invalid_state",
            *OF_RAILS,
        ),
    ),
    (payments.PaymentsView, "GET"): Operation(
        id="listPayments",
        tag="Payments",
        summary="List payments, payouts and card checks",
        description="Newest first, in pages that stay stable while transactions arrive.",
        filters=FilterSerializer,
        is_list=True,
        answers={200: Success("A page.", shown.PAYMENTS_PAGE, examples.page(examples.PAYMENT_ANSWERS))},
        problems=OF_LISTS,
    ),
    (payments.PaymentView, "GET"): Operation(
        id="getPayment",
        tag="Payments",
        summary="Look up a payment, a payout or a card check",
        answers={200: Success("The transaction's current state.", shown.PAYMENT, examples.PAYMENT_ANSWERS)},
        problems=NO_SUCH,
    ),
    (payments.CaptureView, "POST"): Operation(
        id="capturePayment",
        tag="Payments",
        summary="Capture an authorised card payment",
        description="In whole or in part; the rest is released. A payment is captured once: repeating the same capture "
        "returns 200 and the payment's current state, a capture of a different amount 409.\n\n"
        + words.sandbox_tables("captures"),
        body=Body(serializer=CaptureSerializer, examples=examples.CAPTURE_REQUESTS, required=False),
        answers={200: Success("The payment.", shown.PAYMENT, examples.PAID, REPLAY)},
        problems=(*OF_WRITES, *NO_SUCH, "amount_too_large", "invalid_state", *OF_RAILS),
    ),
    (payments.VoidView, "POST"): Operation(
        id="voidPayment",
        tag="Payments",
        summary="Release an authorised card payment",
        description="The payment fails with 20090. Repeating the void returns 200 and the payment's current state.",
        body=Body(serializer=VoidSerializer, examples=examples.VOID_REQUESTS, required=False),
        answers={200: Success("The payment.", shown.PAYMENT, examples.VOIDED, REPLAY)},
        problems=(*OF_WRITES, *NO_SUCH, "invalid_state", *OF_RAILS),
    ),
    (payments.CancelView, "POST"): Operation(
        id="cancelPayment",
        tag="Payments",
        summary="Cancel a payment that is waiting for its payer",
        description="A payment with an open 3-D Secure page or transfer session fails with 20091. Repeating the "
        "cancellation returns 200 and the payment's current state.",
        body=Body(serializer=CancelSerializer, examples=examples.VOID_REQUESTS, required=False),
        answers={200: Success("The payment.", shown.PAYMENT, examples.CANCELLED, REPLAY)},
        problems=(*OF_WRITES, *NO_SUCH, "invalid_state"),
    ),
    (payments.RefundsView, "POST"): Operation(
        id="createRefund",
        tag="Refunds",
        summary="Refund a payment",
        description=words.REFUND + words.sandbox_tables("refunds", "payouts"),
        body=Body(serializer=RefundSerializer, examples=examples.REFUND_REQUESTS),
        answers={
            201: Success(
                "Created. A refused refund is created too: see `status`.", shown.REFUND, examples.REFUND
            ),
            200: Success(REPLAYED, shown.REFUND, examples.REFUND, REPLAY),
        },
        problems=(
            *OF_WRITES,
            *NO_SUCH,
            "not_allowed_here",
            "destination_required",
            "amount_too_large",
            "duplicate_reference",
            "invalid_state",
            "not_refundable",
            *OF_RAILS,
        ),
    ),
    (payments.RefundView, "GET"): Operation(
        id="getRefund",
        tag="Refunds",
        summary="Look up a refund",
        answers={200: Success("The refund's current state.", shown.REFUND, examples.REFUND)},
        problems=NO_SUCH,
        reference="refund-9",
    ),
    (payments.RefundsView, "GET"): Operation(
        id="listRefunds",
        tag="Refunds",
        summary="List a payment's refunds",
        is_list=True,
        answers={200: Success("A page, newest first.", shown.REFUNDS_PAGE, examples.page(examples.REFUND))},
        problems=(*OF_LISTS, *NO_SUCH),
    ),
    (accounts.VirtualAccountsView, "POST"): Operation(
        id="createVirtualAccount",
        tag="Virtual accounts",
        summary="Create a virtual account",
        description=words.CREATE_ACCOUNT,
        body=Body(serializer=create_account_body, examples=examples.ACCOUNT_REQUESTS),
        answers={
            201: Success("Created.", VIRTUAL_ACCOUNT, examples.ACCOUNTS, ("Location",)),
            200: Success(REPLAYED, VIRTUAL_ACCOUNT, examples.ACCOUNTS, REPLAY),
        },
        problems=(*OF_WRITES, "not_allowed_here", "unsupported_currency", "duplicate_reference", *OF_RAILS),
    ),
    (accounts.VirtualAccountsView, "GET"): Operation(
        id="listVirtualAccounts",
        tag="Virtual accounts",
        summary="List virtual accounts",
        filters=AccountFilterSerializer,
        is_list=True,
        answers={
            200: Success("A page, newest first.", VIRTUAL_ACCOUNTS_PAGE, examples.page(examples.ACCOUNTS))
        },
        problems=OF_LISTS,
    ),
    (accounts.VirtualAccountView, "GET"): Operation(
        id="getVirtualAccount",
        tag="Virtual accounts",
        summary="Look up a virtual account",
        answers={200: Success("The account's current state.", VIRTUAL_ACCOUNT, examples.ACCOUNTS)},
        problems=NO_SUCH,
        reference="customer-7",
    ),
    (unapplied_transfers.UnappliedTransfersView, "GET"): Operation(
        id="listUnappliedTransfers",
        tag="Unapplied transfers",
        summary="List unapplied transfers",
        description="Money that arrived and matches no payment, with or without a decision.",
        filters=UnappliedFilterSerializer,
        is_list=True,
        answers={
            200: Success(
                "A page, newest first.", shown.UNAPPLIED_TRANSFERS_PAGE, examples.page(examples.UNAPPLIED)
            )
        },
        problems=OF_LISTS,
    ),
    (unapplied_transfers.CreditUnappliedView, "POST"): Operation(
        id="creditUnappliedTransfer",
        tag="Unapplied transfers",
        summary="Credit an unapplied transfer to your wallet",
        description=words.DECIDE_UNAPPLIED,
        body=Body(serializer=CreditUnappliedSerializer, examples=examples.CREDIT_REQUESTS),
        answers={200: Success("The transfer.", shown.UNAPPLIED_TRANSFER, examples.CREDITED, REPLAY)},
        problems=(*OF_WRITES, *NO_SUCH, "key_may_not_decide", "invalid_state"),
    ),
    (unapplied_transfers.ReturnUnappliedView, "POST"): Operation(
        id="returnUnappliedTransfer",
        tag="Unapplied transfers",
        summary="Return an unapplied transfer to its sender",
        description="The return is a payout without a fee: look it up by `return_reference`. If the bank refuses that payout, "
        "the money is in your wallet.\n\n" + words.DECIDE_UNAPPLIED,
        body=Body(serializer=ReturnUnappliedSerializer, examples=examples.RETURN_REQUESTS),
        answers={200: Success("The transfer.", shown.UNAPPLIED_TRANSFER, examples.RETURNED, REPLAY)},
        problems=(
            *OF_WRITES,
            *NO_SUCH,
            "key_may_not_decide",
            "destination_required",
            "not_allowed_here",
            "unsupported_currency",
            "invalid_state",
            *OF_RAILS,
        ),
    ),
    (settlements.SettlementsView, "GET"): Operation(
        id="listSettlements",
        tag="Settlements",
        summary="List settlement batches",
        filters=SettlementFilterSerializer,
        is_list=True,
        answers={
            200: Success("A page, newest first.", shown.SETTLEMENTS_PAGE, examples.page(examples.SETTLEMENT))
        },
        problems=(*OF_LISTS, "unsupported_currency"),
    ),
    (settlements.SettlementView, "GET"): Operation(
        id="getSettlement",
        tag="Settlements",
        summary="Get a settlement batch with its items",
        description="`limit` and `cursor` apply to `items`. The `net` of all items is the `net` of the batch.",
        is_list=True,
        answers={
            200: Success(
                "The batch and a page of its items.",
                shown.SETTLEMENT_WITH_ITEMS,
                examples.SETTLEMENT_WITH_ITEMS,
            )
        },
        problems=(*OF_LISTS, *NO_SUCH),
    ),
    (events.EventsView, "GET"): Operation(
        id="listEvents",
        tag="Events",
        summary="List events",
        description=words.EVENTS,
        filters=EventFilterSerializer,
        is_list=True,
        answers={200: Success("A page, newest first.", EVENTS_PAGE, examples.page(examples.EVENT))},
        problems=OF_LISTS,
    ),
    (events.EventView, "GET"): Operation(
        id="getEvent",
        tag="Events",
        summary="Get an event with its body and its attempts",
        answers={200: Success("The event's current state.", EVENT_IN_DETAIL, examples.EVENT_IN_DETAIL)},
        problems=NO_SUCH,
    ),
    (BalanceView, "GET"): Operation(
        id="getBalance",
        tag="Balance",
        summary="Get your balances",
        description=words.BALANCE,
        answers={
            200: Success(
                "A balance per currency that your business is enabled for.", BALANCES, examples.BALANCES
            )
        },
    ),
    (wallet.MovementsView, "GET"): Operation(
        id="listMovements",
        tag="Balance",
        summary="List the movements of your wallet",
        description=words.MOVEMENTS,
        filters=MovementFilterSerializer,
        is_list=True,
        answers={200: Success("A page, newest first.", wallet.MOVEMENTS_PAGE, examples.MOVEMENTS)},
        problems=(*OF_LISTS, "unsupported_currency"),
    ),
    (payments.DeactivateView, "POST"): Operation(
        id="deactivateVirtualAccount",
        tag="Virtual accounts",
        summary="Deactivate a virtual account",
        description="The account no longer accepts money; an open payment on it fails. Repeating the call changes nothing.",
        body=Body(serializer=DeactivateSerializer, examples=examples.VOID_REQUESTS, required=False),
        answers={200: Success("The account.", VIRTUAL_ACCOUNT, examples.INACTIVE_ACCOUNT)},
        problems=(*OF_WRITES, *NO_SUCH),
        reference="customer-7",
    ),
    (payments.SimulateView, "POST"): Operation(
        id="simulateTransfer",
        tag="Virtual accounts",
        summary="Simulate a bank transfer (sandbox)",
        description=words.SIMULATE,
        body=Body(serializer=SimulateSerializer, examples=examples.SIMULATE_REQUESTS),
        answers={200: Success("The transfer arrived.", payments.SIMULATED, examples.SIMULATED)},
        problems=(*OF_WRITES, "unknown_account", "sandbox_only"),
    ),
    (sandbox.AdvanceView, "POST"): Operation(
        id="advancePayment",
        tag="Sandbox",
        summary="Advance a payment (sandbox)",
        description=words.ADVANCE,
        body=Body(serializer=AdvanceSerializer, examples=examples.ADVANCE_REQUESTS),
        answers={200: Success("The payment.", sandbox.ADVANCED_PAYMENT, examples.ADVANCED)},
        problems=(*OF_WRITES, *NO_SUCH, "sandbox_only", "invalid_state"),
    ),
    (payments.ResolveBeneficiaryView, "POST"): Operation(
        id="resolveBeneficiary",
        tag="Banks",
        summary="Look up the name of an account",
        description="Queries the bank for the name of the account's holder. Nothing is stored. In the sandbox account "
        "`0000000000` is unknown.",
        body=Body(serializer=ResolveBeneficiarySerializer, examples=examples.RESOLVE_REQUESTS),
        answers={200: Success("The account.", payments.BENEFICIARY, examples.BENEFICIARY)},
        problems=(*OF_WRITES, "unknown_beneficiary", *OF_RAILS),
    ),
    (payments.BanksView, "GET"): Operation(
        id="listBanks",
        tag="Banks",
        summary="List the banks that payouts can reach",
        description="Changes rarely: cache it, and send its `ETag` in `If-None-Match`.",
        headers={"If-None-Match": "The `ETag` of the list that you have."},
        answers={
            200: Success("Every bank.", payments.BANKS, examples.BANKS, ("ETag",)),
            304: Success("Your list is up to date.", headers=("ETag",)),
        },
    ),
}

# The look-up of an account whose reference is `simulate`: described with all the others.
UNDESCRIBED = {(payments.SimulateView, "GET")}

TAGS = [
    {"name": "Payments", "description": "Payments by card or bank transfer, payouts and card checks."},
    {"name": "Refunds", "description": "Refunds of card and transfer payments."},
    {"name": "Virtual accounts", "description": "Account numbers that receive money."},
    {"name": "Unapplied transfers", "description": "Money that arrived and matches no payment."},
    {"name": "Settlements", "description": "Batches of payments on their way to your wallet."},
    {"name": "Events", "description": "Events that you were notified of, with the state of each delivery."},
    {"name": "Webhooks", "description": "The requests that your endpoint receives."},
    {"name": "Balance", "description": "Your wallet, and what is on its way into it."},
    {"name": "Sandbox", "description": "What only the sandbox does."},
    {"name": "Banks", "description": "Where payouts can go."},
]
