"""The objects that belong to a transaction, as links."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import date, datetime
from operator import attrgetter
from urllib.parse import urlsplit
from uuid import UUID

from django.db.models import Q, prefetch_related_objects
from django.http import QueryDict
from django.urls import reverse
from django.utils import timezone

from dashboard.transactions.detail.figures import debited_by, was_never_debited
from dashboard.transactions.detail.payout_approvers import payout_batch_link, payout_batch_of
from dashboard.transactions.request_links import MembersAction, origin_of, requested_by
from dashboard.ui.addresses import encoded
from dashboard.ui.components.related import RelatedObject
from dashboard.ui.dispute_names import dispute_name, dispute_style, stage_name
from disputes.models import Dispute
from kit.db import clock
from kit.money.money import money, signed_money
from kit.text.plurals import counted
from payments.models import (
    CardOperation,
    PaymentLink,
    PayoutReturn,
    SettlementAccount,
    SettlementBatch,
    SettlementItem,
    Transaction,
)
from payments.rules.settlement.business_days import begins_at, business_day, day_after
from payments.rules.words.status_names import (
    LINK_NAMES,
    STATUS_NAMES,
    UNAPPLIED_STYLES,
    settlement_name,
    status_name,
    unapplied_name,
)
from payments.services.settlement.payouts import payout_schedules
from payments.services.transfers import awaited_returns
from virtual_accounts.models import Session, Transfer, UnappliedMoney
from webhooks.models import Delivery, event_name

MOST_UNAPPLIED = 3


def batch_of(transaction: Transaction) -> SettlementBatch | None:
    """Return the batch that a payment is settled in. Has an index."""
    if not transaction.settle_status:
        return None
    item = (
        SettlementItem.objects.filter(
            transaction=transaction, operation=None, dispute_step=None, is_live=True
        )
        .select_related("batch")
        .first()
    )
    return item.batch if item else None


def settlement_day(transaction: Transaction) -> date | None:
    """Return the business day that a payment without a batch is settled with; None if it isn't settled at all."""
    is_payment = transaction.request_type == Transaction.RequestType.PAYMENT
    if not is_payment or transaction.status != Transaction.Status.SUCCESS or not transaction.finished_at:
        return None
    return business_day(transaction.finished_at)


def payout_day(transaction: Transaction, *, settled_with: date) -> date | None:
    """Return the first day on which a schedule can pay out a payment that isn't in a batch; None without a schedule.

    A batch is made after its business day has ended.
    """
    account = (
        SettlementAccount.objects.paid_automatically()
        .filter(business=transaction.business_id, currency=transaction.currency)
        .first()
    )
    now = max(clock.now(), begins_at(day_after(settled_with)))
    return payout_schedules.next_day(account, now=now) if account else None


def unapplied_of(transaction: Transaction) -> list[UnappliedMoney]:
    """Return the transfers that were meant for a payment and weren't applied to it, newest first."""
    session = transaction.session
    if session is None:
        return []
    meant = Q(transfer__session=session)
    if not session.account.is_static:  # a number of its own, which later sessions may use again
        meant |= Q(
            transfer__number=session.number_id,
            transfer__reason__in=Transfer.MEANT_FOR_A_PAYMENT,
            transfer__received_at__gte=session.opened_at,
        )
    held = UnappliedMoney.objects.filter(meant, business=transaction.business_id).with_payment_reference()
    own = held.filter(Q(payment_reference=transaction.reference))
    return awaited_returns.mark(own.select_related("transfer").order_by("-pk")[:MOST_UNAPPLIED])


def related_objects(
    transaction: Transaction,
    *,
    refunds: Sequence[CardOperation],
    deliveries: Sequence[Delivery],
    unapplied: Sequence[UnappliedMoney],
    batch: SettlementBatch | None,
    returns: Sequence[PayoutReturn],
    attempts: Sequence[Transaction],
    disputes: Sequence[Dispute],
    reopened: UUID | None,
) -> list[RelatedObject]:
    """Return the objects that belong to a transaction. `attempts` are the others of its checkout.

    `reopened` is the unapplied money that a payout went back to.
    """
    link = transaction.payment_link
    return [
        *(_unapplied(each) for each in unapplied),
        *([link_link(link)] if link else []),
        *(transaction_link(each) for each in attempts),
        *(delivery_link(each) for each in deliveries),
        *([batch_link(batch)] if batch else []),
        *(refund_link(each, transaction) for each in refunds),
        *(dispute_link(each) for each in disputes),
        *_movements(transaction, returns, is_credited_back=reopened is None),
        *([account_link(transaction.session)] if transaction.session else []),
        *_origin(transaction),
    ]


def _unapplied(money_held: UnappliedMoney) -> RelatedObject:
    return RelatedObject(
        icon="banknotes",
        name="Unapplied transfer",
        text=money(money_held.amount, money_held.currency),
        address=reverse("dashboard-unapplied-item", args=[money_held.pk]),
        status=UNAPPLIED_STYLES[money_held.shown_state],
        status_name=unapplied_name(money_held.shown_state),
    )


def transaction_link(transaction: Transaction) -> RelatedObject:
    """Return a payment, payout or card check."""
    is_payout = transaction.request_type == Transaction.RequestType.PAYOUT
    is_refunded = transaction.refund_status != Transaction.RefundStatus.NONE
    kind = transaction.get_request_type_display().capitalize()
    page = "dashboard-payout" if is_payout else "dashboard-payment"
    return RelatedObject(
        icon="paper-airplane" if is_payout else "credit-card",
        name=kind,
        text=f"{money(transaction.amount, transaction.currency)} · {transaction.reference}"
        if transaction.amount
        else transaction.reference,
        address=reverse(page, args=[transaction.pk]),
        status=transaction.refund_status if is_refunded else transaction.status,
        status_name=STATUS_NAMES[transaction.refund_status] if is_refunded else status_name(transaction),
    )


