"""Every operation of the API: what it takes, and everything it can answer.

Summary and description are the docstring of the view's method. Problems of all operations, of all writes, of all lists
and of all lookups are added in `developer_site.openapi.document`.
"""

from dataclasses import dataclass, field
from typing import Any, TypeAlias

from drf_spectacular.utils import PolymorphicProxySerializer
from rest_framework.views import APIView

from developer_site.openapi import examples
from developer_site.openapi.descriptions import DECIDE_UNAPPLIED
from kit.api.fields.answer_fields import Answer, Union
from kit.api.fields.strict_fields import RequestSerializer
from ledger.representation import BALANCES
from ledger.views import BalanceView
from merchants.filters import RequestFilterSerializer
from merchants.views import REQUESTS_PAGE, RequestsView
from payments import link_representation as links_shown
from payments import representation as shown
from payments.api import exam_serializers as exam_forms
from payments.api import filters, link_filters, link_serializers
from payments.api import serializers as forms
from payments.api.request_types import REQUEST_TYPES
from payments.event_representation import EVENT, EVENT_IN_DETAIL, EVENTS_PAGE
from payments.sandbox.scenario_representation import SCENARIOS
from payments.views import (
    capabilities,
    events,
    exams,
    listeners,
    payment_links,
    payments,
    sandbox,
    settlements,
    unapplied_transfers,
    wallet,
)
from virtual_accounts import serializers as account_forms
from virtual_accounts import views as accounts
from virtual_accounts.filters import AccountFilterSerializer
from virtual_accounts.representation import VIRTUAL_ACCOUNT, VIRTUAL_ACCOUNTS_PAGE
from webhooks.exams.exam_representation import EXAM
from webhooks.listeners import listener_serializers as listener_forms
from webhooks.listeners.listener_representation import ENDED_LISTENER, LISTENER, LISTENER_POLL, LISTENERS

Schema: TypeAlias = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Success:
    """A success: its words, what its body shows, examples, and headers of its own."""

    description: str
    body: Answer | Union | None = None
    examples: dict[str, Schema] = field(default_factory=dict)
    headers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Body:
    """A request's body: what reads it, or a function that makes that, and examples."""

    serializer: Any
    examples: dict[str, Schema]
    required: bool = True


@dataclass(frozen=True, slots=True)
class Operation:
    id: str
    tag: str
    answers: dict[int, Success]
    body: Body | None = None
    problems: tuple[str, ...] = ()  # beside those of every operation of its form
    filters: type[RequestSerializer] | None = None
    is_list: bool = False
    tables: tuple[str, ...] = ()  # of the sandbox's outcomes
    note: str = ""  # after the docstring
    headers: dict[str, str] = field(default_factory=dict)
    reference: str = "order-1042"  # the example of one in the path
    is_open: bool = False  # needs no signature


EVERYWHERE = (
    "invalid_request", "unknown_field", "not_acceptable", "length_required", "body_too_large", "uri_too_long",
    "headers_too_large", "unsupported_media_type", "internal_error", "temporarily_unavailable",
)  # fmt: skip
OF_SIGNED_CALLS = (
    "missing_header", "malformed_header", "unknown_key", "timestamp_out_of_range", "invalid_signature",
    "nonce_reused", "rate_limited",
)  # fmt: skip
OF_WRITES = ("malformed_json", "key_may_not_write")
OF_LOOKUPS = ("not_found",)  # by something in the path

REPLAYED = "The reference was used before: the resource's current state. Nothing was executed again."


def _ok(body: Answer | Union, text: str, shows: Schema | None = None, *headers: str) -> dict[int, Success]:
    """Return the answers of an operation that only succeeds with 200. Examples default to those of the body."""
    if shows is None:
        shows = examples.of(body) if isinstance(body, Answer) else {}
    return {200: Success(text, body, shows, headers)}


def _done(body: Answer, text: str, shows: Schema) -> dict[int, Success]:
    """Return the answers of an operation that changes something once."""
    return _ok(body, text, shows, "Idempotent-Replayed")


