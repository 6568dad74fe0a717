"""Record the results of attempts, in batches. A result whose lease has been lost changes nothing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction

from kit.db.card_number_fields import masked_bytes
from kit.text.masking import mask_card_numbers
from webhooks.models import Attempt, Delivery
from webhooks.sending.leases import LeasedDelivery
from webhooks.sending.retry_schedule import delay_before, delays_of
from webhooks.sending.sender import Exchange


@dataclass(frozen=True, slots=True, kw_only=True)
class AttemptResult:
    """The result of an attempt. `jitter`, drawn in advance, decides when the next attempt is due."""

    delivery: LeasedDelivery
    exchange: Exchange
    started_at: datetime
    ended_at: datetime
    jitter: float


class DeliveryUpdate(NamedTuple):
    """New values of a delivery after an attempt. They apply only while the lease has this token."""

    id: UUID
    token: UUID
    state: str
    attempts_made: int
    manual_attempts: int
    next_attempt_at: datetime | None
    delivered_at: datetime | None  # None leaves it unchanged
    held_at: datetime | None  # applies only if it was null


def record_results(results: Sequence[AttemptResult]) -> int:
    """Record the results of attempts; return how many came after their lease had ended."""
    if not results:
        return 0
    write = _write_in_one_statement if connection.vendor == "postgresql" else _write
    return len(results) - write([(_next(result), _attempt(result)) for result in results])


@transaction.atomic
def _write(outcomes: Sequence[tuple[DeliveryUpdate, NewAttempt]]) -> int:
    """Write on SQLite, whose transactions hold the only write lock; return how many leases were still held."""
    deliveries = Delivery.objects.filter(pk__in=[update.id for update, _ in outcomes])
    leases = dict(deliveries.values_list("pk", "lease_token"))
    ours = [(update, attempt) for update, attempt in outcomes if leases.pop(update.id, None) == update.token]
    if not ours:
        return 0
    with connection.cursor() as cursor:
        cursor.executemany(_UPDATE_ONE, [_parameters(update) for update, _ in ours])
    Attempt.objects.bulk_create(
        [Attempt(**dict(zip(ATTEMPT_COLUMNS, attempt, strict=True))) for _, attempt in ours]
    )
    return len(ours)


_UPDATE_ONE = """
UPDATE webhooks_delivery SET
    lease_token = NULL,
    is_manual = false,
    planned_at = NULL,
    state = %(state)s,
    attempts_made = %(attempts_made)s,
    manual_attempts = %(manual_attempts)s,
    next_attempt_at = %(next_attempt_at)s,
    delivered_at = coalesce(%(delivered_at)s, delivered_at),
    held_at = coalesce(held_at, %(held_at)s)
WHERE id = %(id)s"""


def _parameters(update: DeliveryUpdate) -> dict[str, Any]:
    """Return an update's values as SQLite stores them."""
    stored = connection.ops.adapt_datetimefield_value
    return {
        "id": update.id.hex,
        "state": update.state,
        "attempts_made": update.attempts_made,
        "manual_attempts": update.manual_attempts,
        "next_attempt_at": stored(update.next_attempt_at),
        "delivered_at": stored(update.delivered_at),
        "held_at": stored(update.held_at),
    }


def _next(result: AttemptResult) -> DeliveryUpdate:
    """Return the new values of a delivery after an attempt."""
    delivery = result.delivery
    state, next_attempt_at = _state_after(result)
    return DeliveryUpdate(
        id=delivery.id,
        token=delivery.token,
        state=state.value,
        attempts_made=delivery.attempts_made + (not delivery.is_manual),
        manual_attempts=delivery.manual_attempts + delivery.is_manual,
        next_attempt_at=next_attempt_at,
        delivered_at=result.ended_at if result.exchange.succeeded else None,
        held_at=result.ended_at if state == Delivery.State.HELD else None,
    )


def _state_after(result: AttemptResult) -> tuple[Delivery.State, datetime | None]:
    delivery = result.delivery
    if result.exchange.succeeded or (delivery.is_manual and delivery.was_delivered):
        return Delivery.State.DELIVERED, None
    if delivery.is_test:
        return Delivery.State.TEST_FAILED, None
    if delivery.planned_at is not None:
        return Delivery.State.WAITING, max(delivery.planned_at, result.ended_at)
    delays = delays_of(settings.WEBHOOK_RETRY_DELAYS)
    if delivery.is_manual:
        # A delivery that was held before the manual attempt still has its automatic attempts left.
        was_held = delivery.attempts_made < len(delays)
        return (Delivery.State.HELD if was_held else Delivery.State.DEAD), None
    delay = delay_before(delivery.attempts_made + 2, jitter=result.jitter, delays=delays)
    if delay is None:
        return Delivery.State.DEAD, None
    return Delivery.State.WAITING, result.ended_at + delay


class NewAttempt(NamedTuple):
    """The columns of an attempt, without the generated primary key."""

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


def _write_in_one_statement(outcomes: Sequence[tuple[DeliveryUpdate, NewAttempt]]) -> int:
    columns = zip(*((*update, *attempt) for update, attempt in outcomes), strict=True)
    with connection.cursor() as cursor:
        cursor.execute(_WRITE, [list(column) for column in columns])
        (written,) = cursor.fetchone()
    return int(written)


# Each column of all rows is one array parameter, so that the statement is the same for every batch and stays
# prepared. Binary parameters (%b) need no quoting.
_WRITE = f"""
WITH outcome AS (
    SELECT * FROM unnest(
        %b::uuid[], %b::uuid[], %b::text[], %b::smallint[], %b::smallint[],
        %b::timestamptz[], %b::timestamptz[], %b::timestamptz[],
        %b::uuid[], %b::smallint[], %b::boolean[], %b::timestamptz[], %b::text[]::inet[],
        %b::float8[], %b::float8[], %b::float8[], %b::float8[], %b::float8[],
        %b::smallint[], %b::text[], %b::text[], %b::bytea[]
    ) AS outcome (
        id, token, state, attempts_made, manual_attempts, next_attempt_at, delivered_at, held_at,
        {", ".join(ATTEMPT_COLUMNS)}
    )
), updated AS (
    UPDATE webhooks_delivery AS delivery SET
        lease_token = NULL,
        is_manual = false,
        planned_at = NULL,
        state = outcome.state,
        attempts_made = outcome.attempts_made,
        manual_attempts = outcome.manual_attempts,
        next_attempt_at = outcome.next_attempt_at,
        delivered_at = coalesce(outcome.delivered_at, delivery.delivered_at),
        held_at = coalesce(delivery.held_at, outcome.held_at)
    FROM outcome WHERE delivery.id = outcome.id AND delivery.lease_token = outcome.token
    RETURNING delivery.id
), written AS (
    INSERT INTO webhooks_attempt ({", ".join(ATTEMPT_COLUMNS)})
    SELECT {", ".join(f"outcome.{column}" for column in ATTEMPT_COLUMNS)} FROM outcome JOIN updated USING (id)
    RETURNING 1
)
SELECT count(*) FROM written"""  # noqa: S608  (our own column names)


def _attempt(result: AttemptResult) -> NewAttempt:
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
        # The raw SQL on PostgreSQL bypasses the model fields that mask card numbers.
        explanation=mask_card_numbers(exchange.explanation),
        excerpt=masked_bytes(exchange.excerpt),
    )
