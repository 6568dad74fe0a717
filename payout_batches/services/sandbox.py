"""Advance a sandbox batch: what it waits for happens now."""

import time
from collections.abc import Callable
from datetime import datetime
from typing import Any

from django.db import transaction as database
from rest_framework.exceptions import NotFound

from kit.db.clock import database_now
from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import PayoutApproval, PayoutServerQuestion
from payments.services.payouts.controls.approvals import Needed
from payout_batches import summaries
from payout_batches.models import PayoutBatch
from payout_batches.representation import represent_batch
from payout_batches.services import checks, sending
from payout_batches.services.batches import ask_for_approval, find_of, lock, record, reject

Status = PayoutBatch.Status
WAITING = {Status.AWAITING_APPROVAL, Status.SCHEDULED, Status.PROCESSING}
LONGEST = 1.0  # seconds for which the work of another process is awaited


def advance_by_reference(business: Business, reference: str, *, actor: Actor) -> dict[str, Any]:
    """Advance a batch and return its answer.

    :raises NotFound: the business has no such batch
    """
    return represent_batch(summaries.shown(advance(_own(business, reference), actor=actor)))


def reject_by_reference(business: Business, reference: str, *, actor: Actor) -> dict[str, Any]:
    """Have another member reject a batch, and return its answer. The approval of a ready one is asked for first.

    :raises NotFound: the business has no such batch
    :raises InvalidState: it is neither ready nor waits for approval
    """
    batch = _own(business, reference)
    return represent_batch(summaries.shown(_reject(batch, actor=actor, now=database_now())))


@database.atomic
def _reject(batch: PayoutBatch, *, actor: Actor, now: datetime) -> PayoutBatch:
    current = lock(batch.pk)
    if current.status == Status.READY:
        ask_for_approval(current, Needed(1, "Asked for in the sandbox"), actor=actor, now=now)
    return reject(current.pk, reason="Rejected in the sandbox", user=None, actor=actor, now=now)


def _own(business: Business, reference: str) -> PayoutBatch:
    batch = find_of(business, reference)
    if batch is None:
        raise NotFound
    return batch


def advance(batch: PayoutBatch, *, actor: Actor) -> PayoutBatch:
    """Check the accounts now, send a scheduled batch now, ask the business's server now, or end the wait for approval or money.

    One that waits for nothing stays as it is: the workers may have been faster.
    """
    if batch.status == Status.CHECKING:
        _work(checks.check_due, batch)
    elif batch.status in WAITING:
        _end_wait(batch, actor=actor, now=database_now())
        _work(sending.send_due, batch)
    return batch


def _work(run: Callable[..., None], batch: PayoutBatch) -> None:
    """Run the work of a batch, again while another process has it."""
    until = time.monotonic() + LONGEST
    while True:
        run(clock=database_now)
        batch.refresh_from_db()
        is_open = batch.status in {Status.CHECKING, Status.PROCESSING} and not batch.waits_for
        if not is_open or time.monotonic() > until:
            return
        time.sleep(0.05)


@database.atomic
def _end_wait(batch: PayoutBatch, *, actor: Actor, now: datetime) -> None:
    current = lock(batch.pk)
    if current.status == Status.AWAITING_APPROVAL:
        PayoutApproval.objects.filter(batch=current, expires_at__gt=now).update(expires_at=now)
        record("payout_batch.advanced", current, actor=actor, now=now)
        return
    if current.status not in {Status.SCHEDULED, Status.PROCESSING}:
        return
    _ask_server_now(current, now=now)
    current.next_attempt_at = now
    if current.held_since is not None:
        current.held_since = now - sending.HELD_FOR
    current.save(update_fields=["next_attempt_at", "held_since"])
    record("payout_batch.advanced", current, actor=actor, now=now)


def _ask_server_now(batch: PayoutBatch, *, now: datetime) -> None:
    """Make the question to the business's server due, if there is one that isn't decided."""
    asking = PayoutServerQuestion.objects.filter(batch=batch, state=PayoutServerQuestion.State.ASKING)
    asking.update(next_attempt_at=now)
