"""What a drain asks of the database: claim what is due, write down what came of it. In batches.

PostgreSQL does each batch in one or two statements; SQLite, which serves a sandbox, goes row by row.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import F, Window
from django.db.models.functions import RowNumber

from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.schedule import delay_before
from webhooks.sender import Exchange

WINDOW = 5  # looks at so many times the rows it may take before it asks business by business


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A delivery that this drain may send until its lease ends, with what is needed to send it."""

    id: UUID
    business_id: UUID
    token: UUID
    event: str
    body: str
    attempts_made: int
    manual_attempts: int
    is_manual: bool
    was_delivered: bool
    is_test: bool
    url: str
    hash_key: str

    @property
    def number(self) -> int:
        return self.attempts_made + self.manual_attempts + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An attempt that has ended. `jitter`, drawn beforehand, decides when the next one is due."""

    delivery: Claimed
    exchange: Exchange
    started_at: datetime
    ended_at: datetime
    jitter: float


# Claiming --------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What a claim looks for: due deliveries, and of each business no more than its share has room for."""

    at: datetime
    limit: int
    per_business: int
    held: Mapping[UUID, int]  # by business: the places of its share that are in use already

    def room(self, business_id: UUID) -> int:
        return self.per_business - self.held.get(business_id, 0)


class Row(NamedTuple):
    """The columns of a delivery that sending it needs."""

    id: UUID
    business_id: UUID
    subject: UUID | None
    event: str
    body: str
    attempts_made: int
    manual_attempts: int
    is_manual: bool
    delivered_at: datetime | None


COLUMNS = tuple(Row.__annotations__)


def claim(
    *,
    at: datetime,
    until: datetime,
    token: UUID,
    limit: int,
    per_business: int,
    held: Mapping[UUID, int] | None = None,
) -> list[Claimed]:
    """Take due deliveries under a lease, a fair share of each business's, oldest first.

    Deliveries whose endpoint was switched off meanwhile are held, unsubscribed ones skipped.
    """
    look = Look(at=at, limit=limit, per_business=per_business, held=held or {})
    take = _take_in_batches if connection.vendor == "postgresql" else _take
    with transaction.atomic():
        rows = take(look, token=token, until=until)
        endpoints = {
            endpoint.business_id: endpoint
            for endpoint in Endpoint.objects.filter(business__in={row.business_id for row in rows})
        }
        _put_aside(rows, endpoints)
        return [
            _claimed(row, endpoints[row.business_id], token)
            for row in rows
            if _is_wanted(row, endpoints.get(row.business_id))
        ]


def release_stragglers(*, at: datetime) -> int:
    """Let deliveries go that are held although their endpoint is on; return how many there were.

    Whoever saw an endpoint switched off may write "held" after somebody has switched it on and released
    what was held until then.
    """
    stragglers = Delivery.objects.filter(
        state=Delivery.State.HELD, business__in=Endpoint.objects.filter(enabled=True).values("business")
    )
    if not stragglers.exists():
        return 0
    return int(stragglers.update(state=Delivery.State.WAITING, next_attempt_at=at))


def _take(look: Look, *, token: UUID, until: datetime) -> list[Row]:
    """Claim where the transaction holds the only write lock of the database."""
    place = Window(RowNumber(), partition_by="business", order_by=["next_attempt_at", "id"])
    due = Delivery.objects.due(at=look.at).annotate(place=place).filter(place__lte=look.per_business)
    found = due.order_by("next_attempt_at", "id").values_list(*COLUMNS, "place", named=False)
    rows = [Row(*values) for *values, place in found if place <= look.room(values[1])][: look.limit]
    Delivery.objects.filter(pk__in=[row.id for row in rows]).update(lease_token=token, next_attempt_at=until)
    return rows


def _take_in_batches(look: Look, *, token: UUID, until: datetime) -> list[Row]:
    rows, seen = _execute_take(_OLDEST, look, token=token, until=until)
    if len(rows) == look.limit or seen < look.limit * WINDOW:
        return rows
    held = Counter(look.held) + Counter(row.business_id for row in rows)
    rest = replace(look, limit=look.limit - len(rows), held=held)
    return rows + _execute_take(_OLDEST_OF_EACH, rest, token=token, until=until)[0]


