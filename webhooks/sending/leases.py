"""Leases of due deliveries, acquired in batches, with a fair share for each business.

PostgreSQL acquires a batch in one or two statements. SQLite, used by the sandbox, reads first and then updates.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Window
from django.db.models.functions import RowNumber

from kit.db.encrypted_field import decrypt
from webhooks.models import TRIES, Delivery, Endpoint, category_of
from webhooks.sending.concurrency import ALL_FREE, Places


@dataclass(frozen=True, slots=True, kw_only=True)
class LeasedDelivery:
    """A delivery under lease, with everything needed to send it. `leased_until` is the database's time."""

    id: UUID
    business_id: UUID
    token: UUID
    leased_until: datetime
    event: str  # the stored name
    body: str
    attempts_made: int
    manual_attempts: int
    is_manual: bool
    was_delivered: bool
    is_test: bool
    url: str
    hash_key: str
    previous_hash_key: str | None
    previous_key_ends_at: datetime | None

    @property
    def number(self) -> int:
        return self.attempts_made + self.manual_attempts + 1

    @property
    def is_first(self) -> bool:
        return self.number == 1


class Acquired(NamedTuple):
    """The result of a look for due deliveries.

    `has_more`: the batch was full, so the next look may find more. `is_place_wanted`: something is due that gets no
    place before a request has ended.
    """

    deliveries: list[LeasedDelivery]
    has_more: bool = False
    is_place_wanted: bool = False


NOTHING = Acquired([])


@dataclass(frozen=True, slots=True, kw_only=True)
class Search:
    """Parameters of a search for due deliveries, limited to the free places of each business."""

    at: datetime
    limit: int
    free: Mapping[UUID, Places]  # of the businesses that differ from `usual`
    usual: Places


class Row(NamedTuple):
    """The columns of a delivery that are needed to send it."""

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


def acquire(
    *,
    at: datetime,
    until: datetime,
    token: UUID,
    limit: int,
    free: Mapping[UUID, Places] | None = None,
    usual: Places = ALL_FREE,
    earlier: Sequence[datetime] = (),
) -> Acquired:
    """Acquire leases of due deliveries, oldest first, within the free places of each business.

    Deliveries to a disabled endpoint are held; unsubscribed ones are skipped. Times are the database's.
    `earlier` lists the lease ends of previous calls with this token whose outcome is unknown. If one of them was
    committed, its deliveries are returned.
    """
    search = Search(at=at, limit=limit, free=free or {}, usual=usual)
    take = _take_in_batches if connection.vendor == "postgresql" else _take
    rows, ends_at, seen = _leased_before(token, earlier), earlier, limit
    if not rows:
        rows, seen = take(search, token=token, until=until)
        ends_at = (until,)
    endpoints = _endpoints_of(rows)
    wanted = [row for row in rows if _is_wanted(row, endpoints.get(row.business_id))]
    if len(wanted) < len(rows):
        _hold_or_skip(set(rows).difference(wanted), endpoints, token=token, at=at)
    leased_until = min(ends_at)
    return Acquired(
        [
            _leased_delivery(row, endpoints[row.business_id], token=token, until=leased_until)
            for row in wanted
        ],
        has_more=bool(rows) and seen >= limit,
        is_place_wanted=seen > len(rows) or seen >= limit,
    )


def renew(held: Sequence[LeasedDelivery], *, until: datetime) -> int:
    """Prolong leases that have not been lost to another process; return their number."""
    mine = Delivery.objects.filter(
        pk__in=[delivery.id for delivery in held], lease_token__in={delivery.token for delivery in held}
    )
    return int(mine.update(next_attempt_at=until))


def has_work(*, at: datetime) -> bool:
    """Return whether anything is due, with one query of two small indexes."""
    due = Delivery.objects.due(at=at).values("pk")
    found: bool = due.union(Delivery.objects.releasable().values("pk"), all=True).exists()
    return found


