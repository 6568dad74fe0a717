"""Models of the API. Written by generate.py from the OpenAPI document; do not edit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from sluice.model import Model

if TYPE_CHECKING:
    from typing_extensions import Required

    from sluice.card import Card

Asked = Literal['required', 'optional', 'no']

BeneficiaryStatus = Literal['verified', 'name_differs', 'unverified', 'blocked']

DisputeStage = Literal['inquiry', 'chargeback', 'pre_arbitration', 'arbitration']

DisputeStatus = Literal['needs_response', 'under_review', 'accepted', 'expired', 'won', 'lost', 'withdrawn']

EventName = Literal['payment.success', 'payment.failed', 'payment.mismatch', 'payout.success', 'payout.failed', 'refund.success', 'refund.failed', 'payout.reversed', 'transfer.unapplied', 'settlement.released', 'account.active', 'account.failed', 'payout_batch.completed', 'dispute.opened', 'dispute.updated', 'dispute.due_soon', 'dispute.closed', 'balance.adjusted']

EventState = Literal['waiting', 'held', 'delivered', 'dead', 'skipped', 'test_failed']

EventSubscription = Literal['payment', 'payout', 'refund', 'reversal', 'unapplied', 'settlement', 'account', 'payout_batch', 'dispute', 'balance', 'payment.success', 'payment.failed', 'payment.mismatch', 'payout.success', 'payout.failed', 'refund.success', 'refund.failed', 'payout.reversed', 'transfer.unapplied', 'settlement.released', 'account.active', 'account.failed', 'payout_batch.completed', 'dispute.opened', 'dispute.updated', 'dispute.due_soon', 'dispute.closed', 'balance.adjusted']

EvidenceKind = Literal['receipt', 'customer_communication', 'delivery', 'service', 'refund_policy', 'duplicate_explanation', 'other']

ExamActed = Literal['0', '1', 'more']

ExamTarget = Literal['endpoint', 'client']

PaymentLinkStatus = Literal['active', 'used_up', 'inactive', 'expired']

PaymentMethod = Literal['card', 'virtual_account']

PayoutBatchStatus = Literal['checking', 'needs_correction', 'ready', 'awaiting_approval', 'scheduled', 'processing', 'completed', 'cancelled']

PayoutPurpose = Literal['salary', 'supplier', 'other']

RefundStatus = Literal['none', 'partially_refunded', 'refunded', 'refund_failed']

RequestType = Literal['payment', 'payout', 'card_check']

SettleStatus = Literal['initiated', 'pending', 'rejected', 'approved', 'released']

TransactionStatus = Literal['pending', 'success', 'failed']

UnappliedTransferState = Literal['open', 'returned', 'credited']

VirtualAccountStatus = Literal['active', 'inactive']

@dataclass(frozen=True, kw_only=True, slots=True)
class AccountHolder(Model):
    """The holder of a virtual account."""

    name: str
    """Full name."""

    account_number: str
    """The number to transfer to. Of a dynamic account that of its open session while exactly one is
    open, and empty otherwise. Of a static one empty until its bank has opened it."""

    bank_code: str
    """The bank that hosts it; empty if GET /api/banks doesn't list it."""

    email: str
    """E-mail address."""

    reference: str
    """Your reference."""

@dataclass(frozen=True, kw_only=True, slots=True)
class AdvancedPayment(Model):
    """The payment as it is now, and what happened."""

    request_type: RequestType
    """The kind of transaction."""

    id: str
    """Our identifier of the transaction."""

    reference: str
    """Your reference. Of a payment of a link: `pl_` and its own id."""

    payment_link_id: str | None = None
    """The payment link that it was made at. Payments of links."""

    payment_link_reference: str | None = None
    """Your reference of that link."""

    status: TransactionStatus
    """`success` and `failed` are final."""

    response_code: str
    """Outcome code: `10000` Payment completed; `10001` Processing; `20005` Declined - Do not honour;
    `20030` Declined - Unspecified failure; `20041` Declined - Lost Card; `20043` Declined - Stolen
    Card, Pick up; `20051` Declined - Not sufficient funds; `20054` Declined - Expired card; `20083`
    Declined - Suspected fraud; `20151` Declined - 3DS authentication failed; `20013` Declined -
    Approved in part only; `20030` Payment failed; `20068` Authorisation expired without capture;
    `20068` Payment expired without receiving funds; `20013` Amount mismatch: expected 50000 NGN but
    received 40000 NGN; `20090` Payment voided; `20091` Payment cancelled; `20092` Payout rejected."""

    response_summary: str
    """The outcome in words."""

    gateway_code: str | None = None
    """The acquirer's or bank's own response code."""

    gateway_recommendation: str | None = None
    """After a decline, whether a retry can succeed: `retry` or `do_not_retry`."""

    acquirer_transaction_id: str | None = None
    """The acquirer's identifier."""

    authorization_code: str | None = None
    """The issuer's authorisation code. Cards."""

    retrieval_reference_number: str | None = None
    """RRN. Cards."""

    system_trace_audit_number: str | None = None
    """STAN. Cards."""

    amount: int
    """Minor units; 0 for a card check."""

    amount_authorized: int | None = None
    """Amount authorised by the issuer, minor units. Card payments with `capture: false`."""

    currency: str
    """ISO 4217."""

    awaiting_approval: bool | None = None
    """`true` while a payout waits for approval by other members of your business."""

    payment_timestamp: str
    """When it was created."""

    payment_method: PaymentMethod | None = None
    """How the payer pays. Payments."""

    fee: int | None = None
    """Processing fee, minor units. Payments and payouts."""

    fee_tax: int | None = None
    """Tax on the fee, charged in addition to it. Payments and payouts. Present if above zero."""

    stamp_duty: int | None = None
    """Stamp duty on the amount, charged in addition to the fee. Payouts. Present if above zero."""

    refund_status: RefundStatus | None = None
    """Payments."""

    settle_status: SettleStatus | None = None
    """Progress of the settlement to your balance. Once it is in a batch."""

    merchant_descriptor: str | None = None
    """Text on the cardholder's statement. Cards."""

    source: CardShown | None = None
    """The card. Card payments and card checks. Entered on the provider's page: once it is paid."""

    virtual_account_details: TransferDetails | None = None
    """The account that the payer transfers to. Virtual accounts."""

    total_amount_captured: int | None = None
    """Captured so far. Card payments."""

    total_amount_available_to_refund: int | None = None
    """Amount that can still be refunded. Payments."""

    total_amount_refunded: int | None = None
    """Refunded so far. Payments."""

    amount_disputed: int | None = None
    """Held for open disputes or lost in ended ones; it can't be refunded. Present if above zero."""

    disputes: list[PaymentDispute] | None = None
    """Its disputes, oldest first. Present if there are any."""

    redirect_link: str | None = None
    """Send the payer here for 3-D Secure. While the challenge is open."""

    last_operation: LastOperation | None = None
    """The last capture or void, if the acquirer declined it. While the payment is authorised."""

    customer: Customer | None = None
    """Payer or beneficiary."""

    reversal: Reversal | None = None
    """The part of a successful payout that the bank has returned. Its status stays `success`."""

    purpose: PayoutPurpose | None = None
    """What the payout is for. Present if you said so."""

    narration: str | None = None
    """Your free text. Present if you sent any."""

    metadata: dict[str, str] | None = None
    """Your own keys and values, as you sent them. Present if you sent any."""

    completed_at: str | None = None
    """When `status` became `success` or `failed`. Once it is final."""

    warnings: list[Warning] | None = None
    """Sandbox only, in the answer to the POST that creates it: what is valid, but probably a mistake."""

    advanced: Literal['challenge', 'authorisation', 'session', 'question', 'return', 'approval', 'server', 'dispute', 'watch']
    """What happened."""

@dataclass(frozen=True, kw_only=True, slots=True)
class AmountRange(Model):
    """The amounts that the payer may choose, minor units."""

    min: int
    """The smallest."""

    max: int
    """The largest."""

    suggested: list[int] | None = None
    """What the page proposes."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Balance(Model):
    """What you have in one currency, in minor units."""

    currency: str
    """ISO 4217."""

    available: int
    """Your available balance."""

    pending: int
    """Earned, and not released yet."""

    disputed: int | None = None
    """Held for open disputes. Present if not zero."""

    reserved: int | None = None
    """Held back from released settlements, and returned to your balance later. Present if not zero."""

@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceAdjustment(Model):
    """A debit of your balance that staff booked, with the reason."""

    id: str
    """Our identifier: the `reference` of the movement in the statement of your balance."""

    amount: int
    """Minor units, below zero."""

    balance_after: int
    """The balance afterwards."""

    currency: str
    """ISO 4217."""

    reason: str
    """Why it was booked, in plain words."""

    created_at: str
    """When it was booked."""

@dataclass(frozen=True, kw_only=True, slots=True)
class BalanceList(Model):
    """Every currency."""

    data: list[Balance]
    """The balances."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Bank(Model):
    """A bank that payouts can reach."""

    code: str
    """CBN code, as in responses."""

    name: str
    """Name."""

    nip_code: str
    """NIP code; requests may use either."""

    country: str
    """ISO 3166-1 alpha-3."""

    currency: str
    """ISO 4217."""

@dataclass(frozen=True, kw_only=True, slots=True)
class BankList(Model):
    """Every bank, sorted by name."""

    data: list[Bank]
    """The banks."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Beneficiary(Model):
    """An account and the name of its holder."""

    account_name: str
    """The holder's name in the bank's records."""

    account_number: str
    """The account number."""

    bank_code: str
    """The bank's `code`."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Capability(Model):
    """What can be done in one currency. Without a configured connector, only `flow`, `currency` and
    `available`."""

    flow: str
    """The kind of request."""

    currency: str
    """ISO 4217."""

    available: bool
    """Whether requests of this flow and currency can be processed at the moment."""

    hosted_only: bool | None = None
    """Whether payers enter their card on the provider's own page only: by payment link, not with
    `source`."""

    captures_later: bool | None = None
    """Whether `capture` may be `false`."""

    voids: bool | None = None
    """Whether an authorised payment can be voided."""

    partial_refunds: bool | None = None
    """Whether a part of a payment can be refunded."""

    three_d_secure: str | None = None
    """`on_request`: with `3ds.enabled`. `never`: not available. `provider_decides`: it can't be
    requested; `3ds.enabled` is refused unless an owner accepts that in Settings."""

    expiry_duration: ExpiryDurationRange | None = None
    """The range of `expiry_duration`."""

    minimum_amount: int | None = None
    """The smallest `amount`. An owner can set a larger one in Settings."""

    maximum_amount: int | None = None
    """The largest `amount`."""

    amount_multiple_of: int | None = None
    """`amount` must be a multiple of this."""

