"""Payouts that wait before they are sent: for approval inside the business, and then for its server.

Each state change locks the payout first and its approval or question second. The bank is called after the commit.
"""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from functools import partial
from typing import cast
from uuid import UUID

import structlog
from django.db import DatabaseError
from django.db import transaction as database

from kit.api.replays import IdempotentResult
from kit.db import clock
from kit.db.one_by_one import one_by_one
from merchants.models import User
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import (
    InvalidState,
    PayoutApproval,
    PayoutControls,
    PayoutServerQuestion,
    Transaction,
)
from payments.rails import RailUnavailable
from payments.rails.protocol import RailAnswer
from payments.representation.payments import represent
from payments.rules.outcomes import CANCELLED, PAYOUT_REJECTED, Outcome
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls import approvals, expiry_mail, server_questions
from payments.services.payouts.controls.approvals import EXPIRY, AlreadyDecided, item_of
from payments.services.payouts.controls.payout_freezes import is_frozen
from payments.services.payouts.controls.server_questions import Answer, Decision
from payments.services.rails.rail_choices import bank_finder
from payments.services.rails.rail_orders import payout_order
from payments.services.rails.rail_queries import query_leases, rail_blocks
from payments.services.transactions import transitions
from payments.services.transactions.intents import FIRST_QUERY_AFTER, find, lock
from payments.services.transactions.state_descriptions import described
from payments.services.transactions.transitions import Cause, call_rail

log = structlog.get_logger("sluice.payouts")

Awaiting = Transaction.Awaiting
WAITING = (Awaiting.APPROVAL, Awaiting.SERVER)  # not sent yet


def approve(payout_id: UUID, *, user: User, actor: Actor, now: datetime) -> Transaction:
    """Approve a payout as a member. The last approval that is needed lets it go: calls the bank, after the commit.

    :raises InvalidState: it doesn't wait for approval, has changed, or the member has approved it before
    :raises MayNotApprove: the member made it, or may not make payouts
    :raises PayoutsFrozen: staff have frozen the payouts of the business
    :raises BeneficiaryBlocked: the account was blocked meanwhile
    """
    payout = _approve(payout_id, user=user, actor=actor, now=now)
    return send(payout) if payout.awaiting == Awaiting.RAIL else payout


@database.atomic
def _approve(payout_id: UUID, *, user: User, actor: Actor, now: datetime) -> Transaction:
    payout = _lock_waiting(payout_id, Awaiting.APPROVAL)
    beneficiaries.require_open(
        payout.business, account_number=payout.account_number, bank_code=payout.bank_code
    )
    approval = approvals.approve(payout.approval.pk, items=[item_of(payout)], user=user, now=now)
    _record("payout.approved", payout, actor=actor, now=now)
    if approval.state == PayoutApproval.State.APPROVED:
        approvals.require_unchanged(approval, [item_of(payout)])
        _let_go(payout, cause=Cause.MERCHANT, now=now)
    return payout


def _let_go(payout: Transaction, *, cause: Cause, now: datetime) -> None:
    """Have the business's server asked about an approved payout, or let it be sent."""
    if PayoutControls.objects.filter(business=payout.business_id).exclude(server_url="").exists():
        payout.await_server(cause=cause, now=now)
        server_questions.open_question(business=payout.business, payout=payout, now=now)
    else:
        payout.release(query_at=now + FIRST_QUERY_AFTER, cause=cause, now=now)


def send(payout: Transaction) -> Transaction:
    """Send a released payout to its bank, outside a database transaction. If it can't be sent now, a query sends it."""
    try:
        if not is_frozen(payout) and rail_blocks.may_send(payout, now=clock.now()):
            return call_rail(payout, partial(_order, payout), cause=Cause.RAIL)
    except RailUnavailable:
        pass
    query_leases.release(payout)
    return payout


def _order(payout: Transaction) -> RailAnswer:
    return bank_finder(payout)().send(payout_order(payout))


@database.atomic
def reject(payout_id: UUID, *, reason: str, user: User, actor: Actor, now: datetime) -> Transaction:
    """Reject a payout that waits for approval. It fails with 20092, and its money returns to the wallet.

    :raises InvalidState: it doesn't wait for approval
    """
    payout = _lock_waiting(payout_id, Awaiting.APPROVAL)
    approvals.close(payout.approval.pk, PayoutApproval.State.REJECTED, user=user, reason=reason, now=now)
    transitions.finish(payout, PAYOUT_REJECTED, cause=Cause.MERCHANT, now=now)
    _record("payout.rejected", payout, actor=actor, now=now, reason=reason)
    return payout


@database.atomic
def cancel(payout_id: UUID, *, person: Actor | None = None, now: datetime) -> IdempotentResult[Transaction]:
    """Cancel a payout that hasn't been sent: it fails with 20091. A cancelled payout is replayed.

    A person is recorded. Cancellations by API keys stand in the request log.

    :raises InvalidState: it was sent, or has its outcome
    """
    payout = lock(payout_id)
    if payout.response_code == CANCELLED.code:
        return IdempotentResult(payout, is_replay=True)
    if payout.awaiting not in WAITING:
        raise InvalidState(f"Only a payout that waits for approval can be cancelled. {described(payout)}")
    _end(payout, PayoutApproval.State.CANCELLED, CANCELLED, cause=Cause.MERCHANT, now=now)
    if person is not None:
        _record("payout.cancelled", payout, actor=person, now=now)
    return IdempotentResult(payout, is_replay=False)


