"""Query the rails about unknown outcomes, at growing intervals, until they give a definite answer.

A run leases the due queries, sends them concurrently with a limit per rail, and applies each answer as it arrives. A
hanging rail delays only its own queries, and no run waits for it (decision 0022).
"""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db import transaction as database

from kit.db.clock import database_now
from payments.models import AlreadyTransitioned, CardOperation, Transaction, retry_window
from payments.rails import AnotherAccount, RailUnavailable
from payments.rails.protocol import (
    AnswerLost,
    CannotTell,
    CardOrder,
    NoRecord,
    NotReceived,
    PayoutOrder,
    RailAnswer,
    RailBlocked,
    RateLimited,
)
from payments.services.cards import authorisation_reversals, unrecorded_authorisations
from payments.services.payouts.controls.payout_freezes import is_frozen
from payments.services.rails.rail_choices import acquirer_finder, bank_finder
from payments.services.rails.rail_orders import card_order, operation_order, payout_order, refund_order
from payments.services.rails.rail_queries import (
    first_calls,
    parallel_calls,
    query_leases,
    rail_blocks,
    rail_outages,
)
from payments.services.rails.rail_queries.parallel_calls import CallGroup, RailCall, Reply
from payments.services.rails.rail_queries.query_leases import Lane, Unanswered, lane_of, unanswered
from payments.services.transactions import operations, transitions
from payments.services.transactions.intents import FIRST_QUERY_AFTER
from payments.services.transactions.transitions import Cause

__all__ = [
    "INTERVALS",
    "QueryResult",
    "query_for_payer",
    "query_leased",
    "requery",
    "requery_due",
    "unanswered",
]

log = structlog.get_logger("sluice.requery")

Clock = Callable[[], datetime]

# The interval before each further query. The last one repeats, because an unknown outcome is never assumed to be failed.
INTERVALS = (
    timedelta(seconds=30),
    timedelta(minutes=2),
    timedelta(minutes=10),
    timedelta(minutes=30),
    timedelta(hours=1),
    timedelta(hours=4),
    timedelta(hours=12),
)
# If this many answers can't be stored, the database is unavailable, and the rest waits for the next run.
MAX_STORAGE_FAILURES = 3
# Before the next check whether the account of an order is configured again. Its rail isn't queried until then.
ACCOUNT_INTERVAL = timedelta(minutes=2)
# Before the next query of what the rate limit left no call for.
RATE_LIMIT_INTERVAL = timedelta(seconds=5)
SLOT_INTERVAL = 0.05  # seconds between two checks for a free slot
PAYER_WAITS = 2.0  # seconds that a payer's page waits for the answer to a query
RUN_TIME = 1.0  # seconds that a scheduled run collects answers, so that it doesn't delay other tasks


@dataclass(frozen=True, slots=True)
class QueryResult:
    """A queried subject, and whether its outcome is known now."""

    subject: Unanswered
    is_answered: bool


def requery_due(*, clock: Clock = database_now) -> Iterator[QueryResult]:
    """Query what is due, until nothing is left or the run's time is over."""
    now = clock()
    outages = rail_outages.outages()
    early = {
        _lane_named(outage.lane): rail_outages.early_queries_from(outage)
        for outage in rail_outages.to_be_probed(outages, now=now)
    }
    rail_blocks.bring_probes_forward(now=now)
    source = _DueQueries(early=early, clock=clock)
    lanes = [*query_leases.lanes_due(at=now), *early]
    in_outage = {outage.lane for outage in outages}
    yield from _Run(source.take, lanes, clock=clock, in_outage=in_outage).run(
        until=time.monotonic() + RUN_TIME
    )


