"""Ledger lines to compare statements with: our own record of incoming and outgoing money."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from typing import Any
from uuid import UUID

from django.db.models import Exists, OuterRef, Prefetch, Q, QuerySet

from ledger.models import Account, Entry, Posting
from payments.models import CardOperation, PayoutReturn, Reconciliation, Transaction
from payments.rules.bank_statement_parser import IN, OUT
from payments.rules.business_days import business_day
from virtual_accounts.models import Transfer, UnclaimedTransfer

Source = Reconciliation.Source
CHUNK = 2_000  # payments per query, with their captures


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerLine:
    """A movement of money in our records, even if its outcome is unknown. Amounts are minor units.

    References of the acquirer or bank, and those that we generate for them, are unique across all businesses. Merchants'
    references and STANs may repeat, so they identify a line only if no other line has the same.
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
    may_be_missing: bool = False  # valid with or without it on the statement

    @property
    def is_certain(self) -> bool:
        """Return whether the money has moved and the line must be on the statement."""
        return self.status == Transaction.Status.SUCCESS and not self.may_be_missing


def between(first: datetime, last: datetime, *, source: Source) -> Iterator[LedgerLine]:
    """Return the ledger lines from `first` until before `last` that belong on such a statement."""
    if source != Source.BANK:
        yield from _card_payments(first, last)
        yield from _card_refunds(first, last)
    if source != Source.ACQUIRER:
        yield from _transfers(first, last)
        yield from _unclaimed_transfers(first, last)
        yield from _payouts(first, last)
        yield from _returns(first, last)
        yield from _transfer_refunds(first, last)
        yield from _top_ups(first, last)


def _within(first: datetime, last: datetime) -> Q:
    """Select rows finished in the period, and unfinished ones created in it."""
    return Q(finished_at__gte=first, finished_at__lt=last) | Q(
        finished_at=None, created_at__gte=first, created_at__lt=last
    )


def _card_payments(first: datetime, last: datetime) -> Iterator[LedgerLine]:
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
        # The acquirer lists a deferred capture by the capture's own STAN and RRN.
        messages: list[CardOperation | Transaction] = [*payment.captures, payment]
        yield LedgerLine(
            kind="card",
            id=payment.pk,
            references=_non_empty(
                *(message.retrieval_reference_number for message in messages), payment.acquirer_transaction_id
            ),
            shared_references=_non_empty(
                payment.reference, *(message.system_trace_audit_number for message in messages)
            ),
            amount=payment.amount_captured or payment.amount,
            currency=payment.currency,
            day=business_day(payment.finished_at or payment.created_at),
            direction=IN,
            status=payment.status,
        )


def _card_refunds(first: datetime, last: datetime) -> Iterator[LedgerLine]:
    """An acquirer lists a refund by its own STAN and RRN or by those of its payment."""
    refunds = CardOperation.objects.filter(_within(first, last), kind=CardOperation.Kind.REFUND, connector="")
    for refund in refunds.select_related("transaction").iterator():
        payment = refund.transaction
        yield LedgerLine(
            kind="refund",
            id=refund.pk,
            references=_non_empty(
                refund.retrieval_reference_number,
                payment.retrieval_reference_number,
                payment.acquirer_transaction_id,
            ),
            shared_references=_non_empty(refund.reference, refund.system_trace_audit_number),
            amount=refund.amount,
            currency=payment.currency,
            day=business_day(refund.finished_at or refund.created_at),
            direction=OUT,
            status=refund.status,
        )


def _transfer_refunds(first: datetime, last: datetime) -> Iterator[LedgerLine]:
    """A bank lists the refund of a transfer payment like a payout."""
    refunds = CardOperation.objects.filter(_within(first, last), kind=CardOperation.Kind.REFUND)
    for refund in refunds.exclude(connector="").select_related("transaction").iterator():
        yield LedgerLine(
            kind="refund",
            id=refund.pk,
            references=_order_references(refund),
            shared_references=_non_empty(refund.reference),
            amount=refund.amount,
            currency=refund.transaction.currency,
            day=business_day(refund.finished_at or refund.created_at),
            direction=OUT,
            status=refund.status,
        )


