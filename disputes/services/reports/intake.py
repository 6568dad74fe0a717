"""Take what an acquirer reports about a case: in any order, twice, or for a payment that we don't know.

Statuses never go backwards. What is late, doubled or reordered changes nothing. What fits no payment, or contradicts how
a dispute ended, stands under "Unmatched disputes" until two people settle it.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from django.db.models import QuerySet

from disputes.models import Dispute, DisputeReport
from disputes.services import ledger_entries, moves
from disputes.services.moves import Moved
from disputes.services.reports.matching import Unmatched, find_payment
from disputes.services.reports.reports import NETWORK_DEADLINE, ReportedCase, digest, stored_case
from kit.db.prepared_statements import insert_if_absent
from kit.money.money import money
from kit.time.time_ordered_ids import new_id
from ledger import services as ledger
from payments.models import InvalidState, Transaction
from payments.rules.words.dispute_words import FOR_THE_BUSINESS, OPEN, STAGES, Status
from payments.services.rails.declared_accounts import same_as
from payments.services.transactions.intents import lock

Why = DisputeReport.Why


class BelongsElsewhere(InvalidState):
    default_detail = "This case is known already, and belongs to another payment."


@database.atomic
def take(reported: ReportedCase, *, now: datetime) -> DisputeReport:
    """Apply a reported case, and return its report. The same one again returns the first report.

    An unmatched report is tried again: its payment may have succeeded meanwhile.
    """
    mark, report = _taken(DisputeReport.objects.all(), reported)
    if report is not None and not report.is_open and not _adds_deadline(reported, report):
        return report
    try:
        transaction = lock(_payment_of(reported))
        # Another process may have taken the same meanwhile. Its rows are read under the lock.
        mark, report = _taken(DisputeReport.objects.select_for_update(), reported)
        if report is not None and (not report.is_open or report.why == Why.CONTRADICTION):
            _add_deadline(reported, report, now=now)
            return report
        dispute, moved = _apply(reported, transaction, now=now)
    except Unmatched as problem:
        return _store_unmatched(reported, mark, report, problem, now=now)
    stored = _store(reported, mark, report, dispute, now=now)
    moves.book(moved)
    return stored


def _taken(reports: QuerySet[DisputeReport], reported: ReportedCase) -> tuple[str, DisputeReport | None]:
    """Return the key of a report, and the stored one with it.

    A report that differs from a stored one only in the network's deadline is another report.
    """
    mark = digest(reported.connector, reported.account, reported.values)
    first = reports.filter(digest=mark).first()
    known = first.told.get(NETWORK_DEADLINE) if first is not None else None
    if known is None or reported.told.get(NETWORK_DEADLINE, known) == known:
        return mark, first
    mark = digest(reported.connector, reported.account, reported.told)
    return mark, reports.filter(digest=mark).first()


def _adds_deadline(reported: ReportedCase, report: DisputeReport) -> bool:
    """Return whether a report from before the network's deadline was stored is repeated with it, which no other has set."""
    is_without = reported.network_due_at is not None and NETWORK_DEADLINE not in report.told
    return is_without and report.dispute is not None and report.dispute.network_due_at is None


def _add_deadline(reported: ReportedCase, report: DisputeReport, *, now: datetime) -> None:
    """Store the network's deadline of such a report. The caller has locked the payment."""
    if _adds_deadline(reported, report) and report.dispute is not None:
        moves.note_network_deadline(report.dispute, reported.network_due_at, now=now)


def take_unreadable(
    values: list[str],
    *,
    connector: str,
    account: str,
    source: str,
    line: int | None,
    detail: str,
    now: datetime,
) -> DisputeReport:
    """Store a row of a file or an answer that can't be read, for two people to settle."""
    report = DisputeReport(
        id=new_id(now),
        connector=connector,
        account=account,
        digest=digest(connector, account, values),
        source=source,
        line=line,
        told={"cells": values},
        why=Why.UNREADABLE,
        detail=detail[:255],
        created_at=now,
    )
    return report if insert_if_absent(report) else DisputeReport.objects.get(digest=report.digest)


