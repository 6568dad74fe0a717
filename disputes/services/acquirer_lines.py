"""What an acquirer debits for disputes and gives back, on its statements and those of banks.

Whether and when an acquirer debits a dispute is its own affair: a lost one must be debited, an open one may be. The line of
a debit records it, so that the books agree with the statement.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

from django.db.models import OuterRef, QuerySet, Subquery

from cash.models import MatchedItem
from disputes.models import Dispute, DisputeStep
from disputes.services import moves
from disputes.services.locking import lock_dispute
from ledger.booking.account_ids import account_ids
from ledger.models import Entry, Posting
from ledger.services import Booking, Kind
from payments.rules.settlement.business_days import business_day
from payments.rules.words.dispute_words import Stage
from payments.services.reconciliation.card_lines import Acquired, unmatched
from payments.services.reconciliation.ledger_line import DISPUTE, DISPUTE_BACK, LedgerLine

ACTOR = "reconciliation"


def expected(acquired: Acquired) -> Iterator[LedgerLine]:
    """Yield the debits and what was given back of them that aren't matched yet."""
    disputes = Dispute.objects.filter(
        connector=acquired.connector, currency=acquired.currency, created_at__gte=acquired.first
    ).exclude(stage=Stage.INQUIRY)
    if acquired.accounts:
        disputes = disputes.filter(account__in=acquired.accounts)
    open_debits = unmatched(DISPUTE, disputes).annotate(booked=Subquery(_booked_debit()))
    for dispute in open_debits.select_related("transaction").iterator():
        yield _debit(dispute, acquired)
    steps = _that_gave_back(disputes).iterator()
    for dispute, of_dispute in groupby(steps, key=lambda step: step.dispute):
        yield from _given_back(dispute, list(of_dispute), acquired)


def _booked_debit() -> QuerySet[Any]:
    """Return what was booked as a dispute was recorded as debited. It may have given something back since."""
    recorded = DisputeStep.objects.filter(dispute=OuterRef(OuterRef("pk")), kind=DisputeStep.Kind.DEBITED)
    return Posting.objects.filter(
        entry__kind__in=[Entry.Kind.CHARGEBACK_IN, Entry.Kind.CHARGEBACK_PAID],
        entry__cause__in=recorded.values("pk"),
        account__kind=Kind.ACQUIRER_RECEIVABLE,
    ).values("amount")


def _that_gave_back(disputes: QuerySet[Dispute]) -> QuerySet[Any]:
    """Return the ends and corrections of debited disputes, the newest of each first, with what is matched of them."""
    debit = MatchedItem.objects.filter(kind=DISPUTE, item=OuterRef("dispute")).values("amount")
    back = MatchedItem.objects.filter(kind=DISPUTE_BACK, item=OuterRef("pk")).values("amount")
    steps = DisputeStep.objects.filter(
        dispute__in=disputes.filter(outcome_amount__gt=0),
        kind__in=[DisputeStep.Kind.CLOSED, DisputeStep.Kind.CORRECTED],
    ).annotate(debited=Subquery(debit), matched=Subquery(back))
    found = steps.filter(debited__isnull=False).select_related("dispute__transaction")
    return found.order_by("dispute", "-pk")


def _given_back(dispute: Dispute, steps: list[Any], acquired: Acquired) -> Iterator[LedgerLine]:
    """Yield what steps gave back of a debit and isn't matched, the newest first: earlier ones perhaps before the debit."""
    matched = sum(step.matched or 0 for step in steps)
    left = -steps[0].debited - dispute.amount_lost - matched
    for step in steps:
        amount = 0 if step.matched else min(left, -step.taken)
        if amount > 0:
            yield _line(DISPUTE_BACK, dispute, amount, step.at, acquired, key=step.pk)
            left -= amount


def lock_debits(ids: Iterable[UUID]) -> Iterator[int]:
    """Lock the disputes whose debits `debits_recorded` records, and yield the ids of the ledger accounts."""
    for key in list(_not_debited(ids).values_list("pk", flat=True)):
        dispute = lock_dispute(key)
        house = account_ids(None, dispute.currency)
        own = account_ids(dispute.business_id, dispute.currency)
        yield from (house[Kind.CHARGEBACK_CLEARING], house[Kind.ACQUIRER_RECEIVABLE])
        yield from (own[Kind.REFUNDS_PAYABLE], own[Kind.ACQUIRER_RECEIVABLE])


def _not_debited(ids: Iterable[UUID]) -> QuerySet[Dispute]:
    return Dispute.objects.filter(pk__in=ids, debited_at=None).order_by("transaction_id", "pk")


def debits_recorded(ids: Iterable[UUID], now: datetime) -> list[Booking]:
    """Record debits that a statement has, except those that staff recorded before, and return their entries."""
    open_ones = _not_debited(ids)
    bookings: list[Booking] = []
    for key in list(open_ones.values_list("pk", flat=True)):
        dispute = lock_dispute(key)
        if dispute.debited_at is None and (dispute.is_open or dispute.amount_lost):
            bookings += moves.record_debit(dispute, actor=ACTOR, now=now).bookings
    return bookings


def _debit(dispute: Any, acquired: Acquired) -> LedgerLine:
    """What was recorded as debited, what was lost, or all of it while nothing is decided.

    What ended in favour of the business was perhaps never debited. Where a part was lost, all of it may have been debited
    before, on a statement that comes after the end.
    """
    is_certain = bool(dispute.amount_lost) or dispute.debited_at is not None
    at = dispute.debited_at or dispute.resolved_at or dispute.created_at
    amount = dispute.booked or dispute.amount_lost or dispute.amount
    line = _line(DISPUTE, dispute, -amount, at, acquired, key=dispute.pk, may_be_missing=not is_certain)
    return line if dispute.booked else replace(line, or_amount=-dispute.amount)


def _line(
    kind: str,
    dispute: Dispute,
    amount: int,
    at: datetime,
    acquired: Acquired,
    *,
    key: UUID,
    may_be_missing: bool = False,
) -> LedgerLine:
    payment = dispute.transaction
    told = (
        dispute.case_number,
        payment.acquirer_reference,
        payment.acquirer_transaction_id,
        payment.retrieval_reference_number,
    )
    return LedgerLine(
        kind=kind,
        id=key,
        references=(payment.pk, *filter(None, told)),
        amount=amount,
        day=business_day(at),
        begun=business_day(dispute.created_at),
        may_be_missing=may_be_missing,
        settles_after=acquired.settles_after,
        sum_of=acquired.sum_of,
    )
