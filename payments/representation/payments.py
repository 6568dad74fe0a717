"""Payments, refunds, settlements and unapplied transfers in API responses and webhooks, declared field by field.

Fields that don't apply to the flow or have no value yet are omitted.
"""

from collections.abc import Callable
from operator import attrgetter
from typing import Any

from django.conf import settings

from kit.api.amount_warnings import WARNINGS_FIELD
from kit.api.fields.answer_fields import (
    BALANCE,
    COUNT,
    CURRENCY,
    CURRENCY_FIELD,
    DATE,
    EMPTY,
    METADATA_FIELD,
    MINOR_UNITS,
    MOMENT,
    NONE,
    POSITION,
    REFERENCE,
    TEXT,
    URL,
    UUID,
    Answer,
    Field,
    ListOf,
    always,
    one_of,
    open_list,
    page_of,
    text,
    up_to,
)
from ledger.models import Posting
from payments.models import CardOperation, PayoutReturn, SettlementBatch, Transaction
from payments.rails import acquirer_reverses
from payments.rails.protocol import Reverses
from payments.rules import outcomes
from payments.rules.cards import BRAND_NAMES
from payments.rules.words.dispute_words import Stage
from payments.rules.words.dispute_words import Status as DisputeStatus
from virtual_accounts.models import Transfer, UnappliedMoney
from virtual_accounts.representation import ACCOUNT_NUMBER, SENDER, TRANSFER_DETAILS

RETURNED_BY_BANK = "Returned by the bank"  # if the bank gives no reason

Status, Awaiting = Transaction.Status, Transaction.Awaiting

# Kinds of payments, whose answers have different fields.
CARD, TRANSFER, PAYOUT, CARD_CHECK = "card", "virtual_account", "payout", "card_check"
PAYMENTS, CARDS = (CARD, TRANSFER), (CARD, CARD_CHECK)


def kind_of(transaction: Transaction) -> str:
    if transaction.request_type != Transaction.RequestType.PAYMENT:
        return transaction.request_type
    return CARD if transaction.session is None else TRANSFER


def _gateway_code(transaction: Transaction) -> str | None:
    """Return the gateway's code. A failed payment hides the approval of its voided or expired authorisation."""
    code = transaction.full_gateway_code
    is_hidden = transaction.status == Status.FAILED and code == outcomes.COMPLETED.gateway_code
    return None if is_hidden else code


def _authorization_code(transaction: Transaction) -> str | None:
    return None if transaction.status == Status.FAILED else transaction.authorization_code


def _retrieval_reference_number(transaction: Transaction) -> str | None:
    """Return the RRN. It is assigned at creation, but shown only once the acquirer has received it."""
    return transaction.retrieval_reference_number if transaction.acquirer_transaction_id else None


def _system_trace_audit_number(transaction: Transaction) -> str | None:
    return transaction.system_trace_audit_number if transaction.acquirer_transaction_id else None


def _amount_authorized(transaction: Transaction) -> int | None:
    """Return the authorised amount of a payment with a later capture that hasn't failed."""
    if transaction.captures_at_once:
        return None
    is_authorised = transaction.awaiting == Awaiting.CAPTURE or transaction.status == Status.SUCCESS
    return transaction.amount if is_authorised else None


def _redirect_link(transaction: Transaction) -> str | None:
    if transaction.awaiting != Awaiting.PAYER:
        return None
    return challenge_address(transaction.challenge.token)


def _awaiting_approval(payout: Transaction) -> bool | None:
    return True if payout.awaiting == Awaiting.APPROVAL else None


def _refused_operation(transaction: Transaction) -> CardOperation | None:
    """Return the last capture or void of an authorised payment, if it was declined.

    An acquirer that decides at once declines with an error instead (`OperationRefused`).
    """
    if (
        transaction.awaiting != Awaiting.CAPTURE
        or acquirer_reverses(transaction.connector) == Reverses.DEFINITE
    ):
        return None
    return transaction.refused_operation


def _link_reference(payment: Transaction) -> str | None:
    link = payment.payment_link if payment.payment_link_id else None
    return None if link is None else link.reference