def assign(report: DisputeReport, payment: Transaction, *, now: datetime) -> Dispute:
    """Apply an unmatched report to the payment that staff chose. The caller has locked both.

    If it contradicts how the dispute ended, it stays open as a contradiction, as if it were read again.

    :raises Unmatched: it has another amount than its case
    :raises BelongsElsewhere: the case is known, with another payment
    """
    reported = stored_case(report)
    if case_of(reported).exclude(transaction=payment).exists():
        raise BelongsElsewhere
    try:
        dispute, moved = _apply(reported, payment, now=now)
    except Unmatched as problem:
        if problem.why != Why.CONTRADICTION:
            raise
        _store_unmatched(reported, report.digest, report, problem, now=now)
        return case_of(reported).get(stage=reported.stage)
    report.dispute, report.settled_at = dispute, now
    report.save(update_fields=["dispute", "settled_at"])
    moves.book(moved)
    return dispute


def case_of(reported: ReportedCase) -> QuerySet[Dispute]:
    """Return the disputes of the case, oldest first, also those from before its account moved to another address."""
    accounts = same_as(reported.connector, reported.account)
    found = Dispute.objects.filter(connector=reported.connector, account__in=accounts)
    return found.filter(case_number=reported.case_number).order_by("id")


def _payment_of(reported: ReportedCase) -> UUID:
    """Return the payment of the case, which it never leaves.

    :raises Unmatched: the case is new and fits no payment
    """
    known = case_of(reported).values_list("transaction_id", flat=True).first()
    return known if known is not None else find_payment(reported)


def _apply(reported: ReportedCase, transaction: Transaction, *, now: datetime) -> tuple[Dispute, list[Moved]]:
    """Apply a reported case to a locked payment's disputes.

    :raises Unmatched: it has another amount than its case, more than was captured, or contradicts how a dispute ended
    """
    case = list(case_of(reported).select_for_update())
    if any(dispute.transaction_id != transaction.pk for dispute in case):
        raise Unmatched(Why.SEVERAL_PAYMENTS, "The case belongs to another payment.")  # assigned meanwhile
    for dispute in case:
        dispute.transaction = transaction
    if any(dispute.amount != reported.amount or dispute.currency != reported.currency for dispute in case):
        raise Unmatched(Why.OTHER_AMOUNT, f"The case is about {money(case[0].amount, case[0].currency)}.")
    same = next((dispute for dispute in case if dispute.stage == reported.stage), None)
    if same is not None:
        return same, _update(same, reported, now=now)
    later = [dispute for dispute in case if _place(dispute) > STAGES.index(reported.stage)]
    if later:  # late news of a stage that is over
        return later[0], []
    return _open(reported, transaction, previous=case[-1] if case else None, now=now)


def _place(dispute: Dispute) -> int:
    return STAGES.index(dispute.stage)


def _open(
    reported: ReportedCase, transaction: Transaction, *, previous: Dispute | None, now: datetime
) -> tuple[Dispute, list[Moved]]:
    """Open a dispute in the reported state. The open one of the stage before ends in favour of the business."""
    moved: list[Moved] = []
    if previous is not None and previous.status in OPEN:
        moved.append(moves.close(previous, Status.WON, outcome_amount=previous.amount, now=now))
    is_final = reported.status not in OPEN
    dispute = Dispute(
        id=new_id(now),
        business=transaction.business,
        transaction=transaction,
        connector=reported.connector,
        account=reported.account,
        case_number=reported.case_number,
        stage=reported.stage,
        status=Status.NEEDS_RESPONSE if is_final else reported.status,
        reason=reported.reason,
        network_reason=reported.network_reason,
        amount=reported.amount,
        currency=reported.currency,
        previous=previous,
        opened_at=reported.opened_at or now,
        respond_by=reported.respond_by,
        network_due_at=reported.network_due_at,
    )
    moved.append(moves.open_dispute(dispute, now=now))
    if is_final:
        moved.append(_close(dispute, reported, now=now))
    return dispute, moved