def _execute_take(statement: str, look: Look, *, token: UUID, until: datetime) -> tuple[list[Row], int]:
    """Return the rows that were taken, and how many were looked at."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            {
                "at": look.at,
                "limit": look.limit,
                "window": look.limit * WINDOW,
                "per_business": look.per_business,
                "businesses": list(look.held),
                "places": list(look.held.values()),
                "token": token,
                "until": until,
            },
        )
        found = cursor.fetchall()
    return [Row(*values) for _, *values in found if values[0] is not None], found[0][0]


# The cheap look: the oldest rows, whoever's they are. What another drain is claiming is passed over.
_LOOK_AT_OLDEST = """
WITH looked_at AS (
    SELECT id, business_id, next_attempt_at FROM webhooks_delivery
    WHERE state = 'waiting' AND next_attempt_at <= %(at)s
    ORDER BY next_attempt_at LIMIT %(window)s
    FOR UPDATE SKIP LOCKED
)"""

# The fair look: the oldest few of each business. It costs two steps in an index per business that waits for
# anything, and nothing per row: a backlog of any length hides nobody.
_LOOK_AT_OLDEST_OF_EACH = """
WITH RECURSIVE waiting (business_id) AS (
    (SELECT business_id FROM webhooks_delivery WHERE state = 'waiting' ORDER BY business_id LIMIT 1)
    UNION ALL
    SELECT (
        SELECT later.business_id FROM webhooks_delivery AS later
        WHERE later.state = 'waiting' AND later.business_id > waiting.business_id
        ORDER BY later.business_id LIMIT 1
    )
    FROM waiting WHERE waiting.business_id IS NOT NULL
), looked_at AS (
    SELECT oldest.* FROM waiting CROSS JOIN LATERAL (
        SELECT id, business_id, next_attempt_at FROM webhooks_delivery
        WHERE state = 'waiting' AND business_id = waiting.business_id AND next_attempt_at <= %(at)s
        ORDER BY next_attempt_at LIMIT %(per_business)s
    ) AS oldest
)"""

# Of what was looked at, each business's share. The lock reads the row again: it may be gone by now.
_TAKE = f"""
, placed AS (
    SELECT *, row_number() OVER (PARTITION BY business_id ORDER BY next_attempt_at) AS place FROM looked_at
), chosen AS (
    SELECT placed.id FROM placed
    LEFT JOIN unnest(%(businesses)s::uuid[], %(places)s::integer[]) AS held (business_id, places)
    USING (business_id)
    WHERE placed.place + coalesce(held.places, 0) <= %(per_business)s
    ORDER BY placed.next_attempt_at LIMIT %(limit)s
), locked AS (
    SELECT id, next_attempt_at AS due_at FROM webhooks_delivery
    WHERE id IN (SELECT id FROM chosen) AND state = 'waiting' AND next_attempt_at <= %(at)s
    FOR UPDATE SKIP LOCKED
), taken AS (
    UPDATE webhooks_delivery AS delivery SET lease_token = %(token)s, next_attempt_at = %(until)s
    FROM locked WHERE delivery.id = locked.id
    RETURNING locked.due_at, {", ".join(f"delivery.{column}" for column in COLUMNS)}
)
SELECT seen.rows, {", ".join(f"taken.{column}" for column in COLUMNS)}
FROM (SELECT count(*) AS rows FROM looked_at) AS seen LEFT JOIN taken ON true
ORDER BY taken.due_at"""  # noqa: S608  (our own column names)

_OLDEST = _LOOK_AT_OLDEST + _TAKE
_OLDEST_OF_EACH = _LOOK_AT_OLDEST_OF_EACH + _TAKE


def _is_wanted(row: Row, endpoint: Endpoint | None) -> bool:
    return endpoint is not None and (
        row.is_manual or (endpoint.enabled and endpoint.is_subscribed_to(row.event))
    )


def _put_aside(rows: Sequence[Row], endpoints: Mapping[UUID, Endpoint]) -> None:
    """Hold claimed deliveries whose endpoint is switched off, and skip those it is not subscribed to."""
    aside: dict[Delivery.State, list[UUID]] = {}
    for row in rows:
        endpoint = endpoints.get(row.business_id)
        if not _is_wanted(row, endpoint):
            is_subscribed = endpoint is not None and endpoint.is_subscribed_to(row.event)
            state = Delivery.State.HELD if is_subscribed else Delivery.State.SKIPPED
            aside.setdefault(state, []).append(row.id)
    for state, ids in aside.items():
        Delivery.objects.filter(pk__in=ids).update(
            state=state, lease_token=None, next_attempt_at=None, is_manual=False
        )


def _claimed(row: Row, endpoint: Endpoint, token: UUID) -> Claimed:
    return Claimed(
        id=row.id,
        business_id=row.business_id,
        token=token,
        event=row.event,
        body=row.body,
        attempts_made=row.attempts_made,
        manual_attempts=row.manual_attempts,
        is_manual=row.is_manual,
        was_delivered=row.delivered_at is not None,
        is_test=row.subject is None,
        url=endpoint.url,
        hash_key=endpoint.hash_key,
    )


# Finishing -------------------------------------------------------------------------------------------


class Move(NamedTuple):
    """What a delivery becomes after an attempt, if the lease with this token still holds."""

    id: UUID
    token: UUID
    state: str
    attempts_made: int
    manual_attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None  # None leaves it as it is


@transaction.atomic
def finish(results: Sequence[Finished]) -> int:
    """Write down what came of attempts; return how many came too late, after their lease had ended."""
    if not results:
        return 0
    in_batches = connection.vendor == "postgresql"
    moves = [_next(result) for result in results]
    moved = _move_in_one_statement(moves) if in_batches else _move(moves)
    attempts = [_attempt(result) for result in results if result.delivery.id in moved]
    if in_batches:
        _insert_in_one_statement(attempts)
    else:
        Attempt.objects.bulk_create(
            [Attempt(**dict(zip(ATTEMPT_COLUMNS, attempt, strict=True))) for attempt in attempts]
        )
    return len(results) - len(attempts)


def _move(moves: Sequence[Move]) -> set[UUID]:
    """Move deliveries on, one by one; return which of them were still ours."""
    return {move.id for move in moves if _move_one(move)}


def _move_one(move: Move) -> bool:
    updated = Delivery.objects.filter(pk=move.id, lease_token=move.token).update(
        lease_token=None,
        is_manual=False,
        state=move.state,
        attempts_made=move.attempts_made,
        manual_attempts=move.manual_attempts,
        next_attempt_at=move.next_attempt_at,
        delivered_at=move.delivered_at or F("delivered_at"),
    )
    return bool(updated)


def _move_in_one_statement(moves: Sequence[Move]) -> set[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, [list(column) for column in zip(*moves, strict=True)])
        return {delivery_id for (delivery_id,) in cursor.fetchall()}


# One column of all rows is one parameter: the statement is the same for every batch, and stays prepared.
_MOVE = """
UPDATE webhooks_delivery AS delivery SET
    lease_token = NULL,
    is_manual = false,
    state = move.state,
    attempts_made = move.attempts_made,
    manual_attempts = move.manual_attempts,
    next_attempt_at = move.next_attempt_at,
    delivered_at = coalesce(move.delivered_at, delivery.delivered_at)