def _created(
    body: Answer,
    text: str = "Created.",
    *headers: str,
    shows: Schema | None = None,
    again: Schema | None = None,
) -> dict[int, Success]:
    """Return the answers of an operation that creates a resource, or returns it if its reference was used before."""
    new = Success(text, body, shows or examples.of(body), headers)
    return {201: new} | _done(body, REPLAYED, again or new.examples)


def create_payment_body() -> PolymorphicProxySerializer:
    """Return the union of all kinds of requests, in the order of `payments.api.request_types`."""
    return _union("CreatePayment", *(type(handled.serializer) for handled in REQUEST_TYPES.values()))


def create_account_body() -> PolymorphicProxySerializer:
    """Return the union of all kinds of accounts."""
    return _union(
        "CreateVirtualAccount",
        account_forms.StaticAccountSerializer,
        account_forms.BusinessAccountSerializer,
        account_forms.DynamicAccountSerializer,
    )


def advance_body() -> PolymorphicProxySerializer:
    """Return the union of all that can be advanced."""
    return _union(
        "Advance", forms.AdvancePaymentSerializer, forms.AdvanceEventSerializer, forms.AdvanceDaySerializer
    )


def _union(name: str, *members: type[RequestSerializer]) -> PolymorphicProxySerializer:
    """Return a flat union without a discriminator, because two members can have the same value in one field.

    The fields that have only one value, or that only one member has and requires, tell the members apart.
    """
    return PolymorphicProxySerializer(component_name=name, resource_type_field_name=None, serializers=members)