@dataclass(frozen=True, kw_only=True, slots=True)
class CapabilityList(Model):
    """Every flow and currency."""

    data: list[Capability]
    """By flow, then by currency."""

@dataclass(frozen=True, kw_only=True, slots=True)
class CardShown(Model):
    """A card, as far as it may be shown."""

    type: Literal['card']
    """Always `card`."""

    card_type: str
    """Brand, or UNKNOWN."""

    card_bin: str
    """First six digits."""

    card_last4: str
    """Last four digits."""

    expiry_month: str
    """Two digits."""

    expiry_year: str
    """Four digits."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Checkout(Model):
    """One payer at one link: who pays how much, and how often they tried."""

    id: str
    """Our identifier of the checkout."""

    payment_link_id: str
    """The link."""

    status: Literal['open', 'paying', 'paid', 'closed']
    """`paid` is final; `closed`: over without a payment."""

    amount: int
    """Total, minor units."""

    quantity: int
    """Units."""

    currency: str
    """ISO 4217."""

    customer: CheckoutCustomer | None = None
    """What the payer entered, until it is erased."""

    answers: dict[str, Any]
    """Answers to your questions, by `key`."""

    attempts: int
    """Payments begun so far."""

    payment_reference: str | None = None
    """The payment that succeeded, else the last one. Absent before the first."""

    created_at: str
    """When it was begun."""

@dataclass(frozen=True, kw_only=True, slots=True)
class CheckoutCustomer(Model):
    """What the payer entered."""

    name: str | None = None
    """Full name."""

    email: str | None = None
    """E-mail address."""

    phone: str | None = None
    """Phone number."""

@dataclass(frozen=True, kw_only=True, slots=True)
class CheckoutList(Model):
    """A page of checkouts, newest first."""

    data: list[Checkout]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ClosedDay(Model):
    """What was settled or returned from the reserve, and your balances afterwards."""

    batches: list[Settlement]
    """The new settlement batches, or the one of the reserve."""

    balance: list[Balance]
    """Every currency."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Collect(Model):
    """What payers are asked for."""

    name: Asked
    """Full name."""

    email: Asked
    """E-mail address."""

    phone: Asked
    """Phone number."""

@dataclass(frozen=True, kw_only=True, slots=True)
class CustomField(Model):
    """A question of yours."""

    key: str
    """The name of the answer."""

    label: str
    """The question."""

    required: bool
    """Whether payers must answer."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Customer(Model):
    """Payer or beneficiary."""

    name: str | None = None
    """Full name."""

    account_number: str | None = None
    """Payouts."""

    bank_code: str | None = None
    """Payouts: the bank's `code`."""

    bank_name: str | None = None
    """Payouts."""

    merchant_reference: str | None = None
    """Your reference of the customer."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Dispute(Model):
    """One stage of a case in which a cardholder's bank disputes a card payment. A later stage is another
    dispute."""

    id: str
    """Our identifier of the dispute."""

    case_number: str
    """The acquirer's number of the case, the same in all stages."""

    stage: DisputeStage
    """`inquiry` is a question and moves no money."""

    status: DisputeStatus
    """`accepted`, `expired`, `won`, `lost` and `withdrawn` are final."""

    reason: Literal['fraudulent', 'duplicate', 'product_not_received', 'product_unacceptable', 'credit_not_processed', 'subscription_cancelled', 'unrecognised', 'amount_differs', 'general']
    """What the cardholder says."""

    network_reason: str | None = None
    """The card network's own code."""

    amount: int
    """The disputed amount, minor units. Held while the dispute is open, except in an inquiry."""

    currency: str
    """ISO 4217."""

    fee: int
    """What the dispute costs you, minor units."""

    payment_reference: str
    """Your reference of the payment."""

    payment_id: str
    """Our identifier of the payment."""

    opened_at: str
    """When the cardholder's bank opened it."""

    respond_by: str | None = None
    """Answer before this time. Omitted if there is no deadline."""

    resolved_at: str | None = None
    """When it ended. Once it is final."""

    outcome_amount: int | None = None
    """What comes back to you, minor units. Once it is final."""

    previous: str | None = None
    """The dispute of the stage before."""

    already_refunded: bool
    """Refunds and other disputes of the payment had left less than the disputed amount."""

    evidence: list[DisputeEvidence]
    """What you have added to your answer."""

    created_at: str
    """When we received it."""

    updated_at: str
    """When it last changed."""

@dataclass(frozen=True, kw_only=True, slots=True)
class DisputeEvidence(Model):
    """A text or a file of your answer. A text has `text`, a file has `name`, `type`, `size` and
    `sha256`."""

    id: str
    """Our identifier of the item."""

    kind: EvidenceKind
    """What it shows."""

    text: str | None = None
    """The text."""

    name: str | None = None
    """The file's name."""

    type: Literal['application/pdf', 'image/png', 'image/jpeg'] | None = None
    """The file's type, by its content."""

    size: int | None = None
    """Bytes of the file."""

    sha256: str | None = None
    """SHA-256 of the file, hex."""

    created_at: str
    """When it was added."""

@dataclass(frozen=True, kw_only=True, slots=True)
class DisputeList(Model):
    """A page of disputes, newest first."""

    data: list[Dispute]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class DuplicateReference(Model):
    """The reference belongs to another request."""

    type: str
    """URL of the page about this code."""

    title: str
    """What the code means."""

    status: int
    """The HTTP status."""

    detail: str
    """What to do about it. Never repeats a value that was sent."""

    request_id: str
    """The response's `X-Request-Id`. Quote it to support."""

    server_time: int | None = None
    """`timestamp_out_of_range`: our clock, in Unix seconds."""

    string_to_sign: str | None = None
    """`invalid_signature`, in the sandbox: the text that the server built and signed."""

    differs: list[str] | None = None
    """409 for a request that repeats another one with other fields: names of the top-level fields that
    differ from the first; a card is `source`. It is always among them once the card is no longer
    compared. References of the bank: left out."""

    success: bool | None = None
    """Errors of the simulation: always `false`."""

    message: str | None = None
    """Errors of the simulation: the same as `detail`."""

    code: Literal['duplicate_reference']
    """Always `duplicate_reference`."""

    existing: Existing
    """The resource of the first request with this reference."""

@dataclass(frozen=True, kw_only=True, slots=True)
class EndedListener(Model):
    """A listener that has ended."""

    name: str
    """Your name for it."""

@dataclass(frozen=True, kw_only=True, slots=True)
class EventAttempt(Model):
    """One attempt at a delivery."""

    number: int
    """1 for the first."""

    is_manual: bool
    """A resend or a test."""

    started_at: str
    """When it started."""

    status: int | None
    """The HTTP status of your answer; null without one."""

    error: str | None
    """The class of the failure; null after a success."""

    explanation: str | None
    """A description of the failure."""

    total_ms: float
    """Milliseconds from the lookup of your host name to the end of your response's headers."""

    response_body: str | None
    """The first 2 KiB of your answer's body, with card numbers masked; null without a body, and once it
    has been purged."""

@dataclass(frozen=True, kw_only=True, slots=True)
class EventCopy(Model):
    """A copy of an event."""

    event_id: str
    """Our identifier of the event. Acknowledge it by this."""

    event: EventName
    """What happened."""

    created_at: str
    """When it happened."""

    origin: Literal['event', 'resend', 'test']
    """`event` when it happened, `resend`, or `test` for a test event."""

    times: int
    """How often it was returned, this time included. Send it as `X-Service-Attempt`."""

    body: str
    """The body that your endpoint receives. Sign and send its UTF-8 bytes exactly."""

@dataclass(frozen=True, kw_only=True, slots=True)
class EventInDetail(Model):
    """An event with its body and its attempts."""

    id: str
    """Our identifier of the delivery, by which it is looked up and resent. At your first endpoint the
    same as `event_id`."""

    event_id: str
    """Our identifier of the event; the same at each of your endpoints."""

    endpoint_id: str
    """The webhook endpoint that it is sent to."""

    event: EventName
    """What happened."""

    state: EventState
    """`waiting` for an attempt, `held` while the endpoint is disabled, `delivered`, `dead` after the
    last attempt, `skipped` if you unsubscribed from it, disabled the endpoint for seven days or
    deleted it, `test_failed` for a test event."""

    created_at: str
    """When it happened."""

    delivered_at: str | None
    """When your server answered with 2xx."""

    next_attempt_at: str | None
    """When the next attempt is due; null while one is under way."""

    attempts_made: int
    """Automatic and manual ones."""

    is_test: bool
    """A test event of the dashboard."""

    subject: EventSubject | None
    """The object that the event is about; null for a test event."""

    body: str | None
    """The body exactly as it is sent in every attempt; null once it has been purged."""

    attempts: list[EventAttempt]
    """The stored attempts, oldest first."""