def expire_overdue(*, now: datetime) -> int:
    """Fail the payouts that were not approved within 72 hours, and return how many this call has failed."""
    overdue = approvals.overdue(at=now).filter(transaction__isnull=False).select_related("business")[:500]
    payouts = [cast("UUID", each.transaction_id) for each in overdue]
    expired = one_by_one(partial(expire, now=now), payouts, failure="approval not expired")
    ended = Counter(each.business for each, is_expired in zip(overdue, expired, strict=True) if is_expired)
    for business, number in ended.items():
        expiry_mail.send(business, number=number, now=now)
    return ended.total()


@database.atomic
def expire(payout_id: UUID, *, now: datetime) -> bool:
    """Fail a payout whose time for approval is over. Returns False if another process was first."""
    payout = lock(payout_id)
    if payout.awaiting != Awaiting.APPROVAL or payout.approval.expires_at > now:
        return False
    _end(payout, PayoutApproval.State.EXPIRED, PAYOUT_REJECTED, cause=Cause.EXPIRY, now=now)
    _record("payout.expired", payout, actor=EXPIRY, now=now)
    return True


def _end(
    payout: Transaction,
    state: PayoutApproval.State,
    outcome: Outcome,
    *,
    cause: Cause,
    now: datetime,
) -> None:
    """Fail a locked payout that waits, with its approval or question."""
    if payout.awaiting == Awaiting.APPROVAL:
        approvals.close(payout.approval.pk, state, now=now)
    else:
        server_questions.cancel(payout.server_question.pk, now=now)
    transitions.finish(payout, outcome, cause=cause, now=now)


def ask_servers() -> int:
    """Ask the servers that are due about their payouts, and return how many were asked."""
    leased = server_questions.lease_due(now=clock.now())
    return _ask(leased)


def ask_server_of(payout: Transaction) -> int:
    """Ask the server about one payout now, due or not (the sandbox passes the wait)."""
    PayoutServerQuestion.objects.filter(transaction=payout).update(next_attempt_at=clock.now())
    only = PayoutServerQuestion.objects.filter(transaction=payout)
    return _ask(server_questions.lease_due(now=clock.now(), questions=only))


def _ask(leased: list[PayoutServerQuestion]) -> int:
    questions = []
    for one in leased:
        payout = find(cast("UUID", one.transaction_id))
        question = server_questions.question_of(one, represent(payout), subject=payout.pk)
        if question is None:  # an owner has turned it off since
            _apply(Answer(one.pk, Decision.APPROVE, "Not asked any more."), payout.pk)
        else:
            questions.append((question, payout.pk))
    for answer, (_, payout_id) in zip(
        server_questions.ask([each for each, _ in questions]), questions, strict=True
    ):
        _apply(answer, payout_id)
    return len(leased)


def _apply(answer: Answer, payout_id: UUID) -> None:
    """Apply an answer. One that can't be stored is asked for again when its lease has ended."""
    try:
        payout = _decide(answer, payout_id, now=clock.now())
    except (DatabaseError, AlreadyDecided) as error:
        log.warning("answer about a payout not stored", id=str(payout_id), error=type(error).__name__)
        return
    if payout.awaiting == Awaiting.RAIL:
        send(payout)


@database.atomic
def _decide(answer: Answer, payout_id: UUID, *, now: datetime) -> Transaction:
    """Store a server's answer, and let the payout go or fail it."""
    payout = _lock_waiting(payout_id, Awaiting.SERVER)
    question = server_questions.lock(answer.question_id)
    server_questions.record(question, answer, is_frozen=is_frozen(payout), now=now)
    state = PayoutServerQuestion.State(question.state)
    if state == PayoutServerQuestion.State.APPROVED:
        payout.release(query_at=now + FIRST_QUERY_AFTER, cause=Cause.MERCHANT, now=now)
    elif state == PayoutServerQuestion.State.DENIED:
        transitions.finish(payout, PAYOUT_REJECTED, cause=Cause.MERCHANT, now=now)
    elif state == PayoutServerQuestion.State.UNANSWERED:
        transitions.finish(payout, PAYOUT_REJECTED, cause=Cause.EXPIRY, now=now)
    return payout


def _lock_waiting(payout_id: UUID, awaited: Transaction.Awaiting) -> Transaction:
    payout = lock(payout_id)
    if payout.awaiting != awaited:
        raise AlreadyDecided(f"{AlreadyDecided.default_detail} {described(payout)}")
    return payout


def _record(action: str, payout: Transaction, *, actor: Actor, now: datetime, reason: str = "") -> None:
    audit.record(
        action=action,
        actor=actor,
        business=payout.business,
        target=payout.reference,
        after={"amount": payout.amount, "currency": payout.currency} | ({"reason": reason} if reason else {}),
        now=now,
    )