def _customer(transaction: Transaction) -> Transaction | None:
    is_named = (
        transaction.customer_reference or transaction.customer_name or transaction.request_type == PAYOUT
    )
    return transaction if is_named else None


def _customer_name(transaction: Transaction) -> str | None:
    return transaction.customer_name or ("" if transaction.request_type == PAYOUT else None)


def _returned(payout: Transaction) -> Transaction | None:
    return payout if payout.amount_returned else None


def _last_return(payout: Transaction) -> PayoutReturn:
    returns = [each for each in payout.returns.all() if each.applied == PayoutReturn.Applied.REVERSED]
    return max(returns, key=attrgetter("pk"))


def _with_card(transaction: Transaction) -> Transaction | None:
    return transaction if transaction.card_last4 else None


def _disputes(payment: Transaction) -> list[Any] | None:
    """Return the disputes of a payment, oldest first, or None without any."""
    return sorted(payment.disputes.all(), key=attrgetter("pk")) if payment.disputes_count else None


RESPONSE_CODE = open_list(outcomes.response_codes())

CARD_SHOWN = Answer(
    "CardShown",
    "A card, as far as it may be shown.",
    Field("type", one_of(["card"]), "Always `card`.", value=lambda _: "card"),
    Field("card_type", open_list(BRAND_NAMES), "Brand, or UNKNOWN.", "VISA", "card_brand"),
    Field("card_bin", text("^[0-9]{6}$"), "First six digits.", "408408"),
    Field("card_last4", text("^[0-9]{4}$"), "Last four digits.", "4081"),
    Field("expiry_month", text("^[0-9]{2}$"), "Two digits.", "12", "card_expiry_month"),
    Field("expiry_year", text("^[0-9]{4}$"), "Four digits.", "2035", "card_expiry_year"),
)  # fmt: skip
CUSTOMER = Answer(
    "Customer",
    "Payer or beneficiary.",
    Field("name", TEXT, "Full name.", "Ada Obi", _customer_name, NONE),
    Field("account_number", ACCOUNT_NUMBER, "Payouts.", "0123456789", kinds=(PAYOUT,)),
    Field("bank_code", TEXT, "Payouts: the bank's `code`.", "058", kinds=(PAYOUT,)),
    Field("bank_name", TEXT, "Payouts.", "Guaranty Trust Bank", kinds=(PAYOUT,)),
    Field("merchant_reference", REFERENCE, "Your reference of the customer.", "customer-7", "customer_reference", EMPTY, (*PAYMENTS, PAYOUT)),
    kind_of=kind_of,
)  # fmt: skip
REVERSAL = Answer(
    "Reversal",
    "The part of a successful payout that the bank has returned. It was credited to your balance; the fee "
    "isn't returned.",
    Field("amount", MINOR_UNITS, "Sum of all returns, minor units.", 50_000, "amount_returned"),
    Field("at", MOMENT, "When the last return was booked.", "2026-01-31T09:00:00.000Z", lambda payout: _last_return(payout).at),
    Field("reason", TEXT, "The bank's reason for the last return.", "Account closed", lambda payout: _last_return(payout).reason or RETURNED_BY_BANK),
)  # fmt: skip
LAST_OPERATION = Answer(
    "LastOperation",
    "A capture or void that the acquirer declined. The authorisation is unchanged, and you can try again.",
    Field("kind", one_of(("capture", "void")), "What was declined.", "capture"),
    Field("status", one_of(("failed",)), "Always `failed`.", "failed"),
    Field("gateway_code", TEXT, "The acquirer's own response code; may be empty.", "05", "full_gateway_code"),
)  # fmt: skip
PAYMENT_DISPUTE = Answer(
    "PaymentDispute",
    "A dispute of a payment, in short.",
    Field("id", UUID, "Our identifier of the dispute.", "01980a5e-b370-7c00-8000-000000000007", "pk"),
    Field("stage", one_of(Stage.values), "Its stage.", "chargeback"),
    Field("status", one_of(DisputeStatus.values), "Its status.", "needs_response"),
    Field("amount", MINOR_UNITS, "The disputed amount, minor units.", 50_000),
)  # fmt: skip
PAYMENT = Answer(
    "Payment",
    "A payment, a payout or a card check. Fields that do not belong to its kind, or are not known yet, "
    "are left out.",
    Field("request_type", one_of(Transaction.RequestType.values), "The kind of transaction."),
    Field("id", UUID, "Our identifier of the transaction.", "01980a5e-7b00-7c00-8000-000000000001", "pk"),
    Field("reference", REFERENCE, "Your reference. Of a payment of a link: `pl_` and its own id.", "order-1042"),
    Field("payment_link_id", UUID, "The payment link that it was made at. Payments of links.", "01980a5e-a3e0-7c00-8000-000000000006", omit=NONE, kinds=PAYMENTS),
    Field("payment_link_reference", REFERENCE, "Your reference of that link.", "workshop-may", _link_reference, NONE, PAYMENTS),
    Field("status", one_of(Status.values), "`success` and `failed` are final."),
    Field("response_code", RESPONSE_CODE, f"Outcome code: {outcomes.response_code_list()}.", "10000"),
    Field("response_summary", TEXT, "The outcome in words.", "Payment completed"),
    Field("gateway_code", TEXT, "The acquirer's or bank's own response code.", "00", _gateway_code, EMPTY),
    Field("gateway_recommendation", open_list(["retry", "do_not_retry"]), "After a decline, whether a retry can succeed: `retry` or `do_not_retry`.", omit=EMPTY),
    Field("acquirer_transaction_id", TEXT, "The acquirer's identifier.", "102828035606231591055", omit=EMPTY),
    Field("authorization_code", TEXT, "The issuer's authorisation code. Cards.", "591055", _authorization_code, EMPTY, CARDS),
    Field("retrieval_reference_number", text("^[0-9]{12}$"), "RRN. Cards.", "632422000001", _retrieval_reference_number, EMPTY, CARDS),
    Field("system_trace_audit_number", text("^[0-9]{6}$"), "STAN. Cards.", "000001", _system_trace_audit_number, EMPTY, CARDS),
    Field("amount", MINOR_UNITS, "Minor units; 0 for a card check.", 50_000),
    Field(
        "amount_authorized",
        MINOR_UNITS,
        "Amount authorised by the issuer, minor units. Card payments with `capture: false`.",
        50_000,
        _amount_authorized,
        NONE,
        (CARD,),
    ),
    CURRENCY_FIELD,
    Field("awaiting_approval", always(True), "`true` while a payout waits for approval by other members of your business.", True, _awaiting_approval, NONE, (PAYOUT,)),
    Field("payment_timestamp", MOMENT, "When it was created.", "2026-01-31T08:00:00.000Z", "created_at"),
    Field("payment_method", one_of(PAYMENTS), "How the payer pays. Payments.", value="method", kinds=PAYMENTS),
    Field("fee", MINOR_UNITS, "Processing fee, minor units. Payments and payouts.", 750, kinds=(*PAYMENTS, PAYOUT)),
    Field("fee_tax", MINOR_UNITS, "Tax on the fee, charged in addition to it. Payments and payouts. Present if above zero.", omit=EMPTY, kinds=(*PAYMENTS, PAYOUT)),
    Field("stamp_duty", MINOR_UNITS, "Stamp duty on the amount, charged in addition to the fee. Payouts. Present if above zero.", omit=EMPTY, kinds=(PAYOUT,)),
    Field("refund_status", one_of(Transaction.RefundStatus.values), "Payments.", kinds=PAYMENTS),
    Field(
        "settle_status",
        one_of(Transaction.SettleStatus.values),
        "Progress of the settlement to your balance. Once it is in a batch.",
        omit=EMPTY,
        kinds=PAYMENTS,
    ),
    Field("merchant_descriptor", TEXT, "Text on the cardholder's statement. Cards.", "Ada Books", omit=EMPTY, kinds=(CARD,)),
    Field("source", CARD_SHOWN, "The card. Card payments and card checks. Entered on the provider's page: once it is paid.", CARD_SHOWN.example(), _with_card, NONE, kinds=CARDS),
    Field("virtual_account_details", TRANSFER_DETAILS, "The account that the payer transfers to. Virtual accounts.", value="session", kinds=(TRANSFER,)),
    Field("total_amount_captured", MINOR_UNITS, "Captured so far. Card payments.", 50_000, "amount_captured", kinds=(CARD,)),
    Field("total_amount_available_to_refund", MINOR_UNITS, "Amount that can still be refunded. Payments.", 50_000, "amount_refundable", kinds=PAYMENTS),
    Field("total_amount_refunded", MINOR_UNITS, "Refunded so far. Payments.", 0, "amount_refunded", kinds=PAYMENTS),
    Field(
        "amount_disputed",
        MINOR_UNITS,
        "Held for open disputes or lost in ended ones; it can't be refunded. Present if above zero.",
        omit=EMPTY,
        kinds=(CARD,),
    ),
    Field("disputes", ListOf(PAYMENT_DISPUTE), "Its disputes, oldest first. Present if there are any.", value=_disputes, omit=NONE, kinds=(CARD,)),
    Field(
        "redirect_link",
        URL,
        "Send the payer here for 3-D Secure. While the challenge is open.",
        "https://pay.example/3ds/5d2Vk_V7IXLl_lke93joezePD3MxfuB8",
        _redirect_link,
        NONE,
        CARDS,
    ),
    Field(
        "last_operation",
        LAST_OPERATION,
        "The last capture or void, if the acquirer declined it. While the payment is authorised.",
        value=_refused_operation,
        omit=NONE,
        kinds=(CARD,),
    ),
    Field("customer", CUSTOMER, "Payer or beneficiary.", value=_customer, omit=NONE, kinds=(*PAYMENTS, PAYOUT)),
    Field(
        "reversal",
        REVERSAL,
        "The part of a successful payout that the bank has returned. Its status stays `success`.",
        value=_returned,
        omit=NONE,
        kinds=(PAYOUT,),
    ),
    Field("purpose", one_of(Transaction.Purpose.values), "What the payout is for. Present if you said so.", omit=EMPTY, kinds=(PAYOUT,)),
    Field("narration", up_to(255), "Your free text. Present if you sent any.", "Two books", omit=EMPTY),
    METADATA_FIELD,
    Field("completed_at", MOMENT, "When `status` became `success` or `failed`. Once it is final.", "2026-01-31T08:00:01.250Z", "finished_at", NONE),
    WARNINGS_FIELD,
    kind_of=kind_of,
)  # fmt: skip
PAYMENTS_PAGE = page_of(PAYMENT, "A page of transactions, newest first.")

