"""Decisions of staff about a settlement batch: approve, release to the wallet, or reject.

Each is one database transaction: the batch, its first chunk of payments, the audit entry, the event and the ledger
entry. `batch_transitions.update_items` updates the other payments of a large batch.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from ledger import services as ledger
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, SettlementBatch, Transaction
from payments.services import ledger_entries
from payments.services.events import opt_in_events
from payments.services.settlement import reserves
from payments.services.settlement.batches import batch_funds, batch_transitions, batches

SettleStatus = Transaction.SettleStatus


@database.atomic
def approve(batch_id: UUID, *, actor: Actor, now: datetime, reason: str = "") -> SettlementBatch:
    """Approve a batch for release, because the bank has received the money.

    Where statements must show the money, payments whose money is missing are moved into a batch of their own.

    :raises InvalidState: it is not pending, or its payments are still being updated
    :raises FundsMissing: none of its money has arrived
    """
    batch_funds.require(batch_transitions.lock(batch_id), actor=actor.name, now=now)
    return _decide(batch_id, SettleStatus.APPROVED, actor=actor, now=now, reason=reason.strip())


@database.atomic
def approve_unfunded(
    batch_id: UUID, *, proposed_by: str, actor: Actor, now: datetime, reason: str = ""
) -> SettlementBatch:
    """Approve a batch whose money hasn't all arrived, as two people decided.

    :raises InvalidState: it is not pending, or its payments are still being updated
    :raises FundsArrived: nothing is missing
    """
    batch = batch_transitions.lock(batch_id)
    batch_funds.take_exception(batch, proposed_by=proposed_by, confirmed_by=actor.name)
    return _decide(batch_id, SettleStatus.APPROVED, actor=actor, now=now, reason=reason.strip())


@database.atomic
def release(
    batch_id: UUID, *, actor: Actor, now: datetime, reason: str = "", proposed_by: str = ""
) -> SettlementBatch:
    """Credit the batch's net to the merchant's wallet, once, and hold back its reserve.

    `proposed_by`: the other person, if two release it.

    :raises InvalidState: it is not approved, or its payments are still being updated
    :raises FundsMissing: money must arrive since it was approved and hasn't, and only one person releases it
    """
    checked = batch_transitions.lock(batch_id)
    batch_funds.require_at_release(checked, proposed_by=proposed_by, confirmed_by=actor.name)
    batch = _decide(batch_id, SettleStatus.RELEASED, actor=actor, now=now, reason=reason.strip())
    held = reserves.hold(batch, now=now)  # after the payments, because account locks come last
    opt_in_events.publish_settlement(batch, now=now)
    if batch.net:
        ledger.book_all([ledger_entries.settlement_released(batch, now=now), *held])
    return batch


@database.atomic
def reject(batch_id: UUID, *, reason: str, actor: Actor, now: datetime) -> SettlementBatch:
    """Reject a batch, so that its payments and refunds can join a new one.

    :raises InvalidState: it is neither initiated nor pending, its payments are still being updated, or the reason
        is empty
    """
    if not reason.strip():
        raise InvalidState("Enter a reason for the rejection.")
    batch = _decide(batch_id, SettleStatus.REJECTED, actor=actor, now=now, reason=reason.strip())
    batches.update_totals(batch)  # an incomplete batch has no totals yet
    batch.brought.update(carried_into=None)
    return batch


def _decide(
    batch_id: UUID, to: SettleStatus, *, actor: Actor, now: datetime, reason: str = ""
) -> SettlementBatch:
    batch = batch_transitions.lock(batch_id)
    before = batch.state
    batch_transitions.transition(batch, to, actor=actor.name, reason=reason, now=now)
    audit.record(
        action=f"settlement_batch.{to}",
        actor=actor,
        business=batch.business,
        target=str(batch.pk),
        before={"state": before},
        after={"state": batch.state} | ({"reason": reason} if reason else {}),
        now=now,
    )
    return batch
