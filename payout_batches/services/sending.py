"""Send the payouts of released batches, in the order of the file, at most `PAYOUT_BATCH_RATE` a second per business.

Each item becomes a payout in a transaction of its own: the payout, its debit and the item's state commit together, so
that no item is ever paid twice or lost. Then the bank is called, up to ten calls at once. A process that dies in between
leaves a payout that awaits its bank, which `requery` asks. Only one process sends the payouts of a business.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from datetime import datetime, timedelta
from functools import partial
from itertools import chain
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction as database
from django.db.models import Q, QuerySet
from rest_framework.exceptions import ValidationError

from kit import banks
from kit.api.errors import Problem
from kit.connectors.connectors import RailUnavailable
from kit.db import clock as database_clock
from kit.db.one_by_one import one_by_one
from kit.db.prepared_statements import Lookup, update_if_unchanged
from ledger.services import InsufficientFunds
from merchants.models import Business
from payments.fingerprints import generated_fingerprint
from payments.models import PayoutServerQuestion, Transaction
from payments.rails.protocol import PayoutBank, RailAnswer
from payments.services.fee_rules import NoPrice
from payments.services.payouts import payouts
from payments.services.payouts.beneficiaries import BeneficiaryBlocked
from payments.services.payouts.controls import approvals
from payments.services.payouts.controls.acceptance import ReleasedSet
from payments.services.payouts.controls.payout_limits import PayoutLimitReached
from payments.services.rails.rail_choices import bank_for
from payments.services.rails.rail_orders import payout_order
from payments.services.transactions.transitions import Cause, call_rail
from payout_batches.models import PayoutBatch, PayoutBatchItem, WorkLease
from payout_batches.services import batches, notices, server_answers
from payout_batches.services.batches import end_if_final, lock
from payout_batches.services.pace import Pace

Status, State = PayoutBatch.Status, PayoutBatchItem.State
CALLS_AT_ONCE = 10
READ_AHEAD = 25  # items
RUN_TIME = 10.0  # seconds that a run starts payouts
LEASE = timedelta(seconds=30)  # renewed when a tenth of it is over
WAITS = timedelta(seconds=15)  # before a batch that can't go on is tried again
HELD_FOR = timedelta(hours=24)
TOO_LOW = "The balance is too low."
WITH_WORK = (Status.AWAITING_APPROVAL, Status.SCHEDULED, Status.PROCESSING)

log = structlog.get_logger("sluice.payout_batches")
_LOCKED = Lookup(PayoutBatchItem, "id", joined=("batch", "business"), lock=True)


def send_due(*, clock: Callable[[], datetime] = database_clock.now) -> None:
    """Send what is due, and end the batches whose payouts are all final."""
    if not PayoutBatch.objects.filter(status__in=WITH_WORK).exists():
        return
    now = clock()
    due = PayoutBatch.objects.filter(status=Status.SCHEDULED, next_attempt_at__lte=now)
    due.update(status=Status.PROCESSING, started_at=now)
    open_batches = PayoutBatch.objects.filter(status=Status.PROCESSING)
    ready = open_batches.filter(next_attempt_at__lte=now, cancelled_at__isnull=True)
    server_answers.ask_due(clock=clock)
    _expire(now=now)
    businesses = Business.objects.filter(pk__in=ready.values("business"))
    released = PayoutBatch.objects.filter(finished_at__isnull=True, released_at__isnull=False)
    for _ in chain(
        one_by_one(partial(_send_of, clock=clock), businesses, failure="payouts of batches not sent"),
        one_by_one(
            partial(_end, clock=clock), released.values_list("pk", flat=True), failure="batch not ended"
        ),
    ):
        pass


def _expire(*, now: datetime) -> None:
    """Cancel the batches that were not approved within 72 hours. While payouts are frozen, time stands still."""
    overdue = approvals.overdue(at=now).filter(batch__status=Status.AWAITING_APPROVAL)
    ids = overdue.values_list("batch", flat=True)
    for _ in one_by_one(partial(batches.expire, now=now), ids, failure="batch not expired"):
        pass


@database.atomic
def _end(batch_id: UUID, *, clock: Callable[[], datetime]) -> None:
    end_if_final(lock(batch_id), now=clock())


def _send_of(business: Business, *, clock: Callable[[], datetime]) -> None:
    name = f"payouts:{business.pk}"
    token = WorkLease.acquire(name, lasts=LEASE, now=clock())
    if token is None:
        return
    run = _Run(business, renew=partial(WorkLease.renew, name, token, lasts=LEASE), clock=clock)
    try:
        run.send()
    finally:
        run.close()
        WorkLease.release(name, token, now=clock())


class _Run:
    """One run for a business: accepts payouts one by one, and has several answers awaited."""

    def __init__(
        self, business: Business, *, renew: Callable[..., bool], clock: Callable[[], datetime]
    ) -> None:
        self._business, self._renew, self._clock = business, renew, clock
        self._pool = ThreadPoolExecutor(CALLS_AT_ONCE)
        self._calls: dict[Future[RailAnswer], Transaction] = {}
        self._next_items: deque[PayoutBatchItem] = deque()
        self._compared: set[UUID] = set()  # batches, with what members approved
        self._renew_at = 0.0  # on the monotonic clock

    def send(self) -> None:
        deadline = time.monotonic() + RUN_TIME
        pace = Pace(settings.PAYOUT_BATCH_RATE, now=time.monotonic())
        while time.monotonic() < deadline and self._is_ours():
            item = self._next()
            if item is None:
                return
            if self._was_changed(item.batch_id):
                self._next_items.clear()
                continue
            payout = _accept(item, now=self._clock())
            if payout is None:
                self._next_items.clear()  # the rest of its batch may have to wait
                continue
            self._call(payout)
            self._apply_answers(until=pace.after(time.monotonic()))

    def _is_ours(self) -> bool:
        """Renew the lease in time. Return False if another process has taken it."""
        if time.monotonic() < self._renew_at:
            return True
        self._renew_at = time.monotonic() + LEASE.total_seconds() / 10
        return self._renew(now=self._clock())

    def _next(self) -> PayoutBatchItem | None:
        """Return the first item of the oldest batch that can go on. `_start` reads it again under its lock."""
        if not self._next_items:
            self._next_items.extend(self._waiting()[:READ_AHEAD])
        return self._next_items.popleft() if self._next_items else None

    def _waiting(self) -> QuerySet[PayoutBatchItem]:
        items = (
            PayoutBatchItem.objects.unsent()
            .filter(
                batch__business=self._business,
                batch__status=Status.PROCESSING,
                batch__cancelled_at__isnull=True,
                batch__next_attempt_at__lte=self._clock(),
            )
            .filter(
                Q(batch__server_question=None)
                | Q(batch__server_question__state=PayoutServerQuestion.State.APPROVED)
            )
        )
        return items.order_by("batch__released_at", "batch_id", "position")

    def _was_changed(self, batch_id: UUID) -> bool:
        if batch_id in self._compared:
            return False
        self._compared.add(batch_id)
        return batches.stop_if_changed(batch_id, now=self._clock())

    def _call(self, payout: Transaction) -> None:
        """Have the bank called in another thread, which needs no database."""
        if payout.awaiting != Transaction.Awaiting.RAIL:
            return
        bank: PayoutBank = bank_for(self._business)
        self._calls[self._pool.submit(bank.send, payout_order(payout))] = payout

    def _apply_answers(self, *, until: float) -> None:
        """Apply answers until a moment on the monotonic clock, or for longer while all calls are taken."""
        while True:
            left = until - time.monotonic()
            is_full = len(self._calls) >= CALLS_AT_ONCE
            if left <= 0 and not is_full:
                return
            if not self._calls:
                time.sleep(max(0.0, left))
                return
            self._apply(timeout=None if is_full else left)

    def _apply(self, *, timeout: float | None) -> None:
        done, _ = wait(self._calls, timeout=timeout, return_when=FIRST_COMPLETED)
        for call in done:
            payout = self._calls.pop(call)
            try:
                call_rail(payout, call.result, cause=Cause.RAIL)
            except Exception:  # of one payout: requery asks its bank
                log.exception("payout not settled", id=str(payout.pk))

    def close(self) -> None:
        while self._calls:
            self._apply(timeout=None)
        self._pool.shutdown()


def _accept(item: PayoutBatchItem, *, now: datetime) -> Transaction | None:
    """Make a payout of an item. None: the item failed, or its batch waits."""
    if banks.find(item.bank_code) is None:
        _fail(item, "The bank is not listed any more.")
        return None
    try:
        return _start(item, now=now)
    except InsufficientFunds:
        _hold(item.batch_id, TOO_LOW, now=now)
    except (BeneficiaryBlocked, PayoutLimitReached) as refusal:
        _fail(item, str(refusal.detail))
    except NoPrice as refusal:
        _fail(item, refusal.message)
    except ValidationError as refusal:
        _fail(item, f"Refused: {refusal.default_detail}")
    except (RailUnavailable, Problem) as refusal:
        reason = str(refusal.detail).removesuffix(" Nothing was stored.")  # which is said of a request
        _wait(item.batch_id, reason, now=now)
    return None


@database.atomic
def _start(item: PayoutBatchItem, *, now: datetime) -> Transaction | None:
    """Store an item's payout, take its money and link both, or nothing of it."""
    locked = _LOCKED.find(item.pk)
    if locked is None:
        return None
    batch = locked.batch
    if locked.state in PayoutBatchItem.ENDED or batch.cancelled_at is not None:
        return None
    is_over = batch.held_since is not None and batch.held_since + HELD_FOR <= now
    intent = payouts.accept(
        business=locked.business,
        request=request_of(locked),
        fingerprint=generated_fingerprint(batch_item=str(locked.pk)),
        bank=bank_for(locked.business),
        now=now,
        maker=batches.maker_of(batch),
        released=ReleasedSet(is_approved=batch.approval_id is not None),
        fails_uncovered=is_over,
    )
    if intent.is_replay:  # a request has just taken the reference
        locked.state, locked.problem = State.FAILED, "The reference belongs to another payment."
        locked.save(update_fields=["state", "problem"])
        return None
    unsent = locked.state
    locked.payout, locked.state, locked.problem = intent.resource, State.SENT, ""
    update_if_unchanged(locked, ("payout", "state", "problem"), still=("state", unsent))
    if (batch.held_since is not None and not is_over) or batch.waits_for:
        changes = {} if is_over else {"held_since": None}
        waited = PayoutBatch.objects.filter(pk=batch.pk)
        # After the commit: who locks the batch, such as a cancellation, then locks its items.
        database.on_commit(partial(waited.update, waits_for="", **changes))
    return intent.resource