REFUND_DESTINATION = Answer(
    "RefundDestination",
    "The account that a transfer payment is refunded to.",
    Field("name", TEXT, "Name of the account's holder.", "Bisi Ade", "destination_name"),
    Field("account_number", ACCOUNT_NUMBER, "10 digits.", "0123456789", "destination_account_number"),
    Field("bank_code", TEXT, "The bank's `code`.", "058", "destination_bank_code"),
)  # fmt: skip
REFUND = Answer(
    "Refund",
    "A refund.",
    Field("id", UUID, "Our identifier of the refund.", "01980a5e-9440-7c00-8000-000000000002", "pk"),
    Field("reference", REFERENCE, "Your reference of the refund.", "refund-9"),
    Field("payment_reference", REFERENCE, "Your reference of the payment.", "order-1042", "transaction.reference"),
    Field("status", one_of(CardOperation.Status.values), "`success` and `failed` are final."),
    Field("response_code", RESPONSE_CODE, "Outcome code, as of payments.", "10000"),
    Field("response_summary", TEXT, "The outcome in words.", "Payment completed"),
    Field("amount", MINOR_UNITS, "Minor units.", 20_000),
    Field("currency", CURRENCY, "ISO 4217.", "NGN", "transaction.currency"),
    Field("created_at", MOMENT, "When it was requested.", "2026-01-31T08:05:00.000Z"),
    Field("gateway_code", TEXT, "The acquirer's or bank's own response code.", "00", "full_gateway_code", EMPTY),
    Field("reason", TEXT, "Your reason.", "One book came back", omit=EMPTY),
    Field(
        "destination",
        REFUND_DESTINATION,
        "Where the money goes. Refunds of transfer payments, unless a provider returns them to their sender.",
        value=lambda refund: refund if refund.pays_named_account else None,
        omit=NONE,
    ),
    WARNINGS_FIELD,
)  # fmt: skip
REFUNDS_PAGE = page_of(REFUND, "A page of refunds, newest first.")

