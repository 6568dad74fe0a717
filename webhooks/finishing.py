"""Writing down what came of attempts, in batches. A result whose lease is gone changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.models import DateTimeField, F, Value
from django.db.models.functions import Coalesce

from webhooks.claiming import Claimed
from webhooks.models import Attempt, Delivery
from webhooks.schedule import delay_before
from webhooks.sender import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class Finished:
    """An attempt that has ended. `jitter`, drawn beforehand, decides when the next one is due."""

    delivery: Claimed
    exchange: Exchange
    started_at: datetime
    ended_at: datetime
    jitter: float


class Move(NamedTuple):
    """What a delivery becomes after an attempt, if the lease with this token still holds."""

    id: UUID
    token: UUID
    state: str
    attempts_made: int
    manual_attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None  # None leaves it as it is
    held_at: datetime | None  # only where it has none


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
        held_at=Coalesce("held_at", Value(move.held_at, DateTimeField())),
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
    delivered_at = coalesce(move.delivered_at, delivery.delivered_at),
    held_at = coalesce(delivery.held_at, move.held_at)
FROM unnest(
    %s::uuid[], %s::uuid[], %s::text[], %s::smallint[], %s::smallint[],
    %s::timestamptz[], %s::timestamptz[], %s::timestamptz[]
) AS move (id, token, state, attempts_made, manual_attempts, next_attempt_at, delivered_at, held_at)
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
        held_at=result.ended_at if state == Delivery.State.HELD else None,
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
    tls_ms: float | None
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
    %s::float8[], %s::float8[], %s::float8[], %s::float8[], %s::float8[],
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
        tls_ms=exchange.tls_ms,
        wait_ms=exchange.wait_ms,
        total_ms=exchange.total_ms,
        status=exchange.status,
        error=exchange.error,
        explanation=exchange.explanation,
        excerpt=exchange.excerpt,
    )
