"""Taking due deliveries under a lease, in batches, and a fair share of each business's.

PostgreSQL does each batch in one or two statements. SQLite, which serves a sandbox, looks first and takes then.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Window
from django.db.models.functions import RowNumber

from webhooks.models import Delivery, DeliveryQuerySet, Endpoint, category_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Claimed:
    """A delivery that this drain may send until its lease ends, with what is needed to send it."""

    id: UUID
    business_id: UUID
    token: UUID
    leased_until: datetime
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
class Look:
    """What a claim looks for: due deliveries, and of each business no more than its share has room for."""

    at: datetime
    limit: int
    per_business: int
    held: Mapping[UUID, int]  # by business: the places of its share that are in use already


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
        endpoints = _endpoints_of(rows)
        wanted = [row for row in rows if _is_wanted(row, endpoints.get(row.business_id))]
        if len(wanted) < len(rows):
            _put_aside(set(rows).difference(wanted), endpoints, at=at)
    return [_claimed(row, endpoints[row.business_id], token=token, until=until) for row in wanted]


def has_work(*, at: datetime) -> bool:
    """Tell whether a drain would find something, at the price of one look into two small indexes."""
    due = Delivery.objects.due(at=at).values("pk")
    found: bool = due.union(_stragglers().values("pk"), all=True).exists()
    return found


def release_stragglers(*, at: datetime) -> int:
    """Let deliveries go that are held although their endpoint is on; return how many there were.

    Whoever saw an endpoint switched off may write "held" after somebody has switched it on and released
    what was held until then.
    """
    stragglers = _stragglers()
    if not stragglers.exists():
        return 0
    return int(stragglers.update(state=Delivery.State.WAITING, next_attempt_at=at, held_at=None))


def _stragglers() -> DeliveryQuerySet:
    switched_on = Endpoint.objects.filter(enabled=True).values("business")
    found: DeliveryQuerySet = Delivery.objects.filter(state=Delivery.State.HELD, business__in=switched_on)
    return found


def _take(look: Look, *, token: UUID, until: datetime) -> list[Row]:
    """Claim where the transaction holds the only write lock of the database."""
    due = Delivery.objects.due(at=look.at).order_by("next_attempt_at", "id")
    oldest = list(due.values_list("id", "business_id")[: look.limit])
    chosen = _shares(oldest, look)
    if len(chosen) < len(oldest) == look.limit:
        place = Window(RowNumber(), partition_by="business", order_by=["next_attempt_at", "id"])
        of_each = due.annotate(place=place).filter(place__lte=look.per_business)
        chosen = _shares(of_each.values_list("id", "business_id"), look)
    taken = Delivery.objects.filter(pk__in=chosen)
    rows = [Row(*values) for values in taken.order_by("next_attempt_at", "id").values_list(*COLUMNS)]
    taken.update(lease_token=token, next_attempt_at=until)
    return rows


def _shares(oldest: Iterable[tuple[UUID, UUID]], look: Look) -> list[UUID]:
    """Choose of deliveries, each with its business and oldest first, what the businesses' shares have room for."""
    places = Counter(look.held)
    chosen: list[UUID] = []
    for delivery_id, business_id in oldest:
        if places[business_id] < look.per_business and len(chosen) < look.limit:
            places[business_id] += 1
            chosen.append(delivery_id)
    return chosen


def _take_in_batches(look: Look, *, token: UUID, until: datetime) -> list[Row]:
    rows, seen = _execute_take(_OLDEST, look, token=token, until=until)
    if len(rows) == look.limit or seen < look.limit:
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
                "per_business": look.per_business,
                "businesses": list(look.held),
                "places": list(look.held.values()),
                "token": token,
                "until": until,
            },
        )
        found = cursor.fetchall()
    return [Row(*values) for _, *values in found if values[0] is not None], found[0][0]


# The cheap look: the oldest rows, whoever's they are. What another drain is claiming is passed over. It takes no
# more than a claim may have: each row that is looked at is locked, and a lock is a write.
_LOOK_AT_OLDEST = """
WITH looked_at AS (
    SELECT id, business_id, next_attempt_at FROM webhooks_delivery
    WHERE state = 'waiting' AND next_attempt_at <= %(at)s
    ORDER BY next_attempt_at LIMIT %(limit)s
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


class Address(NamedTuple):
    """Of an endpoint, what decides whether and where a delivery goes: no more, for it is read in each claim."""

    business_id: UUID
    url: str
    subscribed_events: list[str]
    enabled: bool
    hash_key: str

    def is_subscribed_to(self, event: str) -> bool:
        return category_of(event) in self.subscribed_events


def _endpoints_of(rows: Sequence[Row]) -> dict[UUID, Address]:
    businesses = {row.business_id for row in rows}
    if not businesses:
        return {}
    found = Endpoint.objects.filter(business__in=businesses).values_list(*Address.__annotations__)
    return {address.business_id: address for address in (Address(*values) for values in found)}


def _is_wanted(row: Row, endpoint: Address | None) -> bool:
    return endpoint is not None and (
        row.is_manual or (endpoint.enabled and endpoint.is_subscribed_to(row.event))
    )


def _put_aside(rows: Iterable[Row], endpoints: Mapping[UUID, Address], *, at: datetime) -> None:
    """Hold claimed deliveries whose endpoint is switched off, and skip those it is not subscribed to."""
    aside: dict[Delivery.State, list[UUID]] = {}
    for row in rows:
        endpoint = endpoints.get(row.business_id)
        is_subscribed = endpoint is not None and endpoint.is_subscribed_to(row.event)
        state = Delivery.State.HELD if is_subscribed else Delivery.State.SKIPPED
        aside.setdefault(state, []).append(row.id)
    for state, ids in aside.items():
        Delivery.objects.filter(pk__in=ids).update(
            state=state,
            held_at=at if state == Delivery.State.HELD else None,
            lease_token=None,
            next_attempt_at=None,
            is_manual=False,
        )


def _claimed(row: Row, endpoint: Address, *, token: UUID, until: datetime) -> Claimed:
    return Claimed(
        id=row.id,
        business_id=row.business_id,
        token=token,
        leased_until=until,
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