# Amounts are minor units.
SETTLEMENT = Answer(
    "Settlement",
    "A settlement batch: the payments of a business day in one currency. "
    "`net` is `gross - fees - taxes - refunds - disputes - brought_forward + carried_forward`.",
    Field("id", UUID, "Our identifier of the batch.", "01980a5e-9440-7c00-8000-000000000004", "pk"),
    Field("number", POSITION, "Counts the batches of one day and currency, from 1.", 1),
    CURRENCY_FIELD,
    Field("day", DATE, "The business day, Africa/Lagos.", "2026-01-31"),
    Field("status", one_of(Transaction.SettleStatus.values), "`released` and `rejected` are final.", value="state"),
    Field("gross", BALANCE, "Captured or received, minor units.", 50_000),
    Field("fees", BALANCE, "Fees of its payments and disputes, less fees of disputes that were given back.", 750),
    Field("taxes", MINOR_UNITS, "Taxes on the fees of its payments. Present if above zero.", omit=EMPTY),
    Field("refunds", BALANCE, "Refunds that are netted in it.", 10_000),
    Field("disputes", BALANCE, "Held or lost in disputes, less what was given back. Present if not zero.", omit=EMPTY),
    Field("net", BALANCE, "Amount credited to your balance, of which `reserved` is held back.", 39_250),
    Field("count", COUNT, "Number of payments.", 1, "payments_count"),
    Field("created_at", MOMENT, "When it was created.", "2026-02-01T00:10:00.000Z"),
    Field("brought_forward", MINOR_UNITS, "Not covered by earlier batches. Present if above zero.", 5_000, omit=EMPTY),
    Field("carried_forward", MINOR_UNITS, "Not covered by this batch. Present if above zero.", 5_000, omit=EMPTY),
    Field("reserved", MINOR_UNITS, "Held back of the net at the release, and returned later. Present if above zero.", 25_000, omit=EMPTY),
    Field("payout_reference", REFERENCE, "The payout that paid it to your settlement account. Absent until then, and after a payout that failed or was returned.", "settlement_01980a5e-9440-7c00-8000-000000000004", omit=EMPTY),
    Field("released_at", MOMENT, "When its net was credited to your balance.", "2026-02-02T09:00:00.000Z", omit=NONE),
)  # fmt: skip
SETTLEMENTS_PAGE = page_of(SETTLEMENT, "A page of settlement batches, newest first.")