@dataclass(frozen=True, kw_only=True, slots=True)
class EventRecord(Model):
    """An event and the state of its delivery."""

    id: str
    """Our identifier of the delivery, by which it is looked up and resent. At your first endpoint the
    same as `event_id`."""

    event_id: str
    """Our identifier of the event; the same at each of your endpoints."""

    endpoint_id: str
    """The webhook endpoint that it is sent to."""

    event: EventName
    """What happened."""

    state: EventState
    """`waiting` for an attempt, `held` while the endpoint is disabled, `delivered`, `dead` after the
    last attempt, `skipped` if you unsubscribed from it, disabled the endpoint for seven days or
    deleted it, `test_failed` for a test event."""

    created_at: str
    """When it happened."""

    delivered_at: str | None
    """When your server answered with 2xx."""

    next_attempt_at: str | None
    """When the next attempt is due; null while one is under way."""

    attempts_made: int
    """Automatic and manual ones."""

    is_test: bool
    """A test event of the dashboard."""

    subject: EventSubject | None
    """The object that the event is about; null for a test event."""

@dataclass(frozen=True, kw_only=True, slots=True)
class EventRecordList(Model):
    """A page of events, newest first."""

    data: list[EventRecord]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class EventSubject(Model):
    """What an event is about."""

    type: Literal['transaction', 'refund', 'transfer', 'settlement', 'virtual_account', 'payout_batch', 'dispute', 'journal']
    """What it is."""

    id: str
    """Its identifier."""

    reference: str | None
    """Your reference of the payment, payout, refund or virtual account, of a dispute its payment's; else
    null."""

    request_type: RequestType | None
    """Of a transaction; else null."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Exam(Model):
    """An exam of your webhook receiver. It is `passed` if no probe `failed`."""

    id: str
    """Our identifier of the exam."""

    target: ExamTarget
    """`endpoint`: the service sends the requests; `client`: your tool does."""

    endpoint_id: str | None = None
    """`endpoint`: the webhook endpoint that is examined."""

    listener: str | None = None
    """`client`: the listener whose key signs the requests."""

    state: Literal['running', 'passed', 'failed']
    """`running` until all answers are there."""

    created_at: str
    """When it was started."""

    finished_at: str | None
    """When it ended; null while it is running."""

    results: list[ExamResult]
    """The result of every probe."""

    question: str
    """What the exam can't see."""

    acted: ExamActed | None
    """Your answer to the question; null without one. It doesn't change the result."""

    requests: list[ExamDelivery] | None = None
    """`client`, while it is running: what to send."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ExamDelivery(Model):
    """A request that your tool sends. Send it byte for byte."""

    number: int
    """From 1, in the order of sending."""

    step: int
    """Requests of one step are sent at the same time."""

    probe: str
    """The probe that it belongs to."""

    needs: list[str]
    """Probes. Send the request only if all their requests so far, except those of `hang_up`, had a 2xx
    answer."""

    manner: Literal['whole', 'in_pieces', 'hang_up']
    """`whole`; `in_pieces`: the body in three TCP segments, one second apart; `hang_up`: close the
    connection after the body, before the answer, and wait one second."""

    headers: dict[str, str]
    """Its headers."""

    body: str
    """Its body."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ExamResult(Model):
    """The result of a probe, with the request and the answer that decided it."""

    probe: str
    """What was sent."""

    result: Literal['passed', 'failed', 'advice', 'not_run']
    """`advice` if it works but would better be otherwise; `not_run` if it wasn't sent."""

    cause: str
    """The reason, in one sentence."""

    guide: str
    """The section of the guide that explains it."""

    status: int | None
    """The HTTP status of your answer; null without one."""

    ms: float | None
    """Milliseconds until the end of your answer's headers, without the pauses of `in_pieces`; null
    without a request."""

    headers: dict[str, str] | None
    """The request's headers; null without one."""

    body: str | None
    """The request's body; null without one."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Existing(Model):
    """The resource of the first request with this reference."""

    id: str
    """Its identifier."""

    status: Literal['pending', 'success', 'failed', 'active', 'inactive']
    """Its current status."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ExistingEndpoint(Model):
    """The webhook endpoint that has the URL."""

    id: str
    """Its identifier."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ExpectedAnswer(Model):
    """What the answer to a step has."""

    http_status: int
    """The HTTP status."""

    status: TransactionStatus | None = None
    """Its `status`, if it is about one transaction or refund."""

    response_code: str | None = None
    """Its `response_code`, as well."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ExpiryDurationRange(Model):
    """How long the account number of a payment can accept the transfer."""

    minimum: int
    """Seconds."""

    maximum: int
    """Seconds."""

@dataclass(frozen=True, kw_only=True, slots=True)
class FieldError(Model):
    """What is wrong with one field."""

    field: str
    """Dotted path."""

    code: str
    """Error code of the field."""

    message: str
    """Description of the error."""

    suggestion: str | None = None
    """`unknown_field`: the field of this object whose name is closest, if one is close."""

@dataclass(frozen=True, kw_only=True, slots=True)
class LastOperation(Model):
    """A capture or void that the acquirer declined. The authorisation is unchanged, and you can try
    again."""

    kind: Literal['capture', 'void']
    """What was declined."""

    status: Literal['failed']
    """Always `failed`."""

    gateway_code: str
    """The acquirer's own response code; may be empty."""

@dataclass(frozen=True, kw_only=True, slots=True)
class LinkCustomer(Model):
    """Who pays."""

    reference: str
    """Your reference of the customer."""

    email: str
    """E-mail address."""

    name: str | None = None
    """Full name."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Listener(Model):
    """A listener, which receives copies of your events for as long as it polls."""

    name: str
    """Your name for it."""

    events: list[EventName]
    """The kinds of events that are copied."""

    hash_key: str
    """The key with which you sign the copies, and your receiver verifies them. The same each time."""

    waiting: int
    """How many copies are not acknowledged."""

    expires_at: str
    """When it ends, unless it polls before."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ListenerList(Model):
    """Live listeners."""

    data: list[ListenerState]
    """The listeners, by name."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ListenerPoll(Model):
    """What is new for a listener."""

    events: list[EventCopy]
    """The oldest copies that are not acknowledged."""

    waiting: int
    """How many copies are not acknowledged, including these."""

    dropped: int
    """How many copies were deleted since it began, because there were more than 1,000."""

    poll_after: int
    """Seconds to wait before the next poll."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ListenerState(Model):
    """A live listener, without its key."""

    name: str
    """Your name for it."""

    events: list[EventName]
    """The kinds of events that are copied."""

    waiting: int
    """How many copies are not acknowledged."""

    expires_at: str
    """When it ends, unless it polls before."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Mistake(Model):
    """The known mistake that leads to a signature."""

    code: str
    """Name of the mistake."""

    message: str
    """What you signed, and what to sign."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Movement(Model):
    """A movement of your balance."""

    id: str
    """Currency and position in the statement."""

    kind: Literal['payout_accepted', 'payout_failed', 'payout_reversed', 'settlement_released', 'reserve_held', 'reserve_returned', 'unapplied_out', 'tax', 'top_up', 'journal']
    """What caused the movement."""

    amount: int
    """Minor units: above zero into the balance, below zero out of it."""

    balance_after: int
    """The balance afterwards."""

    currency: str
    """ISO 4217."""

    reference: str
    """Your reference of the payout, also of its tax; else the id of the settlement, unapplied transfer,
    top-up or journal."""

    reason: str | None = None
    """Why staff booked a `journal`, in plain words."""

    created_at: str
    """When it was booked."""