def _leased_before(token: UUID, ends_at: Sequence[datetime]) -> list[Row]:
    """Return the deliveries under a lease that this token already holds."""
    if not ends_at:
        return []
    leased = Delivery.objects.filter(
        state=Delivery.State.WAITING, next_attempt_at__in=ends_at, lease_token=token
    )
    return [Row(*values) for values in leased.values_list(*COLUMNS)]


@transaction.atomic
def _take(search: Search, *, token: UUID, until: datetime) -> tuple[list[Row], int]:
    """Acquire leases on SQLite, whose transactions hold the only write lock.

    Returns the rows, and how many due ones were read.
    """
    due = Delivery.objects.due(at=search.at).annotate(tries=TRIES).order_by("next_attempt_at", "id")
    oldest = list(due.values_list("id", "business_id", "tries")[: search.limit])
    chosen = _choose(oldest, search)
    if len(chosen) < len(oldest) == search.limit:
        place = Window(RowNumber(), partition_by=["business", "tries"], order_by=["next_attempt_at", "id"])
        of_each = due.annotate(place=place).filter(place__lte=search.usual.total)
        chosen = _choose(of_each.values_list("id", "business_id", "tries"), search)
    taken = Delivery.objects.filter(pk__in=chosen)
    rows = [Row(*values) for values in taken.order_by("next_attempt_at", "id").values_list(*COLUMNS)]
    taken.update(lease_token=token, next_attempt_at=until)
    return rows, len(oldest)


def _choose(oldest: Iterable[tuple[UUID, UUID, int]], search: Search) -> list[UUID]:
    """Return the deliveries that get a free place, from rows of (id, business, 0 or 1 for a retry)."""
    left: dict[UUID, list[int]] = {}
    chosen: list[UUID] = []
    for delivery_id, business_id, tries in oldest:
        places = left.setdefault(business_id, list(search.free.get(business_id, search.usual)))
        kind = 1 if tries else 0
        if places[kind] > 0 and places[2] > 0 and len(chosen) < search.limit:
            places[kind] -= 1
            places[2] -= 1
            chosen.append(delivery_id)
    return chosen


def _take_in_batches(search: Search, *, token: UUID, until: datetime) -> tuple[list[Row], int]:
    rows, seen = _execute_take(_OLDEST, search, token=token, until=until)
    if len(rows) == search.limit or seen < search.limit:
        return rows, seen
    rest = replace(search, limit=search.limit - len(rows), free=_without(search, rows))
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_READ_IN_INDEX_ORDER)
        return rows + _execute_take(_OLDEST_OF_EACH, rest, token=token, until=until)[0], seen


def _without(search: Search, rows: Sequence[Row]) -> dict[UUID, Places]:
    """Return the free places left after these deliveries took theirs."""
    left = dict(search.free)
    for row in rows:
        first_attempts, retries, total = left.get(row.business_id, search.usual)
        was_tried = row.attempts_made + row.manual_attempts > 0
        left[row.business_id] = Places(first_attempts - (not was_tried), retries - was_tried, total - 1)
    return left


def _execute_take(statement: str, search: Search, *, token: UUID, until: datetime) -> tuple[list[Row], int]:
    """Return the leased rows and the number of rows read."""
    with connection.cursor() as cursor:
        cursor.execute(
            statement,
            {
                "at": search.at,
                "limit": search.limit,
                "businesses": list(search.free),
                "first_attempts": [places.first_attempts for places in search.free.values()],
                "retries": [places.retries for places in search.free.values()],
                "totals": [places.total for places in search.free.values()],
                "usual_first_attempts": search.usual.first_attempts,
                "usual_retries": search.usual.retries,
                "usual_total": search.usual.total,
                "token": token,
                "until": until,
            },
        )
        found = cursor.fetchall()
    return [Row(*values) for _, *values in found if values[0] is not None], found[0][0]