def requery(
    subjects: Iterable[Unanswered], *, clock: Clock = database_now, is_time_over: bool = False
) -> Iterator[QueryResult]:
    """Query subjects, due or not, unless another process has leased them. Waits for all answers.

    With `is_time_over`, an authorisation without a record fails now (the sandbox passes its half hour).
    """
    waiting = _by_lane(subjects)

    def take(lane: Lane, limit: int) -> list[Unanswered]:
        leased: list[Unanswered] = []
        while waiting[lane] and len(leased) < limit:
            keys = [waiting[lane].pop(0).pk for _ in range(min(limit, len(waiting[lane])))]
            leased += query_leases.lease(lane, limit=limit, at=clock(), among=keys)
        return leased

    run = _Run(take, list(waiting), clock=clock, in_outage=_lanes_in_outage(), is_time_over=is_time_over)
    yield from run.run()


def query_leased(subjects: Iterable[Unanswered], *, clock: Clock = database_now) -> Iterator[QueryResult]:
    """Query subjects that the caller has leased. Waits for all answers."""
    waiting = _by_lane(subjects)

    def take(lane: Lane, limit: int) -> list[Unanswered]:
        taken, waiting[lane] = waiting[lane][:limit], waiting[lane][limit:]
        return taken

    yield from _Run(take, list(waiting), clock=clock, in_outage=_lanes_in_outage()).run()


def query_for_payer(subject: Unanswered, *, clock: Clock = database_now) -> None:
    """Query one subject, whose payer waits on a page, for at most two seconds. A later answer is applied too.

    It doesn't count as a query: the next one isn't delayed by it.
    """
    waiting = [subject.pk]

    def take(lane: Lane, limit: int) -> list[Unanswered]:
        among, waiting[:] = waiting[:limit], waiting[limit:]
        return query_leases.lease(lane, limit=limit, at=clock(), among=among)

    run = _Run(
        take, [lane_of(subject)], clock=clock, in_outage=_lanes_in_outage(), interval=FIRST_QUERY_AFTER
    )
    for _ in run.run(until=time.monotonic() + PAYER_WAITS):
        pass


class _DueQueries:
    """Leases due queries, and one early query of each lane to be probed."""

    def __init__(self, *, early: dict[Lane, datetime], clock: Clock) -> None:
        self._early = early  # by lane: the earliest creation time of outcomes that may be queried early
        self._clock = clock

    def take(self, lane: Lane, limit: int) -> list[Unanswered]:
        now = self._clock()
        leased = query_leases.lease(lane, limit=limit, at=now, due_at=now)
        created_from = self._early.pop(lane, None)
        if not leased and created_from is not None:
            leased = query_leases.lease(lane, limit=1, at=now, created_from=created_from)
        return leased