def _update(dispute: Dispute, reported: ReportedCase, *, now: datetime) -> list[Moved]:
    """Apply news of a known stage.

    :raises Unmatched: it contradicts how the dispute ended
    """
    if dispute.status not in OPEN:
        if reported.status in OPEN or _agrees(dispute, reported):
            return []
        returned = money(dispute.outcome_amount or 0, dispute.currency)
        raise Unmatched(Why.CONTRADICTION, f"It ended as {dispute.status} here, and {returned} came back.")
    if reported.status not in OPEN:
        return [_close(dispute, reported, now=now)]
    if reported.network_due_at not in (None, dispute.network_due_at):
        moves.note_network_deadline(dispute, reported.network_due_at, now=now)
    if dispute.status == Status.NEEDS_RESPONSE and reported.status == Status.UNDER_REVIEW:
        return [moves.start_review(dispute, now=now)]
    is_awaited = dispute.status == Status.NEEDS_RESPONSE and reported.respond_by is not None
    if is_awaited and reported.respond_by != dispute.respond_by:
        return [moves.change_deadline(dispute, reported.respond_by, now=now)]
    return []


def _close(dispute: Dispute, reported: ReportedCase, *, now: datetime) -> Moved:
    # An answered dispute was neither conceded here nor left to expire, whatever the acquirer calls its loss.
    is_lost = dispute.status == Status.UNDER_REVIEW and reported.status in {Status.ACCEPTED, Status.EXPIRED}
    status = Status.LOST if is_lost else reported.status
    return moves.close(dispute, status, outcome_amount=_returned(dispute, reported), now=now)


def _agrees(dispute: Dispute, reported: ReportedCase) -> bool:
    """Return whether a final report says how a dispute ended, also of the amount, as far as it tells one."""
    if (dispute.status in FOR_THE_BUSINESS) != (reported.status in FOR_THE_BUSINESS):
        return False
    # A case that expired there was lost as a whole: no concession of a part has arrived.
    is_told = reported.outcome_amount is not None or (dispute.status, reported.status) == (
        Status.ACCEPTED,
        Status.EXPIRED,
    )
    return not is_told or not dispute.moves_money or _returned(dispute, reported) == dispute.outcome_amount


def _returned(dispute: Dispute, reported: ReportedCase) -> int:
    """Return what comes back to the business by a final report."""
    if reported.outcome_amount is not None:
        return min(reported.outcome_amount, dispute.amount)
    return dispute.amount if reported.status in FOR_THE_BUSINESS else 0


def _store(
    reported: ReportedCase, mark: str, report: DisputeReport | None, dispute: Dispute, *, now: datetime
) -> DisputeReport:
    """Store the report with its dispute. One that was unmatched until now belongs to it from now on."""
    if report is not None:
        report.dispute, report.why, report.detail = dispute, Why.MATCHED, ""
        report.save(update_fields=["dispute", "why", "detail"])
        return report
    report = _new(reported, mark, now=now)
    report.dispute = dispute
    report.save(force_insert=True)
    return report


def _store_unmatched(
    reported: ReportedCase,
    mark: str,
    report: DisputeReport | None,
    problem: Unmatched,
    *,
    now: datetime,
) -> DisputeReport:
    """Store a report that belongs to no dispute, once. A contradiction's money goes to suspense.

    One that is stored becomes a contradiction if its case was matched and has ended meanwhile. Only a locked one can.
    """
    if report is not None and problem.why != Why.CONTRADICTION:
        return report
    found = report or _new(reported, mark, now=now)
    found.why, found.detail = problem.why, problem.detail
    if problem.why == Why.CONTRADICTION:
        found.dispute = case_of(reported).get(stage=reported.stage)
        found.amount_in_suspense = _given_back(found.dispute, reported)
    if report is not None:
        report.save(update_fields=["why", "detail", "dispute", "amount_in_suspense"])
    elif not insert_if_absent(found):
        return DisputeReport.objects.get(digest=mark)
    if found.amount_in_suspense:
        ledger.book(ledger_entries.contradiction_in(found, now=now))
    return found


def _given_back(dispute: Dispute, reported: ReportedCase) -> int:
    """Return what the acquirer gives back of what was booked as lost."""
    suspended = dispute.reports.filter(why=Why.CONTRADICTION, settled_at=None)
    already = sum(suspended.values_list("amount_in_suspense", flat=True))
    returned = _returned(dispute, reported) - (dispute.outcome_amount or 0)
    return max(0, min(returned, dispute.amount_lost) - already)


def _new(reported: ReportedCase, mark: str, *, now: datetime) -> DisputeReport:
    return DisputeReport(
        id=new_id(now),
        connector=reported.connector,
        account=reported.account,
        digest=mark,
        source=reported.source,
        line=reported.line,
        told=reported.told,
        currency=reported.currency,
        created_at=now,
    )
