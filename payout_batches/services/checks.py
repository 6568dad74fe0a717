"""Check the accounts of batches: name enquiries, at most five at once per connector, then duplicates and limits.

Each answer is stored when it arrives. A run that dies leaves its items to the next one, once its lease has ended.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction as database

from kit import banks
from kit.connectors.connectors import RailUnavailable
from kit.db.clock import database_now
from merchants.models import Business
from payments.rails.protocol import AnswerLost, PayoutBank
from payments.rules.name_matching import names_match
from payments.services.rails.rail_choices import bank_for
from payout_batches.models import PayoutBatch, PayoutBatchItem, WorkLease
from payout_batches.services import duplicates
from payout_batches.services.batches import lock
from payout_batches.services.limit_checks import over_limits

Status, State = PayoutBatch.Status, PayoutBatchItem.State
AT_ONCE = 5  # name enquiries per connector
RUN_TIME = 5.0  # seconds that a run starts enquiries
MARGIN = timedelta(seconds=15)  # of a lease, beyond the longest call

log = structlog.get_logger("sluice.payout_batches")


class Waiting(NamedTuple):
    """A batch that is being checked, and the bank to ask, if it is available."""

    batch: PayoutBatch
    bank: PayoutBank | None


def check_due(*, clock: Callable[[], datetime] = database_now) -> None:
    """Check what is due, each connector under a lease of its own."""
    batches = PayoutBatch.objects.filter(status=Status.CHECKING).select_related("business")
    by_connector: dict[str, list[Waiting]] = {}
    for batch in batches.order_by("id"):
        bank = _bank_of(batch.business)
        by_connector.setdefault(bank.name if bank else "", []).append(Waiting(batch, bank))
    for connector, waiting in by_connector.items():
        name = f"enquiries:{connector}"
        token = WorkLease.acquire(name, lasts=_lease(), now=clock())
        if token is None:
            continue
        try:
            _check(waiting, name, token, clock=clock)
        finally:
            WorkLease.release(name, token, now=clock())


def _bank_of(business: Business) -> PayoutBank | None:
    try:
        return bank_for(business)
    except RailUnavailable:
        return None


def _lease() -> timedelta:
    return timedelta(seconds=max(settings.BANK_TIMEOUT, settings.PAYSTACK_TIMEOUT)) + MARGIN


def _check(waiting: list[Waiting], lease: str, token: UUID, *, clock: Callable[[], datetime]) -> None:
    banks_of = {batch.pk: bank for batch, bank in waiting}
    deadline = time.monotonic() + RUN_TIME
    with ThreadPoolExecutor(AT_ONCE) as pool:
        while items := _next_items(banks_of):
            asked = {pool.submit(_ask, banks_of[item.batch_id], item): item for item in items}
            for answer in as_completed(asked):
                _store(asked[answer], answer)
            if time.monotonic() > deadline:
                break
            if not WorkLease.renew(lease, token, lasts=_lease(), now=clock()):
                return  # another process has taken over
    for batch_id in banks_of:
        finish_checks(batch_id, now=clock())


def _next_items(batches: Iterable[UUID]) -> list[PayoutBatchItem]:
    """Return the next items to check. Small batches end early: the first of each come first."""
    waiting = PayoutBatchItem.objects.filter(batch__in=batches, state=State.CHECKING)
    return list(waiting.order_by("position", "batch_id")[:AT_ONCE])


def _ask(bank: PayoutBank | None, item: PayoutBatchItem) -> str | None:
    """Return the holder of an item's account, or None if there is no such account. Needs no database."""
    listed = banks.find(item.bank_code)
    if listed is None:
        return None
    if bank is None:
        raise AnswerLost
    return bank.account_name(
        account_number=item.account_number, nip_code=listed.nip_code, given_name=item.name
    )


def _store(item: PayoutBatchItem, answer: Future[str | None]) -> None:
    """Store what the bank said about an account. An item that was cancelled or corrected meanwhile stays as it is."""
    try:
        state, name = _verdict(item.name, answer.result())
    except (AnswerLost, RailUnavailable):
        state, name = State.UNVERIFIED, ""
    except Exception:  # of one item: the others go on
        log.exception("name enquiry failed", item=str(item.pk))
        state, name = State.UNVERIFIED, ""
    asked = PayoutBatchItem.objects.filter(
        pk=item.pk, state=State.CHECKING, account_number=item.account_number, bank_code=item.bank_code
    )
    asked.update(state=state, account_name=name, problem=_PROBLEMS.get(state, ""))


_PROBLEMS = {
    State.UNVERIFIED: "The bank did not answer the name enquiry.",
    State.UNKNOWN_ACCOUNT: "The bank has no account with this number.",
    State.NAME_DIFFERS: "The bank has another name for this account.",
}


def _verdict(given: str, by_bank: str | None) -> tuple[PayoutBatchItem.State, str]:
    if by_bank is None:
        return State.UNKNOWN_ACCOUNT, ""
    return (State.OK if names_match(given, by_bank) else State.NAME_DIFFERS), by_bank


@database.atomic
def finish_checks(batch_id: UUID, *, now: datetime) -> None:
    """End the checks of a batch once all its accounts are checked."""
    batch = lock(batch_id)
    if batch.status != Status.CHECKING or batch.items.filter(state=State.CHECKING).exists():
        return
    batch.checked_at = now
    batch.save(update_fields=["checked_at"])
    compare_items(batch, now=now)


def compare_items(batch: PayoutBatch, *, now: datetime) -> None:
    """Find duplicates and what is over a limit in a locked batch, and say what it needs."""
    items = list(batch.items.unsent().order_by("position"))
    changed = _reset(items)
    changed += duplicates.mark(batch, items, now=now)
    changed += _over_limit(items, over_limits(batch, items, now=now))
    PayoutBatchItem.objects.bulk_update(set(changed), ["state", "duplicate_of", "problem"])
    batch.status = Status.NEEDS_CORRECTION if batch.items.undecided().exists() else Status.READY
    batch.save(update_fields=["status"])


def _reset(items: list[PayoutBatchItem]) -> list[PayoutBatchItem]:
    """Undo and return what an earlier comparison found, unless it was accepted: the other items may have changed."""
    found = [item for item in items if item.accepted_at is None and item.state != State.OK]
    for item in found:
        if item.state in {State.DUPLICATE, State.OVER_LIMIT}:
            item.state = _verdict(item.name, item.account_name)[0] if item.account_name else State.UNVERIFIED
        item.duplicate_of, item.problem = "", _PROBLEMS.get(State(item.state), "")
    return found


def _over_limit(items: list[PayoutBatchItem], found: dict[str, str]) -> list[PayoutBatchItem]:
    """Mark and return the items that are over a limit. What else was found of an item stays, and both are said."""
    marked = []
    for item in items:
        problem = found.get(item.reference)
        if item.accepted_at is not None or problem is None:
            continue
        if item.state == State.OK:
            item.state, item.problem = State.OVER_LIMIT, problem
        elif problem not in item.problem:
            item.problem = f"{item.problem} {problem}"[:255]
        marked.append(item)
    return marked
