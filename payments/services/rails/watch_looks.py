"""Look at watched payments: query their acquirers, and have a charge that appears voided or refunded. Decision 0090.

A run leases due looks and makes them in separate threads, in the same slots as queries of unknown outcomes. A charge is
committed before the acquirer is asked to reverse it, and the reversal is repeated until it is confirmed.
"""

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from django.db import DatabaseError
from django.db import transaction as database

from kit.db.clock import database_now
from payments.models import WatchedAuthorisation
from payments.models.transactions.watches import WatchQuerySet
from payments.rails import RailUnavailable
from payments.rails.protocol import AnswerLost, NoRecord, RailAnswer, RateLimited
from payments.services import watches
from payments.services.cards import late_charges
from payments.services.rails.rail_choices import acquirer_finder
from payments.services.rails.rail_orders import card_order
from payments.services.rails.rail_queries import parallel_calls, query_leases
from payments.services.rails.rail_queries.parallel_calls import CallGroup, RailCall, Reply
from payments.services.rails.rail_queries.query_leases import ACQUIRER, Lane

log = structlog.get_logger("sluice.watches")

RATE_LIMIT_INTERVAL = timedelta(seconds=5)  # before the next call of what the rate limit left none for
RUN_TIME = 1.0  # seconds that a run collects answers; later ones are recorded by their threads


def look_due() -> None:
    """Look at due watches until none is left or the run's time is over."""
    if not WatchedAuthorisation.objects.due(at=database_now()).exists():
        return  # nearly always
    ends_at = time.monotonic() + RUN_TIME
    calls = CallGroup(late=_finish)
    try:
        _fill(calls)
        while calls.waiting_for:
            reply = calls.next(timeout=max(ends_at - time.monotonic(), 0))
            if reply is None:
                break
            further = _record(reply)
            if further is not None:
                parallel_calls.slots.take_extra(further.lane)
                calls.start(further)
            elif time.monotonic() < ends_at:
                _fill(calls)
    finally:
        for reply in calls.close():
            _finish(reply)


def look_at(transaction_id: UUID) -> bool:
    """Look at one watched payment now, due or not. Return False if it isn't watched, or another process looks."""
    now = database_now()
    watched = WatchedAuthorisation.objects.unleased(at=now).filter(transaction=transaction_id)
    leased = _lease(watched, limit=1)
    for watch in leased:
        _finish(parallel_calls.reply_to(_call_for(watch)))
    return bool(leased)


def _fill(calls: CallGroup) -> None:
    """Start as many due looks as the lanes have free slots."""
    due = WatchedAuthorisation.objects.due(at=database_now())
    for connector in due.order_by().values_list("transaction__connector", flat=True).distinct():
        lane = Lane(ACQUIRER, connector)
        free = parallel_calls.slots.take(lane)
        started = 0
        try:
            for watch in _lease(due.filter(transaction__connector=connector), limit=free):
                calls.start(_call_for(watch))
                started += 1
        finally:
            parallel_calls.slots.release(lane, free - started)


@database.atomic
def _lease(unleased: WatchQuerySet, *, limit: int) -> list[WatchedAuthorisation]:
    """Lease up to `limit` of these watches, longest due first, and skip locked ones."""
    locked = unleased.select_related("transaction__business").select_for_update(
        skip_locked=True, of=("self",)
    )
    found = list(locked.order_by("next_look_at")[:limit])
    until = database_now() + query_leases.length()
    WatchedAuthorisation.objects.filter(pk__in=[watch.pk for watch in found]).update(leased_until=until)
    for watch in found:
        watch.leased_until = until
    return found


def _call_for(watch: WatchedAuthorisation) -> RailCall:
    """Return the next call about a watched payment: its reversal if a charge was found, else a query."""
    return RailCall(watch, Lane(ACQUIRER, watch.transaction.connector), _call(watch))


def _call(watch: WatchedAuthorisation) -> Callable[[], Any]:
    acquirer, order = acquirer_finder(watch.transaction), card_order(watch.transaction)
    if watch.is_of_second_charge:
        known = watches.known_payments(watch.transaction) - {watch.acquirer_reference}
        order = replace(order, acquirer_reference=watch.acquirer_reference, beside=known)
    if watch.is_owed:
        return lambda: acquirer().reverse(order, is_repeat=True)
    return lambda: acquirer().query(order)


def _finish(reply: Reply) -> None:
    """Record a reply and make the call that follows it, until there is none."""
    further = _record(reply)
    while further is not None:
        further = _record(parallel_calls.reply_to(further))


def _record(reply: Reply) -> RailCall | None:
    """Record a reply. Return the reversal that follows if it told of a charge.

    If the database fails, the lease expires and the look is repeated.
    """
    watch: WatchedAuthorisation = reply.call.subject
    try:
        return _apply(watch, reply, now=database_now())
    except DatabaseError as error:
        log.warning("look not recorded", id=str(watch.transaction_id), error=type(error).__name__)
        return None


def _apply(watch: WatchedAuthorisation, reply: Reply, *, now: datetime) -> RailCall | None:
    if isinstance(reply.error, RateLimited):
        late_charges.postpone(watch, is_answered=False, now=now, wait=RATE_LIMIT_INTERVAL)
    elif reply.error is not None:
        late_charges.postpone(watch, is_answered=_is_answer(watch, reply.error), now=now)
    elif watch.is_owed:
        late_charges.record_return(watch, now=now)
    elif late_charges.is_charge(reply.answer):
        found = late_charges.record_charge(watch, reply.answer, now=now)
        return _call_for(found) if found.is_owed else None
    elif (
        _is_failure(reply.answer) and not watch.is_of_second_charge
    ):  # a further one may follow a declined one
        late_charges.record_failure(watch, now=now)
    else:
        late_charges.postpone(watch, is_answered=True, now=now)
    return None


def _is_failure(answer: RailAnswer) -> bool:
    return answer.is_definite and answer.is_final and answer.action is None


def _is_answer(watch: WatchedAuthorisation, error: BaseException) -> bool:
    """Return whether the acquirer has answered that it has no record. Log an error that no connector should raise."""
    if not isinstance(error, AnswerLost | RailUnavailable):
        log.error("look failed", id=str(watch.transaction_id), exc_info=error)
    return isinstance(error, NoRecord)
