"""The details of a transaction, read with a fixed number of queries."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date, datetime
from operator import attrgetter
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import Exists, OuterRef, prefetch_related_objects
from django.urls import reverse

from dashboard.memberships import Membership
from dashboard.models import Note
from dashboard.transactions.detail.checkouts import CheckoutDetails, details_of_checkout
from dashboard.transactions.detail.figures import Figure, figures_of
from dashboard.transactions.detail.payout_approvers import approvers_of
from dashboard.transactions.detail.payout_failures import Failure, failure_of
from dashboard.transactions.detail.related import (
    batch_of,
    disputes_of,
    payout_day,
    related_objects,
    settlement_day,
    unapplied_of,
)
from dashboard.transactions.detail.timeline import timeline_of
from dashboard.transactions.notes import notes_on
from dashboard.ui import payer_links
from dashboard.ui.components.related import RelatedObject
from dashboard.ui.components.timeline import Moment
from kit import banks
from merchants.models import Business
from merchants.people import roles
from merchants.people.roles import Permission
from payments.models import CardOperation, SettlementBatch, Transaction, WatchedAuthorisation
from payments.representation.payments import challenge_address, represent
from payments.rules.words.failure_advice import Advice, advice_on
from payments.services.refunds import refused_returns
from payments.services.transactions import cancellations
from virtual_accounts.models import UnappliedMoney
from webhooks.models import Attempt, Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    transaction: Transaction
    figures: Sequence[Figure]
    timeline: Sequence[Moment]
    related: Sequence[RelatedObject]
    refunds: Sequence[CardOperation]
    unapplied: Sequence[UnappliedMoney]
    batch: SettlementBatch | None
    settles_on: date | None  # the day of the batch that a successful payment will be added to
    paid_out_from: date | None  # the first day on which a schedule can pay it out to the business's bank
    notes: Sequence[Note]
    sender: Sender | None
    advice: Advice | None  # on a failed payment
    failure: Failure | None  # of a payout
    payer_page: PayerPage | None
    checkout: CheckoutDetails | None
    approvers: Sequence[str]  # of a payout
    api_object: dict[str, Any]  # without payer links for roles that may not cancel
    can_capture: bool
    can_cancel: bool
    can_refund: bool
    can_expire: bool  # it is waiting for something that expires


@dataclass(frozen=True, slots=True, kw_only=True)
class PayerPage:
    """The page of a pending payment for its payer."""

    address: str
    until: datetime | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The sender of the transfer that ended a payment's session."""

    name: str
    account_number: str
    bank: str
    bank_reference: str


def find(business: Business, transaction_id: UUID) -> Transaction | None:
    """Return the business's transaction; None if there is none, or it is another business's."""
    watches = WatchedAuthorisation.objects.filter(transaction=OuterRef("pk"))
    return (
        Transaction.objects.of(business)
        .annotate(has_watches=Exists(watches))  # rarely, so that their query is rare, too
        .select_related(
            "challenge",
            "business",
            "session__account",
            "session__transfer",
            "payment_link",
            "checkout",
            "approval__maker",
            "approval__decided_by",
            "batch_item__batch",
        )
        .filter(pk=transaction_id)
        .first()
    )