# A line of a batch's statement (`payments.services.settlement.batches.batch_statements`).
SETTLEMENT_ITEM = Answer(
    "SettlementItem",
    "A line of a settlement batch. Amounts are minor units; `net` is `amount - fee - fee_tax`.",
    Field(
        "kind",
        one_of(["payment", "refund", "dispute", "brought_forward", "carried_forward"]),
        "A payment, a refund, a dispute, or an amount carried from one batch to another.",
    ),
    Field("reference", REFERENCE, "Your reference of the payment or refund; the case number of a dispute; else empty.", "order-1042"),
    Field("amount", BALANCE, "Below zero for refunds, for money that a dispute holds, and for amounts brought forward.", 50_000, lambda line: line.net + line.fee + line.fee_tax),
    Field("fee", BALANCE, "Fee of the payment or dispute, below zero where it is given back; 0 for every other kind.", 750),
    Field("fee_tax", MINOR_UNITS, "Tax on the fee of the payment. Present if above zero.", omit=EMPTY),
    Field("net", BALANCE, "What the line adds to the batch's net.", 49_250),
)  # fmt: skip
SETTLEMENT_WITH_ITEMS = SETTLEMENT.extended(
    "SettlementWithItems",
    "A settlement batch with a page of its items.",
    Field("items", page_of(SETTLEMENT_ITEM, "A page of items, in the order of the statement.", next_is="later"), "Its items, oldest first."),
)  # fmt: skip