OPERATIONS: dict[tuple[type[APIView], str], Operation] = {
    (payments.PaymentsView, "POST"): Operation(
        "createPayment", "Payments",
        _created(shown.PAYMENT, "Created. A declined payment is created too: see `status`.", "Location", shows=examples.CREATED_PAYMENT, again=examples.PAID),
        Body(create_payment_body, examples.PAYMENT_REQUESTS),
        ("not_allowed_here", "reserved_reference", "card_number_misplaced", "unsupported_currency", "amount_too_small", "no_price", "not_supported", "invalid_payment_method", "duplicate_reference", "invalid_state", "rail_unavailable"),
        tables=("cards", "amounts", "3ds", "payouts"),
    ),
    (payments.PaymentsView, "GET"): Operation(
        "listPayments", "Payments", _ok(shown.PAYMENTS_PAGE, "A page."), filters=filters.FilterSerializer, is_list=True,
    ),
    (payments.PaymentView, "GET"): Operation(
        "getPayment", "Payments", _ok(shown.PAYMENT, "The transaction's current state."),
    ),
    (payments.CaptureView, "POST"): Operation(
        "capturePayment", "Payments", _done(shown.PAYMENT, "The payment.", examples.PAID),
        Body(forms.CaptureSerializer, examples.CAPTURE_REQUESTS, required=False),
        ("amount_too_large", "invalid_state", "rail_unavailable"), tables=("captures",),
    ),
    (payments.VoidView, "POST"): Operation(
        "voidPayment", "Payments", _done(shown.PAYMENT, "The payment.", examples.VOIDED),
        Body(forms.VoidSerializer, examples.VOID_REQUESTS, required=False), ("invalid_state", "rail_unavailable"),
    ),
    (payments.CancelView, "POST"): Operation(
        "cancelPayment", "Payments", _done(shown.PAYMENT, "The payment.", examples.CANCELLED),
        Body(forms.CancelSerializer, examples.VOID_REQUESTS, required=False), ("invalid_state",),
    ),
    (payments.RefundsView, "POST"): Operation(
        "createRefund", "Refunds", _created(shown.REFUND, "Created. A refused refund is created too: see `status`."),
        Body(forms.RefundSerializer, examples.REFUND_REQUESTS),
        ("not_allowed_here", "destination_required", "not_supported", "amount_too_large", "duplicate_reference", "invalid_state", "not_refundable", "insufficient_funds", "rail_unavailable"),
        tables=("refunds", "payouts"),
    ),
    (payments.RefundView, "GET"): Operation(
        "getRefund", "Refunds", _ok(shown.REFUND, "The refund's current state."), reference="refund-9",
    ),
    (payments.RefundsView, "GET"): Operation(
        "listRefunds", "Refunds", _ok(shown.REFUNDS_PAGE, "A page, newest first."), is_list=True,
    ),
    (accounts.VirtualAccountsView, "POST"): Operation(
        "createVirtualAccount", "Virtual accounts", _created(VIRTUAL_ACCOUNT, "Created.", "Location"),
        Body(create_account_body, examples.ACCOUNT_REQUESTS),
        ("not_allowed_here", "unsupported_currency", "not_supported", "duplicate_reference", "rail_unavailable"),
    ),
    (accounts.VirtualAccountsView, "GET"): Operation(
        "listVirtualAccounts", "Virtual accounts", _ok(VIRTUAL_ACCOUNTS_PAGE, "A page, newest first."),
        filters=AccountFilterSerializer, is_list=True,
    ),
    (accounts.VirtualAccountView, "GET"): Operation(
        "getVirtualAccount", "Virtual accounts", _ok(VIRTUAL_ACCOUNT, "The account's current state."),
        reference="customer-7",
    ),
    (payments.DeactivateView, "POST"): Operation(
        "deactivateVirtualAccount", "Virtual accounts", _ok(VIRTUAL_ACCOUNT, "The account.", examples.INACTIVE_ACCOUNT),
        Body(forms.DeactivateSerializer, examples.VOID_REQUESTS, required=False), reference="customer-7",
    ),
    (payments.SimulateView, "POST"): Operation(
        "simulateTransfer", "Virtual accounts", _ok(payments.SIMULATED, "The transfer arrived."),
        Body(forms.SimulateSerializer, examples.SIMULATE_REQUESTS), ("unknown_account", "sandbox_only"),
    ),
    (unapplied_transfers.UnappliedTransfersView, "GET"): Operation(
        "listUnappliedTransfers", "Unapplied transfers", _ok(shown.UNAPPLIED_TRANSFERS_PAGE, "A page, newest first."),
        filters=filters.UnappliedFilterSerializer, is_list=True,
    ),
    (unapplied_transfers.CreditUnappliedView, "POST"): Operation(
        "creditUnappliedTransfer", "Unapplied transfers",
        _done(shown.UNAPPLIED_TRANSFER, "The transfer.", examples.CREDITED),
        Body(forms.CreditUnappliedSerializer, examples.CREDIT_REQUESTS), ("key_may_not_decide", "invalid_state"),
        note=DECIDE_UNAPPLIED,
    ),
    (unapplied_transfers.ReturnUnappliedView, "POST"): Operation(
        "returnUnappliedTransfer", "Unapplied transfers",
        _done(shown.UNAPPLIED_TRANSFER, "The transfer.", examples.RETURNED),
        Body(forms.ReturnUnappliedSerializer, examples.RETURN_REQUESTS),
        ("key_may_not_decide", "destination_required", "not_allowed_here", "unsupported_currency", "invalid_state", "rail_unavailable"),
        note=DECIDE_UNAPPLIED,
    ),
    (settlements.SettlementsView, "GET"): Operation(
        "listSettlements", "Settlements", _ok(shown.SETTLEMENTS_PAGE, "A page, newest first."),
        problems=("unsupported_currency",), filters=filters.SettlementFilterSerializer, is_list=True,
    ),
    (settlements.SettlementView, "GET"): Operation(
        "getSettlement", "Settlements", _ok(shown.SETTLEMENT_WITH_ITEMS, "The batch and a page of its items."),
        is_list=True,
    ),
    (payment_links.PaymentLinksView, "POST"): Operation(
        "createPaymentLink", "Payment links", _created(links_shown.PAYMENT_LINK, "Created.", "Location", shows=examples.CREATED_LINK),
        Body(link_serializers.LinkSerializer, examples.LINK_REQUESTS),
        ("not_allowed_here", "unsupported_currency", "amount_too_small", "invalid_payment_method", "duplicate_reference", "slug_taken"),
    ),
    (payment_links.PaymentLinksView, "GET"): Operation(
        "listPaymentLinks", "Payment links", _ok(links_shown.PAYMENT_LINKS_PAGE, "A page, newest first."),
        problems=("unsupported_currency",), filters=link_filters.LinkFilterSerializer, is_list=True,
    ),
    (payment_links.PaymentLinkView, "GET"): Operation(
        "getPaymentLink", "Payment links", _ok(links_shown.PAYMENT_LINK, "The link's current state."),
        reference="workshop-may",
    ),
    (payment_links.PaymentLinkView, "PATCH"): Operation(
        "updatePaymentLink", "Payment links", _ok(links_shown.PAYMENT_LINK, "The link."),
        Body(link_serializers.LinkChangeSerializer, examples.LINK_CHANGES, required=False),
        ("not_allowed_here", "invalid_payment_method", "invalid_state"), reference="workshop-may",
    ),
    (payment_links.DeactivateLinkView, "POST"): Operation(
        "deactivatePaymentLink", "Payment links", _ok(links_shown.PAYMENT_LINK, "The link."),
        Body(forms.VoidSerializer, examples.VOID_REQUESTS, required=False), reference="workshop-may",
    ),
    (payment_links.ActivateLinkView, "POST"): Operation(
        "activatePaymentLink", "Payment links", _ok(links_shown.PAYMENT_LINK, "The link."),
        Body(forms.VoidSerializer, examples.VOID_REQUESTS, required=False), ("invalid_state",),
        reference="workshop-may",
    ),
    (payment_links.LinkCheckoutsView, "GET"): Operation(
        "listCheckouts", "Payment links", _ok(links_shown.CHECKOUTS_PAGE, "A page, newest first."),
        filters=link_filters.CheckoutFilterSerializer, is_list=True, reference="workshop-may",
    ),
    (payment_links.PaymentCheckoutView, "GET"): Operation(
        "getPaymentCheckout", "Payment links", _ok(links_shown.CHECKOUT, "The checkout's current state."),
        reference="pl_01980a5eb3707c008000000000000008",
    ),
    (events.EventsView, "GET"): Operation(
        "listEvents", "Events", _ok(EVENTS_PAGE, "A page, newest first."), filters=filters.EventFilterSerializer,
        is_list=True,
    ),
    (events.EventView, "GET"): Operation(
        "getEvent", "Events", _ok(EVENT_IN_DETAIL, "The event's current state."),
    ),
    (events.ResendView, "POST"): Operation(
        "resendEvent", "Events", {202: Success("Accepted: the event as it is now.", EVENT, examples.RESENT)},
        Body(forms.ResendSerializer, examples.RESEND_REQUESTS, required=False), ("invalid_state",),
    ),
    (RequestsView, "GET"): Operation(
        "listRequests", "Requests", _ok(REQUESTS_PAGE, "A page, newest first."), filters=RequestFilterSerializer,
        is_list=True,
    ),
    (BalanceView, "GET"): Operation(
        "getBalance", "Balance", _ok(BALANCES, "A balance per currency that your business is enabled for."),
    ),
    (wallet.MovementsView, "GET"): Operation(
        "listMovements", "Balance", _ok(wallet.MOVEMENTS_PAGE, "A page, newest first."),
        problems=("unsupported_currency",), filters=filters.MovementFilterSerializer, is_list=True,
    ),
    (sandbox.ScenariosView, "GET"): Operation(
        "listScenarios", "Sandbox", _ok(SCENARIOS, "Every scenario.", examples.named(scenarios=examples.SCENARIOS)),
        problems=("sandbox_only",), is_open=True,
    ),
    (sandbox.AdvanceView, "POST"): Operation(
        "advanceSandbox", "Sandbox", _ok(sandbox.ADVANCED, "What was advanced.", examples.ADVANCES),
        Body(advance_body, examples.ADVANCE_REQUESTS), ("not_found", "sandbox_only", "invalid_state"),
    ),
    (listeners.ListenersView, "POST"): Operation(
        "beginListener", "Sandbox",
        {201: Success("Begun.", LISTENER, examples.of(LISTENER))} | _ok(LISTENER, "It was live already and has the new `events`."),
        Body(listener_forms.ListenerSerializer, examples.LISTENER_REQUESTS), ("card_number_misplaced", "sandbox_only", "invalid_state"),
    ),
    (listeners.ListenersView, "GET"): Operation(
        "listListeners", "Sandbox", _ok(LISTENERS, "Every live listener."), problems=("sandbox_only",),
    ),
    (listeners.PollListenerView, "POST"): Operation(
        "pollListener", "Sandbox", _ok(LISTENER_POLL, "What is new."),
        Body(listener_forms.PollSerializer, examples.POLL_REQUESTS, required=False), ("sandbox_only",),
    ),
    (listeners.EndListenerView, "POST"): Operation(
        "endListener", "Sandbox", _ok(ENDED_LISTENER, "It has ended."),
        Body(listener_forms.EndSerializer, examples.VOID_REQUESTS, required=False), ("sandbox_only",),
    ),
    (exams.ExamsView, "POST"): Operation(
        "createExam", "Sandbox", {201: Success("Started.", EXAM, examples.EXAM_STARTED)},
        Body(exam_forms.ExamSerializer, examples.EXAM_REQUESTS),
        ("not_found", "sandbox_only", "not_allowed_here", "card_number_misplaced", "invalid_state"),
    ),
    (exams.ExamView, "GET"): Operation(
        "getExam", "Sandbox", _ok(EXAM, "The exam with the results so far."), problems=("sandbox_only",),
    ),
    (exams.ExamAnswersView, "POST"): Operation(
        "reportExamAnswers", "Sandbox", _ok(EXAM, "The exam."),
        Body(exam_forms.ExamAnswersSerializer, examples.EXAM_ANSWERS), ("sandbox_only", "invalid_state"),
    ),
    (payments.ResolveBeneficiaryView, "POST"): Operation(
        "resolveBeneficiary", "Banks", _ok(payments.BENEFICIARY, "The account."),
        Body(forms.ResolveBeneficiarySerializer, examples.RESOLVE_REQUESTS), ("unknown_beneficiary", "rail_unavailable"),
    ),
    (payments.BanksView, "GET"): Operation(
        "listBanks", "Banks",
        _ok(payments.BANKS, "Every bank.", None, "ETag") | {304: Success("Your list is up to date.", headers=("ETag",))},
        headers={"If-None-Match": "The `ETag` of the list that you have."},
    ),
    (capabilities.CapabilitiesView, "GET"): Operation(
        "listCapabilities", "Capabilities", _ok(capabilities.CAPABILITIES, "Every flow and currency."),
    ),
}  # fmt: skip

# The look-up of an account whose reference is `simulate`: described with all the others.
UNDESCRIBED = {(payments.SimulateView, "GET")}

TAGS = [
    {"name": "Payments", "description": "Payments by card or bank transfer, payouts and card checks."},
    {"name": "Refunds", "description": "Refunds of card and transfer payments."},
    {"name": "Payment links", "description": "Pages on which your payers pay, and who paid or tried."},
    {"name": "Virtual accounts", "description": "Account numbers that receive money."},
    {"name": "Unapplied transfers", "description": "Money that arrived and matches no payment."},
    {"name": "Settlements", "description": "Batches of payments on their way to your wallet."},
    {"name": "Events", "description": "Events that you were notified of, with the state of each delivery."},
    {"name": "Webhooks", "description": "The requests that your endpoint receives."},
    {"name": "Requests", "description": "The log of your requests to this API."},
    {"name": "Balance", "description": "Your wallet, and what is on its way into it."},
    {"name": "Sandbox", "description": "What only the sandbox does."},
    {"name": "Banks", "description": "Where payouts can go."},
    {"name": "Capabilities", "description": "What can be done in each currency."},
]
