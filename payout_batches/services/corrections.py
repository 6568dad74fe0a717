"""Correct a batch in place, before it is approved: pay an item with a reason, change its account, or take it out."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database

from kit.api.replays import IdempotentResult
from merchants.models import User
from merchants.people.audit import Actor
from payments.models import InvalidState
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls.makers import Maker
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.services.batches import (
    accept_items,
    cancel,
    create,
    end_if_final,
    lock,
    record,
    reprice,
)
from payout_batches.services.checks import compare_items

Status, State = PayoutBatch.Status, PayoutBatchItem.State
OPEN = {Status.CHECKING, Status.NEEDS_CORRECTION, Status.READY}
NOT_THE_MAKER = "Only the member who wrote all rows of a batch can edit them as a sheet. Correct single accounts, or cancel the batch."


@database.atomic
def accept(item_id: UUID, *, reason: str, actor: Actor, now: datetime) -> None:
    """Store why an item is paid although the checks found something.

    :raises InvalidState: the batch can't be changed any more
    :raises InvalidFields: the item needs no decision
    """
    batch, item = _lock(item_id)
    accept_items(batch, {item.reference: reason}, actor=actor, now=now)
    _update_status(batch)


@database.atomic
def correct(item_id: UUID, *, account_number: str, user: User, actor: Actor, now: datetime) -> None:
    """Change an item's account, which is then checked again. A decision about the old one is void.

    The member who changes it may not approve the batch any more, just as its maker.

    :raises InvalidState: the batch can't be changed any more
    :raises BeneficiaryBlocked: the account is blocked
    """
    batch, item = _lock(item_id)
    beneficiaries.require_open(batch.business, account_number=account_number, bank_code=item.bank_code)
    before = item.account_number
    item.account_number, item.beneficiary, item.state = account_number, None, State.CHECKING
    item.corrected_by = user
    item.former_account_number = item.former_account_number or before
    item.account_name = item.duplicate_of = item.problem = ""
    item.accepted_reason = item.accepted_by = ""
    item.accepted_at = None
    item.save()
    after = {"item": item.reference, "account_number": account_number, "before": before}
    record("payout_batch.item_corrected", batch, after=after, actor=actor, now=now)
    _set(batch, Status.CHECKING)


@database.atomic
def remove(item_id: UUID, *, actor: Actor, now: datetime) -> None:
    """Take an item out of a batch: it is cancelled. A batch without items is cancelled too.

    :raises InvalidState: the batch can't be changed any more
    """
    batch, item = _lock(item_id)
    item.state = State.CANCELLED
    item.save(update_fields=["state"])
    reprice(batch)
    record("payout_batch.item_removed", batch, after={"item": item.reference}, actor=actor, now=now)
    if batch.items.unsent().exists():
        if batch.status != Status.CHECKING:
            _set(batch, Status.CHECKING)
            compare_items(batch, now=now)  # what was found of the others beside this one
    else:
        batch.cancelled_by, batch.cancelled_at = actor.name, now
        batch.save(update_fields=["cancelled_by", "cancelled_at"])
        end_if_final(batch, now=now)


def may_replace(batch: PayoutBatch, user: User) -> bool:
    """Return whether a member may replace a batch by one with edited rows.

    Only its maker may, and only if nobody else changed an account of it: the new batch names one maker, and who wrote
    rows of a batch may not approve them. Rows of a key or a retry say more than a sheet.
    """
    is_mine = batch.maker_id == user.pk and batch.key_id is None and batch.retry_of_id is None
    corrected = batch.items.kept().exclude(corrected_by=None).exclude(corrected_by=user)
    return batch.status in OPEN and is_mine and not corrected.exists()


@database.atomic
def replace(
    batch_id: UUID, *, request: Mapping[str, Any], user: User, actor: Actor, now: datetime
) -> IdempotentResult[PayoutBatch]:
    """Store a batch with rows that its maker edited, and cancel the one that it replaces. Both or neither.

    :raises InvalidState: the batch can't be changed any more, or not by this member
    :raises ValidationError: some rows are invalid; nothing was stored
    """
    batch = lock(batch_id)
    maker = Maker.of_member(user)
    made = create(business=batch.business, request=request, maker=maker, actor=actor, now=now)
    if made.is_replay:
        return made
    if batch.status not in OPEN:
        raise InvalidState(f"The rows can't be edited any more. The batch is {batch.status}.")
    if not may_replace(batch, user):
        raise InvalidState(NOT_THE_MAKER)
    cancel(batch.pk, actor=actor, now=now)
    return made


def _lock(item_id: UUID) -> tuple[PayoutBatch, PayoutBatchItem]:
    """Lock an item and its batch.

    :raises InvalidState: one of them can't be changed any more
    """
    batch = lock(PayoutBatchItem.objects.values_list("batch", flat=True).get(pk=item_id))
    item = batch.items.select_for_update().get(pk=item_id)
    if batch.status not in OPEN or item.state in PayoutBatchItem.ENDED:
        raise InvalidState(f"This payout can't be changed any more. The batch is {batch.status}.")
    return batch, item


def _update_status(batch: PayoutBatch) -> None:
    """Say what a batch needs now."""
    if batch.status == Status.CHECKING:
        return  # the end of the checks does
    _set(batch, Status.NEEDS_CORRECTION if batch.items.undecided().exists() else Status.READY)


def _set(batch: PayoutBatch, status: PayoutBatch.Status) -> None:
    if batch.status != status:
        batch.status = status
        batch.save(update_fields=["status"])