def detail_of(transaction: Transaction, *, membership: Membership) -> Detail:
    is_payout = transaction.request_type == Transaction.RequestType.PAYOUT
    operations = (
        [] if is_payout else list(CardOperation.objects.filter(transaction=transaction).order_by("pk"))
    )
    if is_payout:
        prefetch_related_objects([transaction], "returns")  # which the API object shows too
    returns = sorted(transaction.returns.all(), key=attrgetter("pk")) if is_payout else []
    outcomes = [transaction.pk, *(each.pk for each in [*operations, *returns])]
    events = (
        Delivery.objects.with_endpoint_url().filter(subject__in=outcomes).defer("body").order_by("created_at")
    )
    deliveries = list(events)
    attempts = list(Attempt.objects.filter(delivery__in=deliveries).order_by("number")) if deliveries else []
    refunds = [each for each in operations if each.kind == CardOperation.Kind.REFUND]
    unapplied, batch, disputes = unapplied_of(transaction), batch_of(transaction), disputes_of(transaction)
    checkout = details_of_checkout(transaction)
    settles_on = None if batch else settlement_day(transaction)
    reopened = refused_returns.reopened_by(transaction, returns)
    return Detail(
        transaction=transaction,
        figures=figures_of(transaction, is_unapplied_again=reopened is not None),
        timeline=timeline_of(
            transaction,
            operations=operations,
            returns=returns,
            deliveries=deliveries,
            attempts=attempts,
            batch=batch,
            unapplied=unapplied,
            disputes=disputes,
        ),
        related=related_objects(
            transaction,
            refunds=refunds,
            deliveries=deliveries,
            unapplied=unapplied,
            batch=batch,
            returns=returns,
            attempts=checkout.others if checkout else (),
            disputes=disputes,
            reopened=reopened,
        ),
        refunds=refunds,
        unapplied=unapplied,
        batch=batch,
        settles_on=settles_on,
        paid_out_from=payout_day(transaction, settled_with=settles_on) if settles_on else None,
        notes=notes_on(transaction),
        sender=_sender(transaction),
        advice=_advice(transaction),
        failure=failure_of(transaction, reopened=reopened),
        payer_page=_payer_page(transaction, membership),
        checkout=checkout,
        approvers=approvers_of(transaction) if is_payout else (),
        api_object=payer_links.shown_to(membership, represent(transaction)),
        can_capture=_is_capturable(transaction, operations),
        can_cancel=is_cancellable(transaction),
        can_refund=is_refundable(transaction),
        can_expire=transaction.is_pending and transaction.awaiting not in NEVER_EXPIRING,
    )


NEVER_EXPIRING = {Transaction.Awaiting.RAIL, Transaction.Awaiting.APPROVAL, Transaction.Awaiting.SERVER}


def _advice(transaction: Transaction) -> Advice | None:
    is_payment = transaction.request_type == Transaction.RequestType.PAYMENT
    is_failed = transaction.status == Transaction.Status.FAILED
    if not is_payment or not is_failed:
        return None
    return advice_on(
        transaction.response_code,
        gateway_code=transaction.full_gateway_code,
        is_transfer=transaction.is_transfer_payment,
    )


def _sender(transaction: Transaction) -> Sender | None:
    transfer = getattr(transaction.session, "transfer", None)
    if transfer is None:
        return None
    known = transfer.sender
    return Sender(
        name=known.get("name", ""),
        account_number=known.get("account_number", ""),
        bank=banks.name_of(known.get("bank_code", "")),
        bank_reference=transfer.bank_reference,
    )


def _payer_page(transaction: Transaction, membership: Membership) -> PayerPage | None:
    """Return the payer's page while the payment waits for the payer, for roles that may cancel the payment.

    Its address is the payer's credential: with it, the payment can be declined. The payer of a link has it already.
    """
    if transaction.payment_link_id is not None or not roles.may(membership.member.role, Permission.CAPTURE):
        return None
    if transaction.awaiting == Transaction.Awaiting.PAYER:
        return PayerPage(address=challenge_address(transaction.challenge.token), until=transaction.expires_at)
    if transaction.awaiting == Transaction.Awaiting.TRANSFER and transaction.session is not None:
        address = f"{settings.PUBLIC_URL}{reverse('pay', args=[transaction.pk])}"
        return PayerPage(address=address, until=transaction.session.expires_at)
    return None


def is_cancellable(transaction: Transaction) -> bool:
    return transaction.awaiting in cancellations.WAITING_FOR_PAYER


def is_refundable(transaction: Transaction) -> bool:
    is_payment = transaction.request_type == Transaction.RequestType.PAYMENT
    succeeded = transaction.status == Transaction.Status.SUCCESS
    return is_payment and succeeded and transaction.amount_refundable > 0


def _is_capturable(transaction: Transaction, operations: Sequence[CardOperation]) -> bool:
    """Return whether to offer capture and void. The services decide whether they are possible."""
    in_progress = any(
        each.kind != CardOperation.Kind.REFUND and each.status == CardOperation.Status.PENDING
        for each in operations
    )
    return transaction.awaiting == Transaction.Awaiting.CAPTURE and not in_progress