# Whether a delivery was tried before: 0 or 1. `deliveries_due_by_tries` has the same expression.
_WAS_TRIED = "least(attempts_made + manual_attempts, 1)"

# The cheap query: the oldest rows of all businesses. Rows locked by another dispatcher are skipped. It reads no more
# rows than can be leased, because every row read is locked, and a row lock is a write.
_FIND_OLDEST = f"""
WITH candidate AS (
    SELECT id, business_id, next_attempt_at, {_WAS_TRIED} AS was_tried FROM webhooks_delivery
    WHERE state = 'waiting' AND next_attempt_at <= %(at)s
    ORDER BY next_attempt_at LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)"""  # noqa: S608  (our own column names)

# The fair query: the oldest few of each business, first attempts and retries separately. It costs two index steps per
# business and kind with waiting deliveries and nothing per row, so a long backlog of one business does not hide others.
# The comparison of pairs suits only `deliveries_due_by_tries`. An index that also holds delivered rows would have all
# those of a business without waiting ones read.
_FIND_OLDEST_OF_EACH = f"""
WITH RECURSIVE waiting (business_id, was_tried) AS (
    (
        SELECT business_id, {_WAS_TRIED} FROM webhooks_delivery WHERE state = 'waiting'
        ORDER BY business_id, {_WAS_TRIED} LIMIT 1
    )
    UNION ALL
    SELECT later.* FROM waiting CROSS JOIN LATERAL (
        SELECT business_id, {_WAS_TRIED} FROM webhooks_delivery
        WHERE state = 'waiting' AND (business_id, {_WAS_TRIED}) > (waiting.business_id, waiting.was_tried)
        ORDER BY business_id, {_WAS_TRIED} LIMIT 1
    ) AS later
), candidate AS (
    SELECT oldest.* FROM waiting CROSS JOIN LATERAL (
        SELECT id, business_id, next_attempt_at, waiting.was_tried FROM webhooks_delivery
        WHERE state = 'waiting' AND business_id = waiting.business_id
            AND {_WAS_TRIED} = waiting.was_tried AND next_attempt_at <= %(at)s
        ORDER BY next_attempt_at LIMIT %(usual_total)s
    ) AS oldest
)"""  # noqa: S608  (our own column names)

# Statistics from before a backlog make reading and sorting all due rows of a business look cheap. Sorts stay enabled: the
# statement needs some, and PostgreSQL compiles statements with disabled steps, which takes longer than running this one.
_READ_IN_INDEX_ORDER = "SET LOCAL enable_bitmapscan = off"

# Select the rows that get a free place. Locking reads a row again, because it may have been leased since.
# Rows are looked up one by one, because a join may read every due row.
_TAKE = f"""
, free AS (
    SELECT * FROM unnest(
        %(businesses)s::uuid[], %(first_attempts)s::integer[], %(retries)s::integer[], %(totals)s::integer[]
    ) AS free (business_id, first_attempts, retries, total)
), placed AS (
    SELECT *, row_number() OVER (PARTITION BY business_id, was_tried ORDER BY next_attempt_at) AS place
    FROM candidate
), fitting AS (
    SELECT placed.id, placed.next_attempt_at, coalesce(free.total, %(usual_total)s) AS total,
        row_number() OVER (PARTITION BY business_id ORDER BY placed.next_attempt_at) AS place
    FROM placed LEFT JOIN free USING (business_id)
    WHERE placed.place <= CASE placed.was_tried
        WHEN 0 THEN coalesce(free.first_attempts, %(usual_first_attempts)s)
        ELSE coalesce(free.retries, %(usual_retries)s) END
), chosen AS (
    SELECT id, next_attempt_at FROM fitting WHERE place <= total ORDER BY next_attempt_at LIMIT %(limit)s
), locked AS (
    SELECT still_due.id, chosen.next_attempt_at AS due_at FROM chosen CROSS JOIN LATERAL (
        SELECT id FROM webhooks_delivery
        WHERE id = chosen.id AND state = 'waiting' AND next_attempt_at <= %(at)s
        FOR UPDATE SKIP LOCKED
    ) AS still_due
), taken AS (
    UPDATE webhooks_delivery AS delivery SET lease_token = %(token)s, next_attempt_at = %(until)s
    FROM locked WHERE delivery.id = locked.id
    RETURNING locked.due_at, {", ".join(f"delivery.{column}" for column in COLUMNS)}
)
SELECT seen.rows, {", ".join(f"taken.{column}" for column in COLUMNS)}
FROM (SELECT count(*) AS rows FROM candidate) AS seen LEFT JOIN taken ON true
ORDER BY taken.due_at"""  # noqa: S608  (our own column names)