def request_of(item: PayoutBatchItem) -> dict[str, Any]:
    """Return an item as the request of a single payout."""
    customer = {
        "name": item.name,
        "account_number": item.account_number,
        "bank_code": item.bank_code,
        "email": item.email,
        "reference": item.customer_reference,
    }
    return {
        "request_type": "payout",
        "reference": item.reference,
        "amount": item.amount,
        "currency": item.currency,
        "customer": {name: value for name, value in customer.items() if value},
        "narration": item.narration,
        "purpose": item.purpose,
        "metadata": item.metadata,
    }


@database.atomic
def _hold(batch_id: UUID, reason: str, *, now: datetime) -> None:
    """Hold the rest of a batch until there is money, for at most 24 hours. Its owners are notified once."""
    batch = lock(batch_id)
    batch.items.unsent().update(state=State.HELD, problem=reason)
    is_new = batch.held_since is None
    batch.held_since = batch.held_since or now
    batch.waits_for, batch.next_attempt_at = reason, now + WAITS
    batch.save(update_fields=["held_since", "waits_for", "next_attempt_at"])
    if is_new:
        database.on_commit(partial(notices.mail_held, batch))


def _wait(batch_id: UUID, reason: str, *, now: datetime) -> None:
    """Let a batch wait for its bank, or for what staff or the business have stopped."""
    waiting = PayoutBatch.objects.filter(pk=batch_id, status=Status.PROCESSING)
    waiting.update(waits_for=reason[:255], next_attempt_at=now + WAITS)


def _fail(item: PayoutBatchItem, reason: str) -> None:
    """End an item that can't become a payout."""
    open_item = PayoutBatchItem.objects.unsent().filter(pk=item.pk)
    open_item.update(state=State.FAILED, problem=reason[:255])