class _Run:
    """One run: the lanes that may have more queries, and the awaited answers."""

    def __init__(
        self,
        take: Callable[[Lane, int], list[Unanswered]],
        lanes: list[Lane],
        *,
        clock: Clock,
        in_outage: set[str],
        interval: timedelta | None = None,
        is_time_over: bool = False,
    ) -> None:
        """`interval` is the one before the next query of what stays unknown. Default: the growing ones."""
        self._take = take
        self._open = dict.fromkeys(lanes)
        self._clock = clock
        self._in_outage = in_outage
        self._interval = interval
        self._is_time_over = is_time_over
        self._calls = CallGroup(late=self._handle_late)
        self._storage_failures = 0

    def run(self, *, until: float = float("inf")) -> Iterator[QueryResult]:
        """Query and yield each result. `until` is a deadline on the monotonic clock."""
        try:
            while self._storage_failures < MAX_STORAGE_FAILURES:
                if time.monotonic() < until:
                    self._fill_lanes()
                if self._calls.waiting_for == 0:
                    if not self._open or until < float("inf"):
                        break
                    time.sleep(SLOT_INTERVAL)  # another run in this process holds all slots of the lane
                    continue
                reply = self._calls.next(timeout=_seconds_to(until))
                if reply is None:
                    break
                yield from self._handle(reply)
        finally:
            for reply in self._calls.close():
                self._release_lease(
                    reply
                ) if self._storage_failures == MAX_STORAGE_FAILURES else self._handle_late(reply)

    def _fill_lanes(self) -> None:
        for lane in list(self._open):
            free = parallel_calls.slots.take(lane)
            if not free:
                continue
            started = 0
            try:
                subjects = self._take(lane, free)
                for subject in subjects:
                    started += self._start(subject, lane)
            finally:
                parallel_calls.slots.release(lane, free - started)
            if len(subjects) < free:
                del self._open[lane]

    def _start(self, subject: Unanswered, lane: Lane) -> bool:
        try:
            call = _query_call(subject, now=self._clock())
        except Exception:
            log.exception("query not prepared", id=str(subject.pk))
            _schedule_next_query(subject, now=self._clock())
            return False
        self._calls.start(RailCall(subject, lane, call))
        return True

    def _handle(self, reply: Reply) -> Iterator[QueryResult]:
        """Apply an answer, or start the second call about a subject."""
        settled = self._settle(reply)
        if isinstance(settled, RailCall):
            parallel_calls.slots.take_extra(settled.lane)
            self._calls.start(settled)
        else:
            yield QueryResult(reply.call.subject, is_answered=settled)

    def _handle_late(self, reply: Reply) -> None:
        """Apply an answer that arrived after the run, including a second call if needed."""
        settled = self._settle(reply)
        if isinstance(settled, RailCall):
            self._settle(parallel_calls.reply_to(settled))

    def _settle(self, reply: Reply) -> bool | RailCall:
        """Store a reply. Return whether the outcome is known now, or the call that the subject needs next."""
        call = reply.call
        try:
            if isinstance(reply.error, CannotTell):
                reverse = _begin_reversal(call.subject, now=self._clock())
                return RailCall(call.subject, call.lane, reverse)
            if isinstance(reply.error, NotReceived):
                resend = _begin_resending(call.subject, reply.error, now=self._clock())
                if resend is not None:
                    return RailCall(call.subject, call.lane, resend)
            return self._apply_reply(reply)
        except AlreadyTransitioned:
            return True  # by another process
        except (OperationalError, InterfaceError) as error:
            log.warning("database unavailable", id=str(call.subject.pk), error=type(error).__name__)
            self._storage_failures += 1
            self._release_lease(reply)
            return False

    def _apply_reply(self, reply: Reply) -> bool:
        """Store a reply, and return whether the outcome is known now."""
        subject, now = reply.call.subject, self._clock()
        self._record_outage(reply, now=now)
        try:
            if _apply(subject, _followed(reply, now=now), now=now):
                return True
        except (AlreadyTransitioned, OperationalError, InterfaceError):
            raise
        except AnotherAccount:
            _schedule_next_query(subject, now=now, wait=ACCOUNT_INTERVAL)
            return False
        except RateLimited:
            _schedule_next_query(subject, now=now, wait=RATE_LIMIT_INTERVAL)
            return False
        except (AnswerLost, NotReceived, RailUnavailable):
            pass
        except Exception as error:
            # A failure of one subject must not stop the others. Don't log the message of a database error,
            # because it may contain a row's values.
            log.exception("requery failed", id=str(subject.pk), exc_info=not isinstance(error, DatabaseError))
        if self._leaves_unrecorded(reply, now=now):
            unrecorded_authorisations.fail(subject, now=now)
            return True
        _schedule_next_query(subject, now=now, wait=self._interval)
        return False

    def _leaves_unrecorded(self, reply: Reply, *, now: datetime) -> bool:
        """Return whether the acquirer has had no record of an authorisation for so long that it fails."""
        fails_at = _fails_at(reply.call.subject)
        if fails_at is None or (now < fails_at and not self._is_time_over):
            return False
        return unrecorded_authorisations.is_unrecorded(reply.call.subject, reply.error or reply.answer)

    def _record_outage(self, reply: Reply, *, now: datetime) -> None:
        lane = reply.call.lane
        if isinstance(reply.error, AnotherAccount | RateLimited):
            return  # the rail wasn't asked
        has_answered = reply.error is None or isinstance(reply.error, NoRecord | NotReceived | RailBlocked)
        if isinstance(reply.error, AnswerLost | RailUnavailable) and not has_answered:
            if str(lane) in self._in_outage:
                return
            rail_outages.record_outage(lane, now=now)
            self._in_outage.add(str(lane))
        elif has_answered and str(lane) in self._in_outage:
            self._in_outage.discard(str(lane))
            brought = rail_outages.end_outage(lane, now=now)
            log.info("rail answers again", lane=str(lane), brought_forward=brought)
            if brought:
                self._open[lane] = None

    def _release_lease(self, reply: Reply) -> None:
        """Leave a subject due, because the database could not store its answer."""
        with suppress(DatabaseError):  # the lease expires anyway
            query_leases.release(reply.call.subject)