def customer_link(payment: Transaction) -> RelatedObject | None:
    """Return the customer of a payment, if it names one by reference or e-mail address."""
    reference, email = payment.customer_reference, payment.customer_email
    if not reference and not email:
        return None
    query = QueryDict(mutable=True)
    query.update({"reference": reference} if reference else {"email": email})
    return RelatedObject(
        icon="user",
        name="Customer",
        text=payment.payer_name or reference or email,
        address=f"{reverse('dashboard-customer')}?{encoded(query)}",
    )


def link_link(link: PaymentLink) -> RelatedObject:
    """Return a payment link."""
    status = link.status_at(clock.now())
    return RelatedObject(
        icon="link",
        name="Payment link",
        text=link.title,
        address=reverse("dashboard-payment-link", args=[link.pk]),
        status=status,
        status_name=LINK_NAMES[status],
    )


def delivery_link(delivery: Delivery) -> RelatedObject:
    """Return a delivery that was read `with_endpoint_url`, with its endpoint if the business has several."""
    count = delivery.attempts_count
    made = counted(count, "attempt") if count else "Not sent yet"
    endpoint = endpoint_name(delivery)
    return RelatedObject(
        icon="bolt",
        name=event_name(delivery.event),
        text=f"{made} · {endpoint}" if endpoint else made,
        address=reverse("dashboard-delivery", args=[delivery.pk]),
        status=delivery.state,
        status_name=delivery.state_name,
    )


def endpoint_name(delivery: Delivery) -> str:
    """Return the host and path of a delivery's endpoint; empty if the business has only one."""
    parts = urlsplit(delivery.endpoint_url or "")
    return f"{parts.netloc}{parts.path}"


def batch_link(batch: SettlementBatch) -> RelatedObject:
    return RelatedObject(
        icon="building-library",
        name="Settlement",
        text=f"{batch.day:%-d %b %Y}, {counted(batch.payments_count, 'payment')}",
        address=reverse("dashboard-settlement", args=[batch.pk]),
        status=batch.state,
        status_name=settlement_name(batch.state),
    )


def refund_link(refund: CardOperation, transaction: Transaction) -> RelatedObject:
    return RelatedObject(
        icon="arrow-uturn-left",
        name="Refund",
        text=f"{money(refund.amount, transaction.currency)} · {refund.reference}",
        address=reverse("dashboard-refund", args=[refund.pk]),
        status=refund.status,
        status_name=STATUS_NAMES[refund.status],
    )


def disputes_of(transaction: Transaction) -> list[Dispute]:
    """Return the disputes of a payment, oldest first. One without any costs no query."""
    if not transaction.disputes_count:
        return []
    prefetch_related_objects([transaction], "disputes")  # which the API object shows too
    return sorted(transaction.disputes.all(), key=attrgetter("pk"))


def dispute_link(dispute: Dispute) -> RelatedObject:
    return RelatedObject(
        icon="scale",
        name=stage_name(dispute.stage),
        text=f"{money(dispute.amount, dispute.currency)} · {dispute.case_number}",
        address=reverse("dashboard-dispute", args=[dispute.pk]),
        status=dispute_style(dispute.status),
        status_name=dispute_name(dispute.status),
    )


def _movements(
    transaction: Transaction, returns: Sequence[PayoutReturn], *, is_credited_back: bool
) -> Iterator[RelatedObject]:
    """Return the debit of a payout, and what its failure and its returns have credited to the balance."""
    if transaction.request_type != Transaction.RequestType.PAYOUT or was_never_debited(transaction):
        return
    debited = debited_by(transaction)
    yield movement_link(-debited, transaction.currency, at=transaction.created_at)
    if not is_credited_back:
        return
    if transaction.status == Transaction.Status.FAILED and transaction.finished_at:
        yield movement_link(debited, transaction.currency, at=transaction.finished_at, note=" credited back")
    for each in returns:
        if each.applied == PayoutReturn.Applied.REVERSED:
            yield movement_link(each.amount, each.currency, at=each.at, note=" returned")


def movement_link(amount: int, currency: str, *, at: datetime, note: str = "") -> RelatedObject:
    """Return a movement of the wallet, as a link to the statement of its day. Amounts are minor units."""
    day = timezone.localdate(at)
    return RelatedObject(
        icon="wallet",
        name="Balance movement",
        text=f"{signed_money(amount, currency)}{note}",
        address=f"{reverse('dashboard-balance')}?currency={currency}&since={day}&until={day}",
    )


def account_link(session: Session) -> RelatedObject:
    return RelatedObject(
        icon="hashtag",
        name="Virtual account",
        text=f"{session.number_id}, {session.bank_name}",
        address=reverse("dashboard-virtual-account", args=[session.account_id]),
    )


def _origin(transaction: Transaction) -> Iterator[RelatedObject]:
    batch, approval = payout_batch_of(transaction), getattr(transaction, "approval", None)
    if batch is not None:
        yield payout_batch_link(batch)
    elif approval is not None and approval.maker and not approval.key_id:
        yield requested_by(approval.maker.email, kind="payout")
    is_payout = transaction.request_type == Transaction.RequestType.PAYOUT
    is_asked = is_payout and batch is None and approval is None
    asked = MembersAction(name="payout.asked", target=transaction.reference) if is_asked else None
    yield from origin_of(transaction.business, transaction.pk, action=asked)
