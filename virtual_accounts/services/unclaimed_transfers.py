"""Unclaimed transfers: recorded as notified by the bank, resolved by operators."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from kit.db.prepared_statements import insert_if_absent
from kit.time_ordered_ids import new_id
from merchants import audit
from merchants.audit import Actor
from virtual_accounts.models import UnclaimedTransfer
from virtual_accounts.services.transfer_matching import Notice

Why = UnclaimedTransfer.Why


class AlreadyResolved(Exception):
    """Another operator has resolved this transfer."""


def find(notice: Notice) -> UnclaimedTransfer | None:
    """Return the unclaimed transfer with the notification's bank reference."""
    found: UnclaimedTransfer | None = (
        UnclaimedTransfer.objects.filter(bank_reference=notice.bank_reference)
        .exclude(why=Why.CONFLICT)
        .first()
    )
    return found


def has_content(transfer: UnclaimedTransfer, notice: Notice) -> bool:
    """Return whether a notification equals the recorded one."""
    recorded = (transfer.account_number, transfer.amount, transfer.currency)
    return recorded == (notice.account_number, notice.amount, notice.currency)


def record(notice: Notice, why: UnclaimedTransfer.Why, *, now: datetime) -> bool:
    """Record a notification; return False if it was recorded before."""
    return insert_if_absent(
        UnclaimedTransfer(
            id=new_id(now),
            bank_reference=notice.bank_reference,
            account_number=notice.account_number,
            amount=notice.amount,
            currency=notice.currency,
            why=why,
            sender_name=notice.sender_name,
            narration=notice.narration,
            extra_members=notice.all_members,
            received_at=now,
        )
    )


@database.atomic
def resolve(transfer_id: UUID, *, resolution: str, actor: Actor, now: datetime) -> None:
    """Record how an unclaimed transfer was resolved.

    :raises AlreadyResolved: it was already resolved
    """
    transfer = UnclaimedTransfer.objects.select_for_update().get(pk=transfer_id)
    if not transfer.is_open:
        raise AlreadyResolved
    transfer.resolution, transfer.resolved_by, transfer.resolved_at = resolution, actor.name, now
    transfer.save(update_fields=["resolution", "resolved_by", "resolved_at"])
    audit.record(
        action="unclaimed_transfer.resolved",
        actor=actor,
        business=None,
        target=str(transfer.pk),
        before={"state": "open"},
        after={"bank_reference": transfer.bank_reference, "resolution": resolution},
        now=now,
    )