@dataclass(frozen=True, kw_only=True, slots=True)
class MovementList(Model):
    """A page of movements, newest first."""

    data: list[Movement]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

    opening_balance: int | None = None
    """Before the filtered period, with `currency` only."""

    closing_balance: int | None = None
    """At the end of the filtered period, with `currency` only."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Payment(Model):
    """A payment, a payout or a card check. Fields that do not belong to its kind, or are not known yet,
    are left out."""

    request_type: RequestType
    """The kind of transaction."""

    id: str
    """Our identifier of the transaction."""

    reference: str
    """Your reference. Of a payment of a link: `pl_` and its own id."""

    payment_link_id: str | None = None
    """The payment link that it was made at. Payments of links."""

    payment_link_reference: str | None = None
    """Your reference of that link."""

    status: TransactionStatus
    """`success` and `failed` are final."""

    response_code: str
    """Outcome code: `10000` Payment completed; `10001` Processing; `20005` Declined - Do not honour;
    `20030` Declined - Unspecified failure; `20041` Declined - Lost Card; `20043` Declined - Stolen
    Card, Pick up; `20051` Declined - Not sufficient funds; `20054` Declined - Expired card; `20083`
    Declined - Suspected fraud; `20151` Declined - 3DS authentication failed; `20013` Declined -
    Approved in part only; `20030` Payment failed; `20068` Authorisation expired without capture;
    `20068` Payment expired without receiving funds; `20013` Amount mismatch: expected 50000 NGN but
    received 40000 NGN; `20090` Payment voided; `20091` Payment cancelled; `20092` Payout rejected."""

    response_summary: str
    """The outcome in words."""

    gateway_code: str | None = None
    """The acquirer's or bank's own response code."""

    gateway_recommendation: str | None = None
    """After a decline, whether a retry can succeed: `retry` or `do_not_retry`."""

    acquirer_transaction_id: str | None = None
    """The acquirer's identifier."""

    authorization_code: str | None = None
    """The issuer's authorisation code. Cards."""

    retrieval_reference_number: str | None = None
    """RRN. Cards."""

    system_trace_audit_number: str | None = None
    """STAN. Cards."""

    amount: int
    """Minor units; 0 for a card check."""

    amount_authorized: int | None = None
    """Amount authorised by the issuer, minor units. Card payments with `capture: false`."""

    currency: str
    """ISO 4217."""

    awaiting_approval: bool | None = None
    """`true` while a payout waits for approval by other members of your business."""

    payment_timestamp: str
    """When it was created."""

    payment_method: PaymentMethod | None = None
    """How the payer pays. Payments."""

    fee: int | None = None
    """Processing fee, minor units. Payments and payouts."""

    fee_tax: int | None = None
    """Tax on the fee, charged in addition to it. Payments and payouts. Present if above zero."""

    stamp_duty: int | None = None
    """Stamp duty on the amount, charged in addition to the fee. Payouts. Present if above zero."""

    refund_status: RefundStatus | None = None
    """Payments."""

    settle_status: SettleStatus | None = None
    """Progress of the settlement to your balance. Once it is in a batch."""

    merchant_descriptor: str | None = None
    """Text on the cardholder's statement. Cards."""

    source: CardShown | None = None
    """The card. Card payments and card checks. Entered on the provider's page: once it is paid."""

    virtual_account_details: TransferDetails | None = None
    """The account that the payer transfers to. Virtual accounts."""

    total_amount_captured: int | None = None
    """Captured so far. Card payments."""

    total_amount_available_to_refund: int | None = None
    """Amount that can still be refunded. Payments."""

    total_amount_refunded: int | None = None
    """Refunded so far. Payments."""

    amount_disputed: int | None = None
    """Held for open disputes or lost in ended ones; it can't be refunded. Present if above zero."""

    disputes: list[PaymentDispute] | None = None
    """Its disputes, oldest first. Present if there are any."""

    redirect_link: str | None = None
    """Send the payer here for 3-D Secure. While the challenge is open."""

    last_operation: LastOperation | None = None
    """The last capture or void, if the acquirer declined it. While the payment is authorised."""

    customer: Customer | None = None
    """Payer or beneficiary."""

    reversal: Reversal | None = None
    """The part of a successful payout that the bank has returned. Its status stays `success`."""

    purpose: PayoutPurpose | None = None
    """What the payout is for. Present if you said so."""

    narration: str | None = None
    """Your free text. Present if you sent any."""

    metadata: dict[str, str] | None = None
    """Your own keys and values, as you sent them. Present if you sent any."""

    completed_at: str | None = None
    """When `status` became `success` or `failed`. Once it is final."""

    warnings: list[Warning] | None = None
    """Sandbox only, in the answer to the POST that creates it: what is valid, but probably a mistake."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentDispute(Model):
    """A dispute of a payment, in short."""

    id: str
    """Our identifier of the dispute."""

    stage: DisputeStage
    """Its stage."""

    status: DisputeStatus
    """Its status."""

    amount: int
    """The disputed amount, minor units."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentLink(Model):
    """A payment link: what is paid for, how much, how often and until when."""

    id: str
    """Our identifier of the link: the `payment_link_id` of its payments."""

    reference: str
    """Your reference."""

    status: PaymentLinkStatus
    """Derived: the first that holds of `used_up`, `inactive`, `expired` and `active`."""

    url: str
    """The address that you share with payers."""

    slug: str
    """The end of the address."""

    title: str
    """What is paid for."""

    description: str | None = None
    """More about it."""

    amount: int | None = None
    """For one unit, minor units. Without `amount_range`."""

    amount_range: AmountRange | None = None
    """The payer chooses the amount."""

    currency: str
    """ISO 4217."""

    quantity_max: int
    """The payer chooses 1 to this many units."""

    payment_methods: list[PaymentMethod]
    """In the order of the page."""

    payment_method_id: str | None = None
    """The virtual account that you named."""

    transfer_window: int
    """Seconds that an account number accepts a payer's transfer."""

    collect: Collect
    """What payers are asked for."""

    customer: LinkCustomer | None = None
    """Who pays, if you named them."""

    custom_fields: list[CustomField] | None = None
    """Your questions, if any."""

    max_uses: int | None = None
    """How many payments may succeed. Without: no limit."""

    uses_paid: int
    """Payments that succeeded."""

    uses_held: int
    """Payments that are pending."""

    uses_left: int | None = None
    """Uses that are neither paid nor held. With `max_uses`."""

    amount_paid: int
    """Sum of the payments that succeeded, minor units. Refunds are not deducted."""

    expires_at: str | None = None
    """The last moment at which a payment can be begun."""

    redirect_url: str | None = None
    """Where the payer is sent after success."""

    success_message: str | None = None
    """On the receipt."""

    support_contact: str | None = None
    """On every page."""

    block_reason: str | None = None
    """Why the operator has blocked the link. It can't be activated until this is resolved."""

    created_at: str
    """When it was created."""

    updated_at: str
    """When it was changed, deactivated or activated last."""

    warnings: list[Warning] | None = None
    """Sandbox only, in the answer to the POST that creates it: what is valid, but probably a mistake."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentLinkList(Model):
    """A page of payment links, newest first."""

    data: list[PaymentLink]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PaymentList(Model):
    """A page of transactions, newest first."""

    data: list[Payment]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PayoutBatch(Model):
    """Payouts that are checked, approved and sent together."""

    id: str
    """Our identifier."""

    reference: str
    """Your reference."""

    title: str
    """What it pays for."""

    status: PayoutBatchStatus
    """`completed` and `cancelled` are final."""

    currency: str
    """ISO 4217."""

    counts: dict[str, int]
    """How many items are in each state. States without items are left out."""

    sums: dict[str, int]
    """The sum of the items in each state, minor units."""

    fees: int
    """What the payouts cost beside their amounts, if all of them are paid."""

    taxes: int | None = None
    """Taxes on these fees, and stamp duty. Present if above zero."""

    available: int
    """What your balance has for payouts now."""

    missing: int
    """What the balance lacks for the items that are not sent yet, with their fees and taxes."""

    run_at: str | None = None
    """When it is sent, if you said so."""

    waits_for: str | None = None
    """Why it is not sent at the moment."""

    retry_of: str | None = None
    """The batch whose failed items it repeats."""

    created_at: str
    """When it was created."""

    approved_at: str | None = None
    """When it was released."""

    completed_at: str | None = None
    """When each item was final."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PayoutBatchCustomer(Model):
    """Who is paid."""

    beneficiary: str | None = None
    """The reference of the saved beneficiary that you named."""

    name: str
    """The name that you gave."""

    account_number: str
    """The account number."""

    bank_code: str
    """The bank's `code`."""

    bank_name: str
    """The bank's name."""

    account_name: str | None = None
    """The holder's name as the bank said."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PayoutBatchItem(Model):
    """A payout of a batch."""

    reference: str
    """Your reference, which is the payout's."""

    amount: int
    """Minor units."""

    currency: str
    """ISO 4217."""

    status: Literal['checking', 'ok', 'name_differs', 'unverified', 'unknown_account', 'duplicate', 'over_limit', 'held', 'cancelled', 'pending', 'success', 'failed']
    """What the checks found; once it is sent, the payout's status."""

    customer: PayoutBatchCustomer
    """Who is paid."""

    narration: str | None = None
    """Free text."""

    purpose: PayoutPurpose | None = None
    """What the payout is for. Present if you said so."""

    metadata: dict[str, str] | None = None
    """Your own keys and values, as you sent them. Present if you sent any."""

    duplicate_of: str | None = None
    """The payout or item with the same account and amount."""

    problem: str | None = None
    """What is wrong."""

    accepted_reason: str | None = None
    """Why it is paid although the checks found something."""

    payout: Payment | None = None
    """The payout, once it is sent."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PayoutBatchItemList(Model):
    """A page of the payouts of a batch, in the order of the file."""

    data: list[PayoutBatchItem]
    """The items of this page."""

    next: str | None
    """URL of the next page, later ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PayoutBatchList(Model):
    """A page of payout batches, newest first."""

    data: list[PayoutBatch]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class PayoutLimit(Model):
    """The limit that a payout would be over. Amounts are minor units; of `number_per_day`, numbers of
    payouts."""

    name: Literal['per_payout', 'new_beneficiaries', 'per_beneficiary_and_day', 'per_day', 'number_per_day']
    """Its name."""

    amount: int
    """The limit."""

    used: int
    """Used by payouts that have not failed."""

    left: int
    """Left of it."""

    ends_at: str | None
    """When it is free again; null for `per_payout`."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Problem(Model):
    """RFC 9457 problem details."""

    type: str
    """URL of the page about this code."""

    title: str
    """What the code means."""

    status: int
    """The HTTP status."""

    detail: str
    """What to do about it. Never repeats a value that was sent."""

    code: str
    """Decide by this."""

    request_id: str
    """The response's `X-Request-Id`. Quote it to support."""

    errors: list[FieldError] | None = None
    """For invalid requests: every wrong field at once."""

    server_time: int | None = None
    """`timestamp_out_of_range`: our clock, in Unix seconds."""

    string_to_sign: str | None = None
    """`invalid_signature`, in the sandbox: the text that the server built and signed."""

    mistake: Mistake | None = None
    """`invalid_signature`, in the sandbox: the known mistake that leads to your signature, if there is
    one."""

    limit: PayoutLimit | None = None
    """`payout_limit_reached`: the limit that the payout would be over."""

    differs: list[str] | None = None
    """409 for a request that repeats another one with other fields: names of the top-level fields that
    differ from the first; a card is `source`. It is always among them once the card is no longer
    compared. References of the bank: left out."""

    success: bool | None = None
    """Errors of the simulation: always `false`."""

    message: str | None = None
    """Errors of the simulation: the same as `detail`."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Refund(Model):
    """A refund."""

    id: str
    """Our identifier of the refund."""

    reference: str
    """Your reference of the refund."""

    payment_reference: str
    """Your reference of the payment."""

    status: TransactionStatus
    """`success` and `failed` are final."""

    response_code: str
    """Outcome code, as of payments."""

    response_summary: str
    """The outcome in words."""

    amount: int
    """Minor units."""

    currency: str
    """ISO 4217."""

    created_at: str
    """When it was requested."""

    gateway_code: str | None = None
    """The acquirer's or bank's own response code."""

    reason: str | None = None
    """Your reason."""

    destination: RefundDestination | None = None
    """Where the money goes. Refunds of transfer payments, unless a provider returns them to their
    sender."""

    warnings: list[Warning] | None = None
    """Sandbox only, in the answer to the POST that creates it: what is valid, but probably a mistake."""

@dataclass(frozen=True, kw_only=True, slots=True)
class RefundDestination(Model):
    """The account that a transfer payment is refunded to."""

    name: str
    """Name of the account's holder."""

    account_number: str
    """10 digits."""

    bank_code: str
    """The bank's `code`."""

