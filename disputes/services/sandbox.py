"""Disputes of the sandbox: a card payment whose amount ends in 77 is disputed when it is advanced."""

from collections.abc import Callable
from datetime import datetime, timedelta
from uuid import UUID

from django.db import transaction as database
from django.db.models import Q

from disputes import rails
from disputes.models import Dispute
from disputes.services import moves
from disputes.services.reports import intake
from disputes.services.reports.reports import ReportedCase
from kit.text.ids import read_id
from merchants.models import Business
from payments.models import InvalidState, Transaction
from payments.rules import sandbox_triggers
from payments.rules.words.dispute_words import STAGES, Reason, Stage, Status
from payments.services.transactions.intents import lock

TIME_TO_ANSWER = timedelta(days=7)
DECISIONS = {"win": Status.WON, "lose": Status.LOST}  # by the last text of evidence that is one of these
ESCALATE = "escalate"


def advance(payment: Transaction, name: str, *, clock: Callable[[], datetime]) -> bool:
    """Take the next step of a payment's dispute: open, expire or decide it. Returns False if there is none.

    `name` may be the id or the case number of a dispute. Otherwise the newest open one is advanced.

    :raises InvalidState: another call advances it
    """
    if rails.is_queried(payment.connector):
        return False  # its provider disputes it
    before = _current(payment, name)
    with database.atomic():
        transaction = lock(payment.pk)
        dispute = _current(transaction, name)
        if _state(dispute) != _state(before):
            raise InvalidState("This payment is being advanced by another call.")
        now = clock()
        if dispute is None:
            if not _is_to_be_disputed(transaction):
                return False
            intake.take(_reported_case(transaction, Stage.CHARGEBACK, now=now), now=now)
        elif dispute.status == Status.NEEDS_RESPONSE:
            _expire(dispute, transaction, now=now)
        elif dispute.status == Status.UNDER_REVIEW:
            _decide(dispute, transaction, now=now)
        else:
            return False
    return True


def find_payment(business: Business, name: str) -> Transaction | None:
    """Return a payment by its id, or by the case number or id of its dispute."""
    disputed = Dispute.objects.of(business).filter(_is_named(name)).values("transaction")
    found = Transaction.objects.of(business).filter(Q(pk=read_id(name)) | Q(pk__in=disputed))
    return found.select_related("business").first()


def _is_to_be_disputed(payment: Transaction) -> bool:
    succeeded = payment.is_card_payment and payment.status == Transaction.Status.SUCCESS
    return succeeded and sandbox_triggers.is_disputed(payment.amount)


def _current(payment: Transaction, name: str) -> Dispute | None:
    """Return the newest open dispute of the named case, or of all if none is named. Without an open one, the newest."""
    disputes = payment.disputes.order_by("-id")
    named = disputes.filter(_is_named(name)).values_list("case_number", flat=True).first()
    found: list[Dispute] = list(disputes if named is None else disputes.filter(case_number=named))
    return next((each for each in found if each.is_open), found[0] if found else None)


def _state(dispute: Dispute | None) -> tuple[UUID, str] | None:
    return None if dispute is None else (dispute.pk, dispute.status)


def _expire(dispute: Dispute, payment: Transaction, *, now: datetime) -> None:
    dispute.transaction, dispute.respond_by = payment, now
    dispute.save(update_fields=["respond_by"])
    moves.book([moves.close(dispute, Status.EXPIRED, outcome_amount=0, now=now)])


def _decide(dispute: Dispute, payment: Transaction, *, now: datetime) -> None:
    wanted = dispute.evidence.filter(text__in=[*DECISIONS, ESCALATE]).order_by("-id").first()
    decision = wanted.text if wanted is not None else "lose"
    following = STAGES[STAGES.index(dispute.stage) + 1 :]
    if decision == ESCALATE and following:
        intake.take(_reported_case(payment, following[0], now=now, dispute=dispute), now=now)
        return
    status = DECISIONS.get(decision, Status.LOST)
    reported = _reported_case(payment, Stage(dispute.stage), now=now, dispute=dispute, status=status)
    intake.take(reported, now=now)


def _reported_case(
    payment: Transaction,
    stage: Stage,
    *,
    now: datetime,
    dispute: Dispute | None = None,
    status: Status = Status.NEEDS_RESPONSE,
) -> ReportedCase:
    """Return a new case, or news of the case of a dispute, which a file may have reported."""
    return ReportedCase(
        connector=payment.connector,
        account=payment.account,
        case_number=dispute.case_number if dispute else f"CASE-{payment.pk.hex[-12:].upper()}",
        stage=stage,
        status=status,
        amount=dispute.amount if dispute else payment.amount_captured,
        currency=payment.currency,
        reason=Reason(dispute.reason) if dispute else Reason.FRAUDULENT,
        rrn=payment.retrieval_reference_number,
        acquirer_reference=payment.acquirer_transaction_id,
        respond_by=now + TIME_TO_ANSWER if status == Status.NEEDS_RESPONSE else None,
        opened_at=now,
        source="sandbox",
    )


def _is_named(name: str) -> Q:
    return Q(case_number=name) | Q(pk=read_id(name))