def _transfers(first: datetime, last: datetime) -> Iterator[LedgerLine]:
    """Every transfer that the hosting bank notified, whether applied to a payment or not."""
    yield from _received("transfer", Transfer.objects.filter(received_at__gte=first, received_at__lt=last))


def _unclaimed_transfers(first: datetime, last: datetime) -> Iterator[LedgerLine]:
    """Transfers that no account could accept. A notification that contradicts an earlier one isn't more money.

    What was assigned to an account since is a transfer of that account.
    """
    assigned = Transfer.objects.filter(bank_reference=OuterRef("bank_reference"))
    unclaimed = UnclaimedTransfer.objects.filter(
        ~Exists(assigned), received_at__gte=first, received_at__lt=last
    )
    yield from _received("unclaimed", unclaimed.exclude(why=UnclaimedTransfer.Why.CONFLICT))


def _received(kind: str, transfers: QuerySet[Any]) -> Iterator[LedgerLine]:
    for transfer in transfers.iterator():
        yield LedgerLine(
            kind=kind,
            id=transfer.pk,
            references=(transfer.bank_reference,),
            amount=transfer.amount,
            currency=transfer.currency,
            day=business_day(transfer.received_at),
            direction=IN,
            status=Transaction.Status.SUCCESS,
        )


def _payouts(first: datetime, last: datetime) -> Iterator[LedgerLine]:
    payouts = Transaction.objects.filter(_within(first, last), request_type=Transaction.RequestType.PAYOUT)
    returned = PayoutReturn.objects.filter(transaction=OuterRef("pk"), applied=PayoutReturn.Applied.FAILED)
    for payout in payouts.annotate(was_returned=Exists(returned)).iterator():
        yield LedgerLine(
            kind="payout",
            id=payout.pk,
            references=_order_references(payout),
            shared_references=(payout.reference,),
            amount=payout.amount,
            currency=payout.currency,
            day=business_day(payout.finished_at or payout.created_at),
            direction=OUT,
            # It failed because the bank returned it, so the bank may have sent it before.
            status=Transaction.Status.SUCCESS if payout.was_returned else payout.status,
            may_be_missing=payout.was_returned,
        )


def _returns(first: datetime, last: datetime) -> Iterator[LedgerLine]:
    """Payouts that the bank returned to us. It may have rejected a pending one instead of sending it."""
    applied = [PayoutReturn.Applied.REVERSED, PayoutReturn.Applied.FAILED]
    returns = PayoutReturn.objects.filter(applied__in=applied, at__gte=first, at__lt=last)
    for returned in returns.select_related("transaction").iterator():
        payout = returned.transaction
        if payout is None:  # excluded by a database constraint
            continue
        yield LedgerLine(
            kind="payout_reversed",
            id=returned.pk,
            references=_non_empty(returned.bank_reference, *_order_references(payout)),
            shared_references=(payout.reference,),
            amount=returned.amount,
            currency=returned.currency,
            day=business_day(returned.at),
            direction=IN,
            status=Transaction.Status.SUCCESS,
            may_be_missing=returned.applied == PayoutReturn.Applied.FAILED,
        )


def _top_ups(first: datetime, last: datetime) -> Iterator[LedgerLine]:
    """Money that staff added to a wallet because the bank had received it. The reason may be the bank's reference."""
    received = Posting.objects.filter(
        entry__kind=Entry.Kind.TOP_UP,
        account__kind=Account.Kind.WALLET,
        entry__at__gte=first,
        entry__at__lt=last,
    )
    for posting in received.select_related("entry").iterator():
        entry = posting.entry
        yield LedgerLine(
            kind="top_up",
            id=entry.cause,
            references=(entry.cause.hex, str(entry.cause)),
            shared_references=_non_empty(entry.note),
            amount=posting.amount,
            currency=entry.currency,
            day=business_day(entry.at),
            direction=IN,
            status=Transaction.Status.SUCCESS,
        )


def _order_references(order: Transaction | CardOperation) -> tuple[str, ...]:
    """Return the bank's reference of a payout or refund, and ours with and without hyphens."""
    return _non_empty(order.acquirer_transaction_id, order.pk.hex, str(order.pk))


def _non_empty(*references: str | None) -> tuple[str, ...]:
    return tuple(reference for reference in references if reference)