@dataclass(frozen=True, kw_only=True, slots=True)
class RefundList(Model):
    """A page of refunds, newest first."""

    data: list[Refund]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class RequestLogEntry(Model):
    """An API request in your log."""

    id: int
    """Its number in the log."""

    at: str
    """When it was answered."""

    method: str
    """The HTTP method."""

    target: str
    """Path and query, with card numbers masked."""

    status: int
    """The HTTP status of the response."""

    code: str | None
    """The error code of the response; null for a success."""

    milliseconds: int
    """How long it took."""

    key: str
    """The public id of the key pair."""

    request_id: str
    """The response's `X-Request-Id`."""

@dataclass(frozen=True, kw_only=True, slots=True)
class RequestLogEntryList(Model):
    """A page of requests, newest first."""

    data: list[RequestLogEntry]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Reversal(Model):
    """The part of a successful payout that the bank has returned. It was credited to your balance; the
    fee isn't returned."""

    amount: int
    """Sum of all returns, minor units."""

    at: str
    """When the last return was booked."""

    reason: str
    """The bank's reason for the last return."""

@dataclass(frozen=True, kw_only=True, slots=True)
class SavedBeneficiary(Model):
    """A bank account that you pay, and what its bank says about it."""

    id: str
    """Our identifier."""

    reference: str
    """Your reference: `customer.beneficiary` of payouts."""

    name: str
    """The name that you gave."""

    account_number: str
    """The account number. It never changes."""

    bank_code: str
    """The bank's `code`."""

    bank_name: str
    """The bank's name."""

    account_name: str
    """The holder's name as the bank said; empty if it didn't answer."""

    currency: str
    """ISO 4217."""

    status: BeneficiaryStatus
    """`name_differs`: the bank has another name. `unverified`: it didn't answer. `blocked`: payouts to
    the account are refused."""

    email: str | None = None
    """E-mail address."""

    note: str | None = None
    """Your note."""

    created_at: str
    """When it was saved."""

    last_paid_at: str | None = None
    """When a payout to the account succeeded last."""

@dataclass(frozen=True, kw_only=True, slots=True)
class SavedBeneficiaryList(Model):
    """A page of beneficiaries, newest first."""

    data: list[SavedBeneficiary]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Scenario(Model):
    """A sequence of calls with a known end."""

    name: str
    """Its name."""

    title: str
    """What happens."""

    flow: str
    """What it is about."""

    event: EventName | None
    """The last event that it causes; null if it causes none."""

    changes: dict[str, str]
    """Fields of the bodies that may be changed without changing the end, as `step.path`, and their JSON
    types."""

    steps: list[ScenarioStep]
    """The calls, in their order. In paths and bodies, `{{new}}` is a new reference and `{{step.path}}` a
    value of an earlier answer."""

    ends: ScenarioEnd
    """The outcome."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioEnd(Model):
    """The outcome, as the answer to `step` shows it."""

    step: str
    """Name of a step."""

    status: TransactionStatus
    """Its `status`."""

    response_code: str
    """Its `response_code`."""

    response_summary: str
    """Its `response_summary`."""

    gateway_code: str | None = None
    """Its `gateway_code`."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioList(Model):
    """All scenarios, the most usual of each event first."""

    version: int
    """Version of this form. It changes when a client must change."""

    data: list[Scenario]
    """The scenarios."""

@dataclass(frozen=True, kw_only=True, slots=True)
class ScenarioStep(Model):
    """A signed call, or the payer's answer to a 3-D Secure page."""

    id: str
    """Name of the step. Later steps use it to refer to the answer."""

    method: Literal['GET', 'POST'] | None = None
    """Method of a signed call."""

    payer: Literal['approve', 'decline'] | None = None
    """Instead of `method`: the payer's answer. Post `body` as a form, without a signature and without
    following the redirect."""

    path: str
    """Path and query; the address of the page for a payer's answer."""

    body: dict[str, Any] | None = None
    """JSON body; the fields of the form for a payer's answer."""

    expect: ExpectedAnswer
    """What the answer has."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Sender(Model):
    """The sender of a transfer. Fields that the bank did not send are left out."""

    name: str | None = None
    """Name."""

    account_number: str | None = None
    """Account number, as the bank sent it."""

    bank_code: str | None = None
    """Bank code: `code` if GET /api/banks lists the bank."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Settlement(Model):
    """A settlement batch: the payments of a business day in one currency. `net` is `gross - fees - taxes
    - refunds - disputes - brought_forward + carried_forward`."""

    id: str
    """Our identifier of the batch."""

    number: int
    """Counts the batches of one day and currency, from 1."""

    currency: str
    """ISO 4217."""

    day: str
    """The business day, Africa/Lagos."""

    status: SettleStatus
    """`released` and `rejected` are final."""

    gross: int
    """Captured or received, minor units."""

    fees: int
    """Fees of its payments and disputes, less fees of disputes that were given back."""

    taxes: int | None = None
    """Taxes on the fees of its payments. Present if above zero."""

    refunds: int
    """Refunds that are netted in it."""

    disputes: int | None = None
    """Held or lost in disputes, less what was given back. Present if not zero."""

    net: int
    """Amount credited to your balance, of which `reserved` is held back."""

    count: int
    """Number of payments."""

    created_at: str
    """When it was created."""

    brought_forward: int | None = None
    """Not covered by earlier batches. Present if above zero."""

    carried_forward: int | None = None
    """Not covered by this batch. Present if above zero."""

    reserved: int | None = None
    """Held back of the net at the release, and returned later. Present if above zero."""

    payout_reference: str | None = None
    """The payout that paid it to your settlement account. Absent until then, and after a payout that
    failed or was returned."""

    released_at: str | None = None
    """When its net was credited to your balance."""

@dataclass(frozen=True, kw_only=True, slots=True)
class SettlementItem(Model):
    """A line of a settlement batch. Amounts are minor units; `net` is `amount - fee - fee_tax`."""

    kind: Literal['payment', 'refund', 'dispute', 'brought_forward', 'carried_forward']
    """A payment, a refund, a dispute, or an amount carried from one batch to another."""

    reference: str
    """Your reference of the payment or refund; the case number of a dispute; else empty."""

    amount: int
    """Below zero for refunds, for money that a dispute holds, and for amounts brought forward."""

    fee: int
    """Fee of the payment or dispute, below zero where it is given back; 0 for every other kind."""

    fee_tax: int | None = None
    """Tax on the fee of the payment. Present if above zero."""

    net: int
    """What the line adds to the batch's net."""

@dataclass(frozen=True, kw_only=True, slots=True)
class SettlementItemList(Model):
    """A page of items, in the order of the statement."""

    data: list[SettlementItem]
    """The items of this page."""

    next: str | None
    """URL of the next page, later ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class SettlementList(Model):
    """A page of settlement batches, newest first."""

    data: list[Settlement]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class SettlementWithItems(Model):
    """A settlement batch with a page of its items."""

    id: str
    """Our identifier of the batch."""

    number: int
    """Counts the batches of one day and currency, from 1."""

    currency: str
    """ISO 4217."""

    day: str
    """The business day, Africa/Lagos."""

    status: SettleStatus
    """`released` and `rejected` are final."""

    gross: int
    """Captured or received, minor units."""

    fees: int
    """Fees of its payments and disputes, less fees of disputes that were given back."""

    taxes: int | None = None
    """Taxes on the fees of its payments. Present if above zero."""

    refunds: int
    """Refunds that are netted in it."""

    disputes: int | None = None
    """Held or lost in disputes, less what was given back. Present if not zero."""

    net: int
    """Amount credited to your balance, of which `reserved` is held back."""

    count: int
    """Number of payments."""

    created_at: str
    """When it was created."""

    brought_forward: int | None = None
    """Not covered by earlier batches. Present if above zero."""

    carried_forward: int | None = None
    """Not covered by this batch. Present if above zero."""

    reserved: int | None = None
    """Held back of the net at the release, and returned later. Present if above zero."""

    payout_reference: str | None = None
    """The payout that paid it to your settlement account. Absent until then, and after a payout that
    failed or was returned."""

    released_at: str | None = None
    """When its net was credited to your balance."""

    items: SettlementItemList
    """Its items, oldest first."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Simulated(Model):
    """A simulated transfer arrived."""

    success: bool
    """Always `true`."""

    message: str
    """What happened to the transfer."""

@dataclass(frozen=True, kw_only=True, slots=True)
class TransferDetails(Model):
    """Where a payment is transferred to, and what arrived."""

    account_number: str
    """The account number for the payer's transfer."""

    bank: str
    """The bank that hosts it."""

    account_name: str
    """Name on the account."""

    expected_amount: str
    """Minor units, as text."""

    amount_received: str
    """Empty until the transfer arrives."""

    expires_at: str
    """When the session expires."""

    status: Literal['pending', 'success', 'mismatch', 'expired', 'failed']
    """All but `pending` are final."""

@dataclass(frozen=True, kw_only=True, slots=True)
class UnappliedTransfer(Model):
    """A transfer that matches no payment. It stays open until it is credited to your balance or
    returned."""

    id: str
    """Our identifier of the unapplied transfer."""

    account_number: str
    """The account number that received it."""

    amount: int
    """Minor units."""

    currency: str
    """ISO 4217."""

    received_at: str
    """When it arrived."""

    sender: Sender
    """The sender, if the bank named it."""

    why: Literal['mismatch', 'late', 'second', 'inactive', 'other_currency', 'assigned']
    """Why it matches no payment: another amount than expected, after the payment's end, a second
    transfer, an inactive account, another currency, or a number of no account that we assigned to
    yours later."""

    state: UnappliedTransferState
    """`credited` is final. `returned` once its payout is ordered, also while that awaits approval (see
    `return_reference`); `open` again if the payout is rejected, refused by the bank or sent back."""

    payment_reference: str | None = None
    """Your reference of the payment that it was meant for, if there is one."""

    reason: str | None = None
    """Why it was credited or returned; of an open one, why the bank refused its return or sent it back."""

    decided_at: str | None = None
    """When it was credited or returned."""

    return_reference: str | None = None
    """The reference of the payout that returns it, or which came back."""