def _query_call(subject: Unanswered, *, now: datetime) -> Callable[[], Any]:
    """Return the call that queries the rail about a subject. It needs no database."""
    if lane_of(subject).rail == query_leases.BANK:
        return _bank_query(subject, now=now)
    if isinstance(subject, CardOperation):
        return _operation_query(subject)
    acquirer = acquirer_finder(subject)
    if subject.awaiting == Transaction.Awaiting.REVERSAL:
        undone, is_repeat = card_order(subject), subject.queries_made > 0
        return lambda: acquirer().reverse(undone, is_repeat=is_repeat)
    order = _passed_order(subject)
    return lambda: acquirer().query(order)


def _bank_query(subject: Unanswered, *, now: datetime) -> Callable[[], Any]:
    # A bank that sends again itself what it doesn't have must not do so while payouts are frozen.
    is_kept = now - subject.first_sent_at < retry_window()
    bank, may_repeat = bank_finder(subject), is_kept and not is_frozen(subject)
    transfer = _transfer_order(subject, may_be_repeated=may_repeat)
    return lambda: bank().query(transfer)


def _transfer_order(subject: Unanswered, *, may_be_repeated: bool = True) -> PayoutOrder:
    if isinstance(subject, CardOperation):
        return refund_order(subject, may_be_repeated=may_be_repeated)
    return payout_order(subject, may_be_repeated=may_be_repeated)


def _begin_resending(subject: Unanswered, missing: NotReceived, *, now: datetime) -> Callable[[], Any] | None:
    """Record that an order is sent again, and return the call that sends it. None if it has to wait.

    The moment is stored before the call, so that a killed process has left it too.
    """
    is_too_new = now - (subject.sent_at or subject.first_sent_at) < missing.resend_after
    if is_too_new or is_frozen(subject) or not rail_blocks.may_send(subject, now=now):
        return None
    type(subject)._default_manager.filter(pk=subject.pk).update(sent_at=now)
    if lane_of(subject).rail == query_leases.ACQUIRER and isinstance(subject, CardOperation):
        acquirer = acquirer_finder(subject.transaction)
        order, asked = card_order(subject.transaction), operation_order(subject)
        return lambda: acquirer().operate(order, asked)
    bank, transfer = bank_finder(subject), _transfer_order(subject)
    return lambda: bank().send(transfer)


def _operation_query(operation: CardOperation) -> Callable[[], Any]:
    acquirer = acquirer_finder(operation.transaction)
    order, asked = card_order(operation.transaction), operation_order(operation)
    if operation.is_unsent:
        return lambda: acquirer().operate(order, asked)
    return lambda: acquirer().query_operation(order, asked)


def _begin_reversal(subject: Unanswered, *, now: datetime) -> Callable[[], Any]:
    """Record that an authorisation is being reversed, and return the call that reverses it.

    :raises AlreadyTransitioned: its answer has arrived in the meantime
    """
    if isinstance(subject, CardOperation):
        raise TypeError("only authorisations are reversed")
    authorisation_reversals.begin(subject, now=now)
    order, acquirer = card_order(subject), acquirer_finder(subject)
    return lambda: acquirer().reverse(order, is_repeat=False)


