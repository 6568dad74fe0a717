"""What statements are compared with: the money that came in and went out by our own books."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from uuid import UUID

from django.db.models import Q

from ledger.models import Entry
from payments.bank_statements import IN, OUT
from payments.business_days import business_day
from payments.models import CardOperation, Reconciliation, Transaction
from virtual_accounts.models import Transfer

Source = Reconciliation.Source


@dataclass(frozen=True, slots=True, kw_only=True)
class OurEntry:
    """One movement of money as we know it, also one whose outcome we do not know. Amounts are minor units."""

    kind: str
    id: UUID
    references: tuple[str, ...]  # any of these names it on a statement
    amount: int
    currency: str
    day: date
    direction: str
    status: str

    @property
    def is_certain(self) -> bool:
        """Whether the money moved, as far as we know: then it belongs on the statement."""
        return self.status == Transaction.Status.SUCCESS


def between(first: datetime, last: datetime, *, source: Source) -> Iterator[OurEntry]:
    """Return what happened from `first` until before `last`, of the kinds that such a statement tells."""
    if source != Source.BANK:
        yield from _card_payments(first, last)
        yield from _refunds(first, last)
    if source != Source.ACQUIRER:
        yield from _transfers(first, last)
        yield from _payouts(first, last)
        yield from _reversals(first, last)


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
    for payment in paid.iterator():
        yield OurEntry(
            kind="card",
            id=payment.pk,
            references=_given(
                payment.retrieval_reference_number, payment.acquirer_transaction_id, payment.reference
            ),
            amount=payment.amount_captured or payment.amount,
            currency=payment.currency,
            day=business_day(payment.finished_at or payment.created_at),
            direction=IN,
            status=payment.status,
        )


def _refunds(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """An acquirer names a refund by our reference of it, or by the payment's numbers."""
    refunds = CardOperation.objects.filter(_within(first, last), kind=CardOperation.Kind.REFUND)
    for refund in refunds.select_related("transaction").iterator():
        payment = refund.transaction
        yield OurEntry(
            kind="refund",
            id=refund.pk,
            references=_given(
                refund.reference, payment.retrieval_reference_number, payment.acquirer_transaction_id
            ),
            amount=refund.amount,
            currency=payment.currency,
            day=business_day(refund.finished_at or refund.created_at),
            direction=OUT,
            status=refund.status,
        )


def _transfers(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """Every transfer that the hosting bank told us of, applied to a payment or not."""
    for transfer in Transfer.objects.filter(received_at__gte=first, received_at__lt=last).iterator():
        yield OurEntry(
            kind="transfer",
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
    for payout in payouts.iterator():
        yield OurEntry(
            kind="payout",
            id=payout.pk,
            references=_given(payout.acquirer_transaction_id, payout.reference, str(payout.pk)),
            amount=payout.amount,
            currency=payout.currency,
            day=business_day(payout.finished_at or payout.created_at),
            direction=OUT,
            status=payout.status,
        )


def _reversals(first: datetime, last: datetime) -> Iterator[OurEntry]:
    """Payouts that the bank gave back after their success: their money comes in again."""
    reversed_at = dict(
        Entry.objects.filter(kind=Entry.Kind.PAYOUT_REVERSED, at__gte=first, at__lt=last).values_list(
            "cause", "at"
        )
    )
    for payout in Transaction.objects.filter(pk__in=list(reversed_at)).iterator():
        yield OurEntry(
            kind="payout_reversed",
            id=payout.pk,
            references=_given(payout.acquirer_transaction_id, payout.reference, str(payout.pk)),
            amount=payout.amount,
            currency=payout.currency,
            day=business_day(reversed_at[payout.pk]),
            direction=IN,
            status=Transaction.Status.SUCCESS,
        )


def _given(*references: str | None) -> tuple[str, ...]:
    return tuple(reference for reference in references if reference)