@dataclass(frozen=True, kw_only=True, slots=True)
class UnappliedTransferList(Model):
    """A page of unapplied transfers, newest first."""

    data: list[UnappliedTransfer]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class UrlTaken(Model):
    """Another endpoint has the URL."""

    type: str
    """URL of the page about this code."""

    title: str
    """What the code means."""

    status: int
    """The HTTP status."""

    detail: str
    """What to do about it. Never repeats a value that was sent."""

    request_id: str
    """The response's `X-Request-Id`. Quote it to support."""

    server_time: int | None = None
    """`timestamp_out_of_range`: our clock, in Unix seconds."""

    string_to_sign: str | None = None
    """`invalid_signature`, in the sandbox: the text that the server built and signed."""

    differs: list[str] | None = None
    """409 for a request that repeats another one with other fields: names of the top-level fields that
    differ from the first; a card is `source`. It is always among them once the card is no longer
    compared. References of the bank: left out."""

    success: bool | None = None
    """Errors of the simulation: always `false`."""

    message: str | None = None
    """Errors of the simulation: the same as `detail`."""

    code: Literal['url_taken']
    """Always `url_taken`."""

    existing: ExistingEndpoint
    """The webhook endpoint that has the URL."""

@dataclass(frozen=True, kw_only=True, slots=True)
class VirtualAccount(Model):
    """An account that receives money."""

    id: str
    """Our identifier: the `payment_method_id` of payments."""

    currency: str
    """ISO 4217."""

    status: VirtualAccountStatus
    """An inactive account accepts nothing. A new static one is inactive, without a number, while its
    bank opens it."""

    reference: str
    """Your reference."""

    customer: AccountHolder
    """The account's holder."""

    metadata: dict[str, str] | None = None
    """Your own keys and values, as you sent them. Present if you sent any."""

@dataclass(frozen=True, kw_only=True, slots=True)
class VirtualAccountList(Model):
    """A page of virtual accounts, newest first."""

    data: list[VirtualAccount]
    """The items of this page."""

    next: str | None
    """URL of the next page, older ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class Warning(Model):
    """Something that is valid, but probably a mistake."""

    code: str
    """What looks like a mistake."""

    message: str
    """What was read, and what to send if something else was meant."""

@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookEndpoint(Model):
    """A URL that receives your events."""

    id: str
    """Our identifier."""

    url: str
    """Where events are sent."""

    subscribed_events: list[EventSubscription]
    """Categories, and names of single events. An event is sent once, even if several match."""

    enabled: bool
    """While `false`, events are held for up to 7 days."""

    description: str
    """Your words for it; may be empty."""

    standard_webhooks: bool
    """Whether requests carry the headers of Standard Webhooks beside ours."""

    api_version: Literal['2026-11-01']
    """The version of the events' shape."""

    created_at: str
    """When it was created."""

@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookEndpointList(Model):
    """A page of endpoints, oldest first."""

    data: list[WebhookEndpoint]
    """The items of this page."""

    next: str | None
    """URL of the next page, newer ones; null on the last page."""

    previous: str | None
    """URL of the previous page; null on the first page."""

@dataclass(frozen=True, kw_only=True, slots=True)
class WebhookEndpointWithKey(Model):
    """A webhook endpoint with its new signing key, which is never shown again."""

    id: str
    """Our identifier."""

    url: str
    """Where events are sent."""

    subscribed_events: list[EventSubscription]
    """Categories, and names of single events. An event is sent once, even if several match."""

    enabled: bool
    """While `false`, events are held for up to 7 days."""

    description: str
    """Your words for it; may be empty."""

    standard_webhooks: bool
    """Whether requests carry the headers of Standard Webhooks beside ours."""

    api_version: Literal['2026-11-01']
    """The version of the events' shape."""

    created_at: str
    """When it was created."""

    hash_key: str
    """The key with which your receiver verifies requests."""

AcceptRequest = TypedDict(
    "AcceptRequest",
    {
        "amount": "int",
    },
    total=False,
)

AddressRequest = TypedDict(
    "AddressRequest",
    {
        "address_line1": "Required[str]",
        "city": "Required[str]",
        "state": "Required[str]",
        "postal_code": "Required[str]",
        "country": "Required[str]",
        "address_line2": "str",
    },
    total=False,
)

AdvanceDayRequest = TypedDict(
    "AdvanceDayRequest",
    {
        "day": "Required[Literal[\"pending\", \"approved\", \"released\", \"rejected\"]]",
        "settlement_account": "FirstSettlementAccountRequest",
    },
    total=False,
)

AdvanceEventRequest = TypedDict(
    "AdvanceEventRequest",
    {
        "event": "Required[str]",
    },
    total=False,
)

AdvancePaymentRequest = TypedDict(
    "AdvancePaymentRequest",
    {
        "payment": "Required[str]",
        "until": "Literal[\"watch\"]",
    },
    total=False,
)

AdvancePayoutBatchRequest = TypedDict(
    "AdvancePayoutBatchRequest",
    {
        "payout_batch": "Required[str]",
        "until": "Literal[\"rejected\"]",
    },
    total=False,
)

AdvanceReserveRequest = TypedDict(
    "AdvanceReserveRequest",
    {
        "reserve": "Required[str]",
    },
    total=False,
)

AmountRangeRequest = TypedDict(
    "AmountRangeRequest",
    {
        "min": "Required[int]",
        "max": "Required[int]",
        "suggested": "list[int]",
    },
    total=False,
)

ApproveRequest = TypedDict(
    "ApproveRequest",
    {
        "accept": "dict[str, str]",
        "as_far_as_balance": "bool",
    },
    total=False,
)

BeneficiaryChangeRequest = TypedDict(
    "BeneficiaryChangeRequest",
    {
        "name": "str",
        "email": "str | None",
        "note": "str | None",
    },
    total=False,
)

BeneficiaryRequest = TypedDict(
    "BeneficiaryRequest",
    {
        "name": "str",
        "account_number": "str",
        "bank_code": "str",
        "beneficiary": "str",
        "reference": "str",
        "email": "str",
    },
    total=False,
)

BillingAddressRequest = TypedDict(
    "BillingAddressRequest",
    {
        "address_line1": "str",
        "address_line2": "str",
        "city": "str",
        "state": "str",
        "postal_code": "str",
        "country": "str",
    },
    total=False,
)

BusinessAccountRequest = TypedDict(
    "BusinessAccountRequest",
    {
        "type": "Required[Literal[\"static\"]]",
        "account_type": "Required[Literal[\"business\"]]",
        "reference": "Required[str]",
        "email": "Required[str]",
        "currency": "Required[str]",
        "address": "Required[AddressRequest]",
        "business_name": "Required[str]",
        "phone_number": "Required[str]",
        "bvn": "Required[str]",
        "metadata": "dict[str, str]",
        "first_name": "str",
        "middle_name": "str",
        "last_name": "str",
        "dob": "str",
        "gender": "str",
    },
    total=False,
)

CancelRequest = TypedDict(
    "CancelRequest",
    {
    },
    total=False,
)

CaptureRequest = TypedDict(
    "CaptureRequest",
    {
        "amount": "int",
    },
    total=False,
)

CardCheckRequest = TypedDict(
    "CardCheckRequest",
    {
        "request_type": "Required[Literal[\"card_check\"]]",
        "currency": "Required[str]",
        "source": "Required[CheckedSourceRequest | Card]",
        "reference": "str",
        "amount": "int",
        "redirect_url": "str",
        "metadata": "dict[str, str]",
    },
    total=False,
)

CardPaymentRequest = TypedDict(
    "CardPaymentRequest",
    {
        "request_type": "Required[Literal[\"payment\"]]",
        "payment_method": "Required[Literal[\"card\"]]",
        "reference": "Required[str]",
        "amount": "Required[int]",
        "currency": "Required[str]",
        "source": "Required[SourceRequest | Card]",
        "redirect_url": "Required[str]",
        "narration": "str",
        "payment_ip": "str",
        "authorization_type": "Literal[\"regular\"]",
        "metadata": "dict[str, str]",
        "customer": "PayerRequest",
        "capture": "bool",
        "3ds": "ThreeDSecureRequest",
    },
    total=False,
)

CheckedSourceRequest = TypedDict(
    "CheckedSourceRequest",
    {
        "type": "Required[str]",
        "pan": "Required[str]",
        "name": "Required[str]",
        "expiry_month": "Required[str]",
        "expiry_year": "Required[str]",
        "cvv": "Required[str]",
    },
    total=False,
)

CollectRequest = TypedDict(
    "CollectRequest",
    {
        "name": "Asked",
        "email": "Asked",
        "phone": "Asked",
    },
    total=False,
)

CreditUnappliedRequest = TypedDict(
    "CreditUnappliedRequest",
    {
        "reason": "Required[str]",
    },
    total=False,
)

DeactivateRequest = TypedDict(
    "DeactivateRequest",
    {
    },
    total=False,
)

DestinationRequest = TypedDict(
    "DestinationRequest",
    {
        "name": "Required[str]",
        "account_number": "Required[str]",
        "bank_code": "Required[str]",
    },
    total=False,
)

DynamicAccountRequest = TypedDict(
    "DynamicAccountRequest",
    {
        "type": "Required[Literal[\"dynamic\"]]",
        "reference": "Required[str]",
        "email": "Required[str]",
        "currency": "Required[str]",
        "first_name": "Required[str]",
        "last_name": "Required[str]",
        "account_type": "Literal[\"individual\"]",
        "address": "AddressRequest",
        "metadata": "dict[str, str]",
        "middle_name": "str",
        "phone_number": "str",
        "dob": "str",
        "gender": "str",
        "bvn": "str",
    },
    total=False,
)

EndRequest = TypedDict(
    "EndRequest",
    {
    },
    total=False,
)