def _followed(reply: Reply, *, now: datetime) -> RailAnswer | None:
    """Return a rail's answer, after a block that it begins or ends was stored.

    :raises RailBlocked: the bank refuses the order for a fault of ours
    """
    try:
        answer: RailAnswer | None = reply.result()
    except RailBlocked as blocked:
        rail_blocks.record(blocked, about=reply.call.subject, now=now)
        raise
    if answer is not None:
        rail_blocks.follow(answer, about=reply.call.subject, now=now)
    return answer


def _apply(subject: Unanswered, answer: RailAnswer | None, *, now: datetime) -> bool:
    """Apply a rail's answer, and return whether it was definite. A confirmed reversal has no answer."""
    if isinstance(subject, CardOperation):
        return _apply_to_operation(subject, answer, now=now)
    if subject.awaiting == Transaction.Awaiting.REVERSAL:
        authorisation_reversals.finish(subject, now=now)
        return True
    if answer is None or not answer.is_definite:
        return _is_unknown(subject, answer)
    applied = transitions.apply_answer(subject, answer, cause=Cause.REQUERY, now=now)
    return applied.awaiting != Transaction.Awaiting.RAIL  # the acquirer may wait for the payer still


def _apply_to_operation(operation: CardOperation, answer: RailAnswer | None, *, now: datetime) -> bool:
    if answer is None or not answer.is_definite:
        return _is_unknown(operation, answer)
    operations.apply_answer(operation_id=operation.pk, answer=answer, cause=Cause.REQUERY, now=now)
    return True


def _is_unknown(subject: Unanswered, answer: RailAnswer | None) -> bool:
    """Store what is told about an outcome that is still unknown. Return that it isn't known."""
    if answer is not None:
        first_calls.keep_unknown(subject, answer)
    return False


def _passed_order(transaction: Transaction) -> CardOrder:
    challenge = getattr(transaction, "challenge", None)
    has_passed = challenge is not None and challenge.passed_at is not None
    return card_order(transaction, has_passed_challenge=has_passed)


@database.atomic
def _schedule_next_query(subject: Unanswered, *, now: datetime, wait: timedelta | None = None) -> None:
    """Schedule the next query. With `wait`, this one doesn't count, and the interval doesn't grow."""
    locked = type(subject).objects.select_for_update().get(pk=subject.pk)
    is_ours = locked.query_leased_until == subject.query_leased_until
    if is_ours and locked.next_query_at is not None:  # still unanswered
        made, interval = locked.queries_made, INTERVALS[min(locked.queries_made, len(INTERVALS) - 1)]
        query_at, fails_at = now + (wait or interval), _fails_at(locked)
        if fails_at is not None and now < fails_at < query_at:
            query_at = fails_at
        locked.schedule_next_query(query_at=query_at, queries_made=made + (wait is None))


def _fails_at(subject: Unanswered) -> datetime | None:
    """Return from when an authorisation without a record fails. None: this subject never does."""
    if isinstance(subject, CardOperation) or subject.awaiting != Transaction.Awaiting.RAIL:
        return None
    return unrecorded_authorisations.fails_at(subject)


def _by_lane(subjects: Iterable[Unanswered]) -> dict[Lane, list[Unanswered]]:
    lanes: dict[Lane, list[Unanswered]] = {}
    for subject in subjects:
        lanes.setdefault(lane_of(subject), []).append(subject)
    return lanes


def _lanes_in_outage() -> set[str]:
    return {outage.lane for outage in rail_outages.outages()}


def _lane_named(name: str) -> Lane:
    return Lane(*name.split(":", 1))


def _seconds_to(moment: float) -> float | None:
    return None if moment == float("inf") else max(moment - time.monotonic(), 0)