_OLDEST = _FIND_OLDEST + _TAKE
_OLDEST_OF_EACH = _FIND_OLDEST_OF_EACH + _TAKE


class Address(NamedTuple):
    """The columns of an endpoint that decide whether and where a delivery is sent. Every batch reads them."""

    business_id: UUID
    url: str
    subscribed_events: list[str]
    enabled: bool
    hash_key: str
    previous_hash_key: str | None
    previous_key_ends_at: datetime | None

    def is_subscribed_to(self, event: str) -> bool:
        return category_of(event) in self.subscribed_events


def _endpoints_of(rows: Sequence[Row]) -> dict[UUID, Address]:
    businesses = {row.business_id for row in rows}
    if not businesses:
        return {}
    read = _addresses_of if connection.vendor == "postgresql" else _addresses_by_model
    return {address.business_id: address for address in read(businesses)}


def _addresses_by_model(businesses: Iterable[UUID]) -> list[Address]:
    found = Endpoint.objects.filter(business__in=businesses).values_list(*Address.__annotations__)
    return [Address(*values) for values in found]


def _addresses_of(businesses: Iterable[UUID]) -> list[Address]:
    """Read endpoints with a statement that stays prepared and isn't built anew for each batch."""
    with connection.cursor() as cursor:
        cursor.execute(_ADDRESSES, [list(businesses)])
        found = cursor.fetchall()
    return [
        Address(
            business_id,
            url,
            json.loads(events),  # noqa: TID251  (our own column)
            enabled,
            decrypt(hash_key),
            previous and decrypt(previous),
            ends_at,
        )
        for business_id, url, events, enabled, hash_key, previous, ends_at in found
    ]


_ADDRESSES = f"SELECT {', '.join(Address.__annotations__)} FROM webhooks_endpoint WHERE business_id = ANY(%s)"  # noqa: S608


def _is_wanted(row: Row, endpoint: Address | None) -> bool:
    return endpoint is not None and (
        row.is_manual or (endpoint.enabled and endpoint.is_subscribed_to(row.event))
    )


def _hold_or_skip(
    rows: Iterable[Row], endpoints: Mapping[UUID, Address], *, token: UUID, at: datetime
) -> None:
    """Hold leased deliveries to disabled endpoints, and skip unsubscribed ones."""
    aside: dict[Delivery.State, list[UUID]] = {}
    for row in rows:
        endpoint = endpoints.get(row.business_id)
        is_subscribed = endpoint is not None and endpoint.is_subscribed_to(row.event)
        state = Delivery.State.HELD if is_subscribed else Delivery.State.SKIPPED
        aside.setdefault(state, []).append(row.id)
    for state, ids in aside.items():
        Delivery.objects.filter(pk__in=ids, lease_token=token).update(
            state=state,
            held_at=at if state == Delivery.State.HELD else None,
            lease_token=None,
            next_attempt_at=None,
            is_manual=False,
        )


def _leased_delivery(row: Row, endpoint: Address, *, token: UUID, until: datetime) -> LeasedDelivery:
    return LeasedDelivery(
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
        previous_hash_key=endpoint.previous_hash_key,
        previous_key_ends_at=endpoint.previous_key_ends_at,
    )