EvidenceRequest = TypedDict(
    "EvidenceRequest",
    {
        "kind": "Required[EvidenceKind]",
        "text": "Required[str]",
    },
    total=False,
)

ExamAnswersRequest = TypedDict(
    "ExamAnswersRequest",
    {
        "answers": "list[dict[str, Any]]",
        "acted": "ExamActed",
    },
    total=False,
)

ExamRequest = TypedDict(
    "ExamRequest",
    {
        "target": "Required[ExamTarget]",
        "listener": "str",
        "endpoint_id": "str",
    },
    total=False,
)

FirstSettlementAccountRequest = TypedDict(
    "FirstSettlementAccountRequest",
    {
        "account_number": "Required[str]",
        "bank_code": "Required[str]",
    },
    total=False,
)

KeyRotationRequest = TypedDict(
    "KeyRotationRequest",
    {
        "overlap_hours": "float",
    },
    total=False,
)

LinkChangeRequest = TypedDict(
    "LinkChangeRequest",
    {
        "title": "str",
        "description": "str | None",
        "payment_methods": "list[PaymentMethod] | None",
        "payment_method_id": "str | None",
        "transfer_window": "int | None",
        "max_uses": "int | None",
        "expires_at": "str | None",
        "redirect_url": "str | None",
        "collect": "CollectRequest | None",
        "custom_fields": "list[dict[str, Any]] | None",
        "success_message": "str | None",
        "support_contact": "str | None",
    },
    total=False,
)

LinkCustomerRequest = TypedDict(
    "LinkCustomerRequest",
    {
        "reference": "Required[str]",
        "email": "Required[str]",
        "name": "str",
    },
    total=False,
)

LinkRequest = TypedDict(
    "LinkRequest",
    {
        "title": "Required[str]",
        "reference": "Required[str]",
        "currency": "Required[str]",
        "description": "str",
        "payment_methods": "list[PaymentMethod]",
        "payment_method_id": "str",
        "transfer_window": "int",
        "max_uses": "int",
        "expires_at": "str",
        "redirect_url": "str",
        "collect": "CollectRequest",
        "custom_fields": "list[dict[str, Any]]",
        "success_message": "str",
        "support_contact": "str",
        "amount": "int",
        "amount_range": "AmountRangeRequest",
        "quantity_max": "int",
        "customer": "LinkCustomerRequest",
        "slug": "str",
    },
    total=False,
)

ListenerRequest = TypedDict(
    "ListenerRequest",
    {
        "name": "Required[str]",
        "events": "list[EventName]",
    },
    total=False,
)

PayerRequest = TypedDict(
    "PayerRequest",
    {
        "reference": "str",
        "name": "str",
        "email": "str",
    },
    total=False,
)

PayoutBatchRequest = TypedDict(
    "PayoutBatchRequest",
    {
        "reference": "Required[str]",
        "title": "Required[str]",
        "payouts": "Required[list[dict[str, Any]]]",
        "run_at": "str",
    },
    total=False,
)

PayoutRequest = TypedDict(
    "PayoutRequest",
    {
        "request_type": "Required[Literal[\"payout\"]]",
        "reference": "Required[str]",
        "amount": "Required[int]",
        "currency": "Required[str]",
        "customer": "Required[BeneficiaryRequest]",
        "narration": "str",
        "payment_ip": "str",
        "authorization_type": "Literal[\"regular\"]",
        "metadata": "dict[str, str]",
        "purpose": "PayoutPurpose",
    },
    total=False,
)

PollRequest = TypedDict(
    "PollRequest",
    {
        "ack": "list[str]",
        "wait": "int",
    },
    total=False,
)

RefundRequest = TypedDict(
    "RefundRequest",
    {
        "reference": "Required[str]",
        "amount": "int",
        "reason": "str",
        "destination": "DestinationRequest",
    },
    total=False,
)

ResendRequest = TypedDict(
    "ResendRequest",
    {
        "to": "Literal[\"endpoint\", \"listeners\", \"both\"]",
    },
    total=False,
)

ResolveBeneficiaryRequest = TypedDict(
    "ResolveBeneficiaryRequest",
    {
        "account_number": "Required[str]",
        "bank_code": "Required[str]",
    },
    total=False,
)

ReturnUnappliedRequest = TypedDict(
    "ReturnUnappliedRequest",
    {
        "reason": "Required[str]",
        "destination": "DestinationRequest",
    },
    total=False,
)

SavedBeneficiaryRequest = TypedDict(
    "SavedBeneficiaryRequest",
    {
        "reference": "Required[str]",
        "name": "Required[str]",
        "account_number": "Required[str]",
        "bank_code": "Required[str]",
        "currency": "str",
        "email": "str",
        "note": "str",
    },
    total=False,
)

SimulateRequest = TypedDict(
    "SimulateRequest",
    {
        "account_number": "Required[str]",
        "amount": "Required[int]",
        "sender_name": "str",
        "sender_account_number": "str",
        "sender_bank_code": "str",
    },
    total=False,
)

SourceRequest = TypedDict(
    "SourceRequest",
    {
        "type": "Required[Literal[\"card\"]]",
        "pan": "Required[str]",
        "name": "Required[str]",
        "expiry_month": "Required[str]",
        "expiry_year": "Required[str]",
        "cvv": "Required[str]",
        "billing_address": "BillingAddressRequest",
    },
    total=False,
)

StaticAccountRequest = TypedDict(
    "StaticAccountRequest",
    {
        "type": "Required[Literal[\"static\"]]",
        "reference": "Required[str]",
        "email": "Required[str]",
        "currency": "Required[str]",
        "address": "Required[AddressRequest]",
        "first_name": "Required[str]",
        "middle_name": "Required[str]",
        "last_name": "Required[str]",
        "phone_number": "Required[str]",
        "dob": "Required[str]",
        "gender": "Required[Literal[\"male\", \"female\"]]",
        "bvn": "Required[str]",
        "account_type": "Literal[\"individual\"]",
        "metadata": "dict[str, str]",
    },
    total=False,
)

SubmitRequest = TypedDict(
    "SubmitRequest",
    {
        "leave_out": "list[Literal[\"payment\", \"three_d_secure\", \"receipt\", \"payment_link\", \"webhooks\", \"refunds\", \"other_payments\"]]",
    },
    total=False,
)

ThreeDSecureRequest = TypedDict(
    "ThreeDSecureRequest",
    {
        "enabled": "bool",
        "challenge_preference": "Literal[\"challenge_mandated\", \"challenge_preferred\", \"no_preference\", \"no_challenge\"]",
    },
    total=False,
)

VirtualAccountPaymentRequest = TypedDict(
    "VirtualAccountPaymentRequest",
    {
        "request_type": "Required[Literal[\"payment\"]]",
        "payment_method": "Required[Literal[\"virtual_account\"]]",
        "reference": "Required[str]",
        "amount": "Required[int]",
        "currency": "Required[str]",
        "payment_method_id": "Required[str]",
        "expiry_duration": "Required[int]",
        "narration": "str",
        "payment_ip": "str",
        "authorization_type": "Literal[\"regular\"]",
        "metadata": "dict[str, str]",
        "customer": "PayerRequest",
    },
    total=False,
)

VoidRequest = TypedDict(
    "VoidRequest",
    {
    },
    total=False,
)

WebhookEndpointChangeRequest = TypedDict(
    "WebhookEndpointChangeRequest",
    {
        "url": "str",
        "subscribed_events": "list[EventSubscription]",
        "enabled": "bool",
        "description": "str | None",
        "standard_webhooks": "bool",
        "api_version": "Literal[\"2026-11-01\"]",
    },
    total=False,
)

WebhookEndpointRequest = TypedDict(
    "WebhookEndpointRequest",
    {
        "url": "Required[str]",
        "subscribed_events": "list[EventSubscription]",
        "enabled": "bool",
        "description": "str",
        "standard_webhooks": "bool",
        "api_version": "Literal[\"2026-11-01\"]",
    },
    total=False,
)

CardPaymentArguments = TypedDict(
    "CardPaymentArguments",
    {
        "reference": "Required[str]",
        "amount": "Required[int]",
        "currency": "Required[str]",
        "source": "Required[SourceRequest | Card]",
        "redirect_url": "Required[str]",
        "narration": "str",
        "payment_ip": "str",
        "authorization_type": "Literal[\"regular\"]",
        "metadata": "dict[str, str]",
        "customer": "PayerRequest",
        "capture": "bool",
        "three_ds": "ThreeDSecureRequest",
    },
    total=False,
)

VirtualAccountPaymentArguments = TypedDict(
    "VirtualAccountPaymentArguments",
    {
        "reference": "Required[str]",
        "amount": "Required[int]",
        "currency": "Required[str]",
        "payment_method_id": "Required[str]",
        "expiry_duration": "Required[int]",
        "narration": "str",
        "payment_ip": "str",
        "authorization_type": "Literal[\"regular\"]",
        "metadata": "dict[str, str]",
        "customer": "PayerRequest",
    },
    total=False,
)

PayoutArguments = TypedDict(
    "PayoutArguments",
    {
        "reference": "Required[str]",
        "amount": "Required[int]",
        "currency": "Required[str]",
        "customer": "Required[BeneficiaryRequest]",
        "narration": "str",
        "payment_ip": "str",
        "authorization_type": "Literal[\"regular\"]",
        "metadata": "dict[str, str]",
        "purpose": "PayoutPurpose",
    },
    total=False,
)

CardCheckArguments = TypedDict(
    "CardCheckArguments",
    {
        "currency": "Required[str]",
        "source": "Required[CheckedSourceRequest | Card]",
        "amount": "int",
        "redirect_url": "str",
        "metadata": "dict[str, str]",
    },
    total=False,
)

StaticAccountArguments = TypedDict(
    "StaticAccountArguments",
    {
        "reference": "Required[str]",
        "email": "Required[str]",
        "currency": "Required[str]",
        "address": "Required[AddressRequest]",
        "first_name": "Required[str]",
        "middle_name": "Required[str]",
        "last_name": "Required[str]",
        "phone_number": "Required[str]",
        "dob": "Required[str]",
        "gender": "Required[Literal[\"male\", \"female\"]]",
        "bvn": "Required[str]",
        "metadata": "dict[str, str]",
    },
    total=False,
)