UNAPPLIED_TRANSFER = Answer(
    "UnappliedTransfer",
    "A transfer that matches no payment. It stays open until it is credited to your balance or returned.",
    Field("id", UUID, "Our identifier of the unapplied transfer.", "01980a5e-9c10-7000-8000-000000000005", "pk"),
    Field("account_number", ACCOUNT_NUMBER, "The account number that received it.", "1000000014", "transfer.number_id"),
    Field("amount", MINOR_UNITS, "Minor units.", 40_000),
    CURRENCY_FIELD,
    Field("received_at", MOMENT, "When it arrived.", "2026-01-31T08:10:00.000Z", "transfer.received_at"),
    Field("sender", SENDER, "The sender, if the bank named it.", value="transfer.sender"),
    Field(
        "why",
        one_of(reason.value for reason in Transfer.Reason if reason.value),
        "Why it matches no payment: another amount than expected, after the payment's end, a second transfer, "
        "an inactive account, another currency, or a number of no account that we assigned to yours later.",
        value="transfer.reason",
    ),
    Field("state", one_of(UnappliedMoney.State.values), "`credited` is final. `returned` once its payout is ordered, also while that awaits approval (see `return_reference`); `open` again if the payout is rejected, refused by the bank or sent back."),
    Field("payment_reference", REFERENCE, "Your reference of the payment that it was meant for, if there is one.", "order-1047", omit=EMPTY),
    Field("reason", TEXT, "Why it was credited or returned; of an open one, why the bank refused its return or sent it back.", "Paid twice", omit=EMPTY),
    Field("decided_at", MOMENT, "When it was credited or returned.", "2026-01-31T09:00:00.000Z", omit=NONE),
    Field("return_reference", REFERENCE, "The reference of the payout that returns it, or which came back.", "return_01980a5e9c1070008000000000000005", "reference", EMPTY),
)  # fmt: skip
BALANCE_ADJUSTMENT = Answer(
    "BalanceAdjustment",
    "A debit of your balance that staff booked, with the reason.",
    Field("id", UUID, "Our identifier: the `reference` of the movement in the statement of your balance.", "01980a5e-9c10-7000-8000-000000000009", "entry.cause"),
    Field("amount", BALANCE, "Minor units, below zero.", -10_000),
    Field("balance_after", BALANCE, "The balance afterwards.", 239_000),
    Field("currency", CURRENCY, "ISO 4217.", "NGN", "entry.currency"),
    Field("reason", TEXT, "Why it was booked, in plain words.", "Correction: Fee charged twice", "entry.note"),
    Field("created_at", MOMENT, "When it was booked.", "2026-01-31T08:20:00.000Z", "entry.at"),
)  # fmt: skip
UNAPPLIED_TRANSFERS_PAGE = page_of(UNAPPLIED_TRANSFER, "A page of unapplied transfers, newest first.")

represent: Callable[[Transaction], dict[str, Any]] = PAYMENT.represent
represent_refund: Callable[[CardOperation], dict[str, Any]] = REFUND.represent
represent_settlement: Callable[[SettlementBatch], dict[str, Any]] = SETTLEMENT.represent
# Of money loaded by `virtual_accounts.services.unapplied_queries.find`.
represent_unapplied_transfer: Callable[[UnappliedMoney], dict[str, Any]] = UNAPPLIED_TRANSFER.represent
# Of the posting of a wallet.
represent_balance_adjustment: Callable[[Posting], dict[str, Any]] = BALANCE_ADJUSTMENT.represent


def challenge_address(token: str) -> str:
    return f"{settings.PUBLIC_URL}/3ds/{token}"


def return_page_address(token: str) -> str:
    """Return where a payer comes back to from the page of a provider or bank."""
    return f"{challenge_address(token)}/return"
