"""What statements are compared with: the money that came in and went out by our own books."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from payments.bank_statements import IN, OUT
from payments.business_days import business_day
from payments.models import CardOperation, PayoutReturn, Reconciliation, Transaction
from virtual_accounts.models import Transfer, UnclaimedTransfer

Source = Reconciliation.Source
CHUNK = 2_000  # payments that are read at once, with their captures


@dataclass(frozen=True, slots=True, kw_only=True)
class OurEntry:
    """One movement of money as we know it, also one whose outcome we do not know. Amounts are minor units.

    An acquirer's or bank's own references, and those that we made for them, identify an entry across all
    businesses. What merchants chose, and STANs, which repeat, identify it only where no other entry has the same.
    """

    kind: str
    id: UUID
    references: tuple[str, ...]
    shared_references: tuple[str, ...] = ()
    amount: int
    currency: str
    day: date
    direction: str
    status: str
    may_be_missing: bool = False  # the statement may have it or not: both are right

    @property
    def is_certain(self) -> bool:
        """Whether the money moved, as far as we know: then it belongs on the statement."""
        return self.status == Transaction.Status.SUCCESS and not self.may_be_missing


def between(first: datetime, last: datetime, *, source: Source) -> Iterator[OurEntry]:
    """Return what happened from `first` until before `last`, of the kinds that such a statement tells."""
    if source != Source.BANK:
        yield from _card_payments(first, last)
        yield from _card_refunds(first, last)
    if source != Source.ACQUIRER:
        yield from _transfers(first, last)
        yield from _unclaimed_transfers(first, last)
        yield from _payouts(first, last)
        yield from _returns(first, last)
        yield from _transfer_refunds(first, last)


def _within(first: datetime, last: datetime) -> Q:
    """Finished within the time; or not finished, and begun in it."""
    return Q(finished_at__gte=first, finished_at__lt=last) | Q(
        finished_at=None, created_at__gte=first, created_at__lt=last
    )


def _card_payments(first: datetime, last: datetime) -> Iterator[OurEntry]:
    paid = Transaction.objects.filter(
        _within(first, last),
        request_type=Transaction.RequestType.PAYMENT,
        method=Transaction.Method.CARD,
    )
    captures = CardOperation.objects.filter(kind=CardOperation.Kind.CAPTURE).exclude(
        status=CardOperation.Status.FAILED
    )
    taken = paid.prefetch_related(Prefetch("operations", queryset=captures, to_attr="captures"))
    for payment in taken.iterator(chunk_size=CHUNK):
        # The acquirer lists a deferred capture under the capture's own numbers.
        messages: list[CardOperation | Transaction] = [*payment.captures, payment]
        yield OurEntry(
            kind="card",
            id=payment.pk,
            references=_given(
                *(message.retrieval_reference_number for message in messages), payment.acquirer_transaction_id
            ),
            shared_references=_given(
                payment.reference, *(message.system_trace_audit_number for message in messages)
            ),
            amount=payment.amount_captured or payment.amount,
            currency=payment.currency,
            day=business_day(payment.finished_at or payment.created_at),
            direction=IN,
            status=payment.status,
        )


def _card_refunds(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """An acquirer lists a refund under the refund's own numbers, or under those of its payment."""
    refunds = CardOperation.objects.filter(_within(first, last), kind=CardOperation.Kind.REFUND, connector="")
    for refund in refunds.select_related("transaction").iterator():
        payment = refund.transaction
        yield OurEntry(
            kind="refund",
            id=refund.pk,
            references=_given(
                refund.retrieval_reference_number,
                payment.retrieval_reference_number,
                payment.acquirer_transaction_id,
            ),
            shared_references=_given(refund.reference, refund.system_trace_audit_number),
            amount=refund.amount,
            currency=payment.currency,
            day=business_day(refund.finished_at or refund.created_at),
            direction=OUT,
            status=refund.status,
        )


def _transfer_refunds(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """A bank lists the refund of a transfer payment as it lists a payout."""
    refunds = CardOperation.objects.filter(_within(first, last), kind=CardOperation.Kind.REFUND)
    for refund in refunds.exclude(connector="").select_related("transaction").iterator():
        yield OurEntry(
            kind="refund",
            id=refund.pk,
            references=_order_references(refund),
            shared_references=_given(refund.reference),
            amount=refund.amount,
            currency=refund.transaction.currency,
            day=business_day(refund.finished_at or refund.created_at),
            direction=OUT,
            status=refund.status,
        )


def _transfers(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """Every transfer that the hosting bank told us of, applied to a payment or not."""
    yield from _received("transfer", Transfer.objects.filter(received_at__gte=first, received_at__lt=last))


def _unclaimed_transfers(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """Money that no account could take. A notification that contradicts an earlier one is no further money."""
    unclaimed = UnclaimedTransfer.objects.filter(received_at__gte=first, received_at__lt=last)
    yield from _received("unclaimed", unclaimed.exclude(why=UnclaimedTransfer.Why.CONFLICT))


def _received(kind: str, transfers: QuerySet[Any]) -> Iterator[OurEntry]:
    for transfer in transfers.iterator():
        yield OurEntry(
            kind=kind,
            id=transfer.pk,
            references=(transfer.bank_reference,),
            amount=transfer.amount,
            currency=transfer.currency,
            day=business_day(transfer.received_at),
            direction=IN,
            status=Transaction.Status.SUCCESS,
        )


def _payouts(first: datetime, last: datetime) -> Iterator[OurEntry]:
    payouts = Transaction.objects.filter(_within(first, last), request_type=Transaction.RequestType.PAYOUT)
    returned = PayoutReturn.objects.filter(transaction=OuterRef("pk"), applied=PayoutReturn.Applied.FAILED)
    for payout in payouts.annotate(was_returned=Exists(returned)).iterator():
        yield OurEntry(
            kind="payout",
            id=payout.pk,
            references=_order_references(payout),
            shared_references=(payout.reference,),
            amount=payout.amount,
            currency=payout.currency,
            day=business_day(payout.finished_at or payout.created_at),
            direction=OUT,
            # It failed because the bank returned it: the bank may have sent it before.
            status=Transaction.Status.SUCCESS if payout.was_returned else payout.status,
            may_be_missing=payout.was_returned,
        )


def _returns(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """Payouts that the bank returned: their money comes in again. A pending one may have been refused instead."""
    applied = [PayoutReturn.Applied.REVERSED, PayoutReturn.Applied.FAILED]
    returns = PayoutReturn.objects.filter(applied__in=applied, at__gte=first, at__lt=last)
    for returned in returns.select_related("transaction").iterator():
        payout = returned.transaction
        if payout is None:  # the database has a rule against it
            continue
        yield OurEntry(
            kind="payout_reversed",
            id=returned.pk,
            references=_given(returned.bank_reference, *_order_references(payout)),
            shared_references=(payout.reference,),
            amount=returned.amount,
            currency=returned.currency,
            day=business_day(returned.at),
            direction=IN,
            status=Transaction.Status.SUCCESS,
            may_be_missing=returned.applied == PayoutReturn.Applied.FAILED,
        )


def _order_references(order: Transaction | CardOperation) -> tuple[str, ...]:
    """Return the bank's reference of a payout or refund, and ours as the bank received it, with and without hyphens."""
    return _given(order.acquirer_transaction_id, order.pk.hex, str(order.pk))


def _given(*references: str | None) -> tuple[str, ...]:
    return tuple(reference for reference in references if reference)