BusinessAccountArguments = TypedDict(
    "BusinessAccountArguments",
    {
        "reference": "Required[str]",
        "email": "Required[str]",
        "currency": "Required[str]",
        "address": "Required[AddressRequest]",
        "business_name": "Required[str]",
        "phone_number": "Required[str]",
        "bvn": "Required[str]",
        "metadata": "dict[str, str]",
    },
    total=False,
)

DynamicAccountArguments = TypedDict(
    "DynamicAccountArguments",
    {
        "reference": "Required[str]",
        "email": "Required[str]",
        "currency": "Required[str]",
        "first_name": "Required[str]",
        "last_name": "Required[str]",
        "address": "AddressRequest",
        "metadata": "dict[str, str]",
    },
    total=False,
)

LinkArguments = TypedDict(
    "LinkArguments",
    {
        "title": "Required[str]",
        "reference": "Required[str]",
        "currency": "Required[str]",
        "description": "str",
        "payment_methods": "list[PaymentMethod]",
        "payment_method_id": "str",
        "transfer_window": "int",
        "max_uses": "int",
        "expires_at": "str",
        "redirect_url": "str",
        "collect": "CollectRequest",
        "custom_fields": "list[dict[str, Any]]",
        "success_message": "str",
        "support_contact": "str",
        "amount": "int",
        "amount_range": "AmountRangeRequest",
        "quantity_max": "int",
        "customer": "LinkCustomerRequest",
        "slug": "str",
    },
    total=False,
)

LinkChangeArguments = TypedDict(
    "LinkChangeArguments",
    {
        "title": "str",
        "description": "str | None",
        "payment_methods": "list[PaymentMethod] | None",
        "payment_method_id": "str | None",
        "transfer_window": "int | None",
        "max_uses": "int | None",
        "expires_at": "str | None",
        "redirect_url": "str | None",
        "collect": "CollectRequest | None",
        "custom_fields": "list[dict[str, Any]] | None",
        "success_message": "str | None",
        "support_contact": "str | None",
    },
    total=False,
)

PayoutBatchArguments = TypedDict(
    "PayoutBatchArguments",
    {
        "reference": "Required[str]",
        "title": "Required[str]",
        "payouts": "Required[list[dict[str, Any]]]",
        "run_at": "str",
    },
    total=False,
)

SavedBeneficiaryArguments = TypedDict(
    "SavedBeneficiaryArguments",
    {
        "reference": "Required[str]",
        "name": "Required[str]",
        "account_number": "Required[str]",
        "bank_code": "Required[str]",
        "currency": "str",
        "email": "str",
        "note": "str",
    },
    total=False,
)

BeneficiaryChangeArguments = TypedDict(
    "BeneficiaryChangeArguments",
    {
        "name": "str",
        "email": "str | None",
        "note": "str | None",
    },
    total=False,
)

WebhookEndpointArguments = TypedDict(
    "WebhookEndpointArguments",
    {
        "url": "Required[str]",
        "subscribed_events": "list[EventSubscription]",
        "enabled": "bool",
        "description": "str",
        "standard_webhooks": "bool",
        "api_version": "Literal[\"2026-11-01\"]",
    },
    total=False,
)

WebhookEndpointChangeArguments = TypedDict(
    "WebhookEndpointChangeArguments",
    {
        "url": "str",
        "subscribed_events": "list[EventSubscription]",
        "enabled": "bool",
        "description": "str | None",
        "standard_webhooks": "bool",
        "api_version": "Literal[\"2026-11-01\"]",
    },
    total=False,
)

SimulateArguments = TypedDict(
    "SimulateArguments",
    {
        "account_number": "Required[str]",
        "amount": "Required[int]",
        "sender_name": "str",
        "sender_account_number": "str",
        "sender_bank_code": "str",
    },
    total=False,
)

ListMovementsQuery = TypedDict(
    "ListMovementsQuery",
    {
        "currency": "str | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListBeneficiariesQuery = TypedDict(
    "ListBeneficiariesQuery",
    {
        "account_number": "str | None",
        "bank_code": "str | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListDisputesQuery = TypedDict(
    "ListDisputesQuery",
    {
        "status": "DisputeStatus | None",
        "stage": "DisputeStage | None",
        "due_before": "str | None",
        "payment": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListEventsQuery = TypedDict(
    "ListEventsQuery",
    {
        "state": "EventState | None",
        "event": "EventName | None",
        "reference": "str | None",
        "endpoint_id": "str | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListPaymentLinksQuery = TypedDict(
    "ListPaymentLinksQuery",
    {
        "status": "PaymentLinkStatus | None",
        "currency": "str | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "id": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListCheckoutsQuery = TypedDict(
    "ListCheckoutsQuery",
    {
        "created_from": "str | None",
        "created_to": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListPaymentsQuery = TypedDict(
    "ListPaymentsQuery",
    {
        "status": "TransactionStatus | None",
        "request_type": "RequestType | None",
        "payment_method": "PaymentMethod | None",
        "settle_status": "SettleStatus | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "id": "str | None",
        "payment_link_id": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListRefundsQuery = TypedDict(
    "ListRefundsQuery",
    {
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListPayoutBatchesQuery = TypedDict(
    "ListPayoutBatchesQuery",
    {
        "status": "PayoutBatchStatus | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListBatchPayoutsQuery = TypedDict(
    "ListBatchPayoutsQuery",
    {
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListRequestsQuery = TypedDict(
    "ListRequestsQuery",
    {
        "status_class": "Literal[\"2\", \"4\", \"5\"] | None",
        "since": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListSettlementsQuery = TypedDict(
    "ListSettlementsQuery",
    {
        "status": "SettleStatus | None",
        "currency": "str | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

GetSettlementQuery = TypedDict(
    "GetSettlementQuery",
    {
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListUnappliedTransfersQuery = TypedDict(
    "ListUnappliedTransfersQuery",
    {
        "state": "UnappliedTransferState | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListVirtualAccountsQuery = TypedDict(
    "ListVirtualAccountsQuery",
    {
        "status": "VirtualAccountStatus | None",
        "type": "Literal[\"static\", \"dynamic\"] | None",
        "created_from": "str | None",
        "created_to": "str | None",
        "id": "str | None",
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

ListWebhookEndpointsQuery = TypedDict(
    "ListWebhookEndpointsQuery",
    {
        "limit": "int | None",
        "cursor": "str | None",
    },
    total=False,
)

if TYPE_CHECKING:
    AdvanceRequest = AdvancePaymentRequest | AdvancePayoutBatchRequest | AdvanceEventRequest | AdvanceDayRequest | AdvanceReserveRequest

if TYPE_CHECKING:
    CreatePaymentRequest = CardPaymentRequest | VirtualAccountPaymentRequest | PayoutRequest | CardCheckRequest

if TYPE_CHECKING:
    CreateVirtualAccountRequest = StaticAccountRequest | BusinessAccountRequest | DynamicAccountRequest

Model.NESTED.update(
    {
        AdvancedPayment: {"source": CardShown, "virtual_account_details": TransferDetails, "disputes": PaymentDispute, "last_operation": LastOperation, "customer": Customer, "reversal": Reversal, "warnings": Warning},
        BalanceList: {"data": Balance},
        BankList: {"data": Bank},
        Capability: {"expiry_duration": ExpiryDurationRange},
        CapabilityList: {"data": Capability},
        Checkout: {"customer": CheckoutCustomer},
        CheckoutList: {"data": Checkout},
        ClosedDay: {"batches": Settlement, "balance": Balance},
        Dispute: {"evidence": DisputeEvidence},
        DisputeList: {"data": Dispute},
        DuplicateReference: {"existing": Existing},
        EventInDetail: {"subject": EventSubject, "attempts": EventAttempt},
        EventRecord: {"subject": EventSubject},
        EventRecordList: {"data": EventRecord},
        Exam: {"results": ExamResult, "requests": ExamDelivery},
        ListenerList: {"data": ListenerState},
        ListenerPoll: {"events": EventCopy},
        MovementList: {"data": Movement},
        Payment: {"source": CardShown, "virtual_account_details": TransferDetails, "disputes": PaymentDispute, "last_operation": LastOperation, "customer": Customer, "reversal": Reversal, "warnings": Warning},
        PaymentLink: {"amount_range": AmountRange, "collect": Collect, "customer": LinkCustomer, "custom_fields": CustomField, "warnings": Warning},
        PaymentLinkList: {"data": PaymentLink},
        PaymentList: {"data": Payment},
        PayoutBatchItem: {"customer": PayoutBatchCustomer, "payout": Payment},
        PayoutBatchItemList: {"data": PayoutBatchItem},
        PayoutBatchList: {"data": PayoutBatch},
        Problem: {"errors": FieldError, "mistake": Mistake, "limit": PayoutLimit},
        Refund: {"destination": RefundDestination, "warnings": Warning},
        RefundList: {"data": Refund},
        RequestLogEntryList: {"data": RequestLogEntry},
        SavedBeneficiaryList: {"data": SavedBeneficiary},
        Scenario: {"steps": ScenarioStep, "ends": ScenarioEnd},
        ScenarioList: {"data": Scenario},
        ScenarioStep: {"expect": ExpectedAnswer},
        SettlementItemList: {"data": SettlementItem},
        SettlementList: {"data": Settlement},
        SettlementWithItems: {"items": SettlementItemList},
        UnappliedTransfer: {"sender": Sender},
        UnappliedTransferList: {"data": UnappliedTransfer},
        UrlTaken: {"existing": ExistingEndpoint},
        VirtualAccount: {"customer": AccountHolder},
        VirtualAccountList: {"data": VirtualAccount},
        WebhookEndpointList: {"data": WebhookEndpoint},
    }
)