FROM unnest(
    %s::uuid[], %s::uuid[], %s::text[], %s::smallint[], %s::smallint[], %s::timestamptz[], %s::timestamptz[]
) AS move (id, token, state, attempts_made, manual_attempts, next_attempt_at, delivered_at)
WHERE delivery.id = move.id AND delivery.lease_token = move.token
RETURNING delivery.id"""


def _next(result: Finished) -> Move:
    """Return what a delivery becomes after an attempt."""
    delivery = result.delivery
    state, next_attempt_at = _state_after(result)
    return Move(
        id=delivery.id,
        token=delivery.token,
        state=state.value,
        attempts_made=delivery.attempts_made + (not delivery.is_manual),
        manual_attempts=delivery.manual_attempts + delivery.is_manual,
        next_attempt_at=next_attempt_at,
        delivered_at=result.ended_at if result.exchange.succeeded else None,
    )


def _state_after(result: Finished) -> tuple[Delivery.State, datetime | None]:
    delivery = result.delivery
    if result.exchange.succeeded or (delivery.is_manual and delivery.was_delivered):
        return Delivery.State.DELIVERED, None
    delays = [timedelta(seconds=seconds) for seconds in settings.WEBHOOK_RETRY_DELAYS]
    if delivery.is_manual:
        # What was held when it was sent by hand has its automatic attempts still before it.
        was_held = delivery.attempts_made < len(delays) and not delivery.is_test
        return (Delivery.State.HELD if was_held else Delivery.State.DEAD), None
    delay = delay_before(delivery.attempts_made + 2, jitter=result.jitter, delays=delays)
    if delay is None:
        return Delivery.State.DEAD, None
    return Delivery.State.WAITING, result.ended_at + delay


class NewAttempt(NamedTuple):
    """The columns of an attempt, all but the key that the database makes."""

    delivery_id: UUID
    number: int
    is_manual: bool
    started_at: datetime
    address: str | None
    dns_ms: float | None
    connect_ms: float | None
    wait_ms: float | None
    total_ms: float
    status: int | None
    error: str
    explanation: str
    excerpt: bytes


ATTEMPT_COLUMNS = tuple(NewAttempt.__annotations__)


def _insert_in_one_statement(attempts: Sequence[NewAttempt]) -> None:
    # bulk_create makes the same statement anew each time, which takes three times as long as running it.
    if attempts:
        with connection.cursor() as cursor:
            cursor.execute(_INSERT, [list(column) for column in zip(*attempts, strict=True)])


_INSERT = f"""
INSERT INTO webhooks_attempt ({", ".join(ATTEMPT_COLUMNS)})
SELECT * FROM unnest(
    %s::uuid[], %s::smallint[], %s::boolean[], %s::timestamptz[], %s::inet[],
    %s::float8[], %s::float8[], %s::float8[], %s::float8[],
    %s::smallint[], %s::text[], %s::text[], %s::bytea[]
)"""  # noqa: S608  (our own column names)


def _attempt(result: Finished) -> NewAttempt:
    exchange, delivery = result.exchange, result.delivery
    return NewAttempt(
        delivery_id=delivery.id,
        number=delivery.number,
        is_manual=delivery.is_manual,
        started_at=result.started_at,
        address=exchange.address,
        dns_ms=exchange.dns_ms,
        connect_ms=exchange.connect_ms,
        wait_ms=exchange.wait_ms,
        total_ms=exchange.total_ms,
        status=exchange.status,
        error=exchange.error,
        explanation=exchange.explanation,
        excerpt=exchange.excerpt,
    )
