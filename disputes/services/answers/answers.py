"""The answer of a business to a dispute, given once: it submits its evidence, or accepts all or a part."""

from collections.abc import Callable, Collection
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database

from disputes import rails
from disputes.models import Dispute
from disputes.services import moves
from disputes.services.answers.packet import packet_without
from disputes.services.locking import lock_dispute
from disputes.services.moves import Moved
from disputes.services.rails import outbox
from kit.api.replays import IdempotentResult
from kit.connectors.connectors import NotSupported
from kit.db.clock import database_now
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState
from payments.rules.words.dispute_words import Stage, Status
from payments.services.transactions.operations import AmountTooLarge


@database.atomic
def submit(
    dispute_id: UUID,
    *,
    leave_out: Collection[str] = (),
    actor: Actor,
    clock: Callable[[], datetime] = database_now,
) -> IdempotentResult[Dispute]:
    """Submit the evidence of a dispute with the packet, less the parts that are left out.

    :raises InvalidState: it awaits no answer, its deadline has passed, or there is nothing to submit
    """
    dispute = lock_dispute(dispute_id)
    answer = {"submit": {"leave_out": sorted(set(leave_out))}}
    if dispute.answer == answer:
        return IdempotentResult(dispute, is_replay=True)
    now = clock()
    _require_unanswered(dispute, now=now)
    if not dispute.evidence.exists() and not packet_without(leave_out, dispute.transaction):
        raise InvalidState("There is nothing to submit. Add evidence, or leave less of the packet out.")
    return _finish(dispute, moves.submit(dispute, answer, actor=actor.name, now=now), actor=actor, now=now)


@database.atomic
def accept(
    dispute_id: UUID,
    *,
    amount: int | None = None,
    actor: Actor,
    clock: Callable[[], datetime] = database_now,
) -> IdempotentResult[Dispute]:
    """Concede a dispute: all of it, or `amount` minor units.

    :raises InvalidState: it is an inquiry, awaits no answer, or its deadline has passed
    :raises NotSupported: it is a part, and the acquirer takes only the whole amount
    :raises AmountTooLarge: the amount exceeds the disputed amount
    """
    dispute = lock_dispute(dispute_id)
    conceded = dispute.amount if amount is None else amount
    answer = {"accept": {"amount": conceded}}
    if dispute.answer == answer:
        return IdempotentResult(dispute, is_replay=True)
    now = clock()
    _require_unanswered(dispute, now=now)
    if dispute.stage == Stage.INQUIRY:
        raise InvalidState(
            "An inquiry moves no money, so there is nothing to accept. Refund the payment instead."
        )
    if conceded < dispute.amount and not rails.accepts_parts(dispute.connector):
        raise NotSupported({"amount": "The acquirer of this payment takes only the whole amount."})
    if conceded > dispute.amount:
        raise AmountTooLarge(f"At most {dispute.amount} is disputed.", limit=dispute.amount)
    moved = moves.close(
        dispute,
        Status.ACCEPTED,
        outcome_amount=dispute.amount - conceded,
        actor=actor.name,
        answer=answer,
        now=now,
    )
    return _finish(dispute, moved, actor=actor, now=now)


def _require_unanswered(dispute: Dispute, *, now: datetime) -> None:
    if dispute.status != Status.NEEDS_RESPONSE:
        raise InvalidState(f"This dispute awaits no answer: it is {dispute.status}.")
    if dispute.is_overdue(at=now):
        raise InvalidState("The time to answer this dispute is over.")


def _finish(dispute: Dispute, moved: Moved, *, actor: Actor, now: datetime) -> IdempotentResult[Dispute]:
    answer: dict[str, Any] = dispute.answer or {}
    audit.record(
        action=f"dispute.{moved.step.kind if 'submit' in answer else 'accepted'}",
        actor=actor,
        business=dispute.business,
        target=str(dispute.pk),
        after=answer,
        now=now,
    )
    moves.book([moved])
    outbox.write(dispute, now=now)
    return IdempotentResult(dispute, is_replay=False)
