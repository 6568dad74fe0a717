"""Decisions about unclaimed transfers: assign one to an account, whose business then decides, or write it off."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from ledger import services as ledger
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState
from payments.services import ledger_entries, suspense
from payments.services.events import opt_in_events
from virtual_accounts.models import Transfer, UnclaimedTransfer
from virtual_accounts.services import transfer_matching, unclaimed_transfers


class NotAssignable(InvalidState):
    default_detail = (
        "The ledger holds no money of this transfer, so it can't be assigned. If the money has arrived, ask the bank to "
        "notify it under a bank reference of its own."
    )


@database.atomic
def assign(
    transfer_id: UUID, *, account_number: str, owner: Business, reason: str, actor: Actor, now: datetime
) -> Transfer:
    """Make the transfer unapplied money of the business that holds or last held the account number.

    :raises InvalidState: it isn't open, or can't be assigned
    :raises UnknownAccount: no account of the owner has or had the number
    """
    unclaimed = lock_open(transfer_id)
    require_assignable(unclaimed)
    notice = unclaimed_transfers.notice_to(account_number, unclaimed)
    transfer = transfer_matching.assign(notice, owner=owner, received_at=unclaimed.received_at, now=now)
    unclaimed_transfers.resolve(unclaimed, resolution=reason, actor=actor.name, now=now)
    opt_in_events.publish_unapplied(transfer.unapplied, now=now)
    out = suspense.leaving(unclaimed, reason=reason, now=now)
    ledger.book_all([*out, ledger_entries.unapplied_in(transfer, now=now)])
    _record(
        "unclaimed_transfer.assigned",
        unclaimed,
        business=owner,
        actor=actor,
        now=now,
        account_number=account_number,
    )
    return transfer


@database.atomic
def write_off(transfer_id: UUID, *, reason: str, actor: Actor, now: datetime) -> None:
    """Take the transfer out of suspense without an owner.

    :raises InvalidState: it isn't open
    """
    unclaimed = lock_open(transfer_id)
    unclaimed_transfers.resolve(unclaimed, resolution=reason, actor=actor.name, now=now)
    ledger.book_all(suspense.written_off(unclaimed, reason=reason, now=now))
    _record("unclaimed_transfer.written_off", unclaimed, business=None, actor=actor, now=now)


def lock_open(transfer_id: UUID) -> UnclaimedTransfer:
    """Return an open transfer, locked until the transaction ends.

    :raises InvalidState: it isn't open
    """
    unclaimed = unclaimed_transfers.lock(transfer_id)
    require_open(unclaimed)
    return unclaimed


def require_open(unclaimed: UnclaimedTransfer) -> None:
    """:raises InvalidState: the transfer was assigned or written off"""
    if not unclaimed.is_open:
        raise InvalidState("This transfer was already assigned, or written off.")


def require_assignable(unclaimed: UnclaimedTransfer) -> None:
    """:raises NotAssignable: the transfer isn't in suspense"""
    if not unclaimed.is_bookable:
        raise NotAssignable


def _record(
    action: str,
    unclaimed: UnclaimedTransfer,
    *,
    business: Business | None,
    actor: Actor,
    now: datetime,
    **further: str,
) -> None:
    audit.record(
        action=action,
        actor=actor,
        business=business,
        target=str(unclaimed.pk),
        before={"state": "open"},
        after={
            "bank_reference": unclaimed.bank_reference,
            "amount": unclaimed.amount,
            "currency": unclaimed.currency,
            "reason": unclaimed.resolution,
            **further,
        },
        now=now,
    )
