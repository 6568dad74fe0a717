"""Leases of due deliveries, acquired in batches, with a fair share for each business.

PostgreSQL acquires a batch in one or two statements. SQLite, used by the sandbox, reads first and then updates.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import cached_property
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection, transaction
from django.db.models import Window
from django.db.models.functions import RowNumber

from kit.db.encrypted_field import decrypt
from webhooks.models import TRIES, Delivery, Endpoint, is_subscribed
from webhooks.sending.concurrency import ALL_FREE, Key, Places, Share
from webhooks.signing import keys_at


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
    planned_at: datetime | None = None  # of the automatic attempt that follows an extra one
    was_delivered: bool
    is_test: bool
    url: str
    hash_key: str
    previous_hash_key: str | None
    previous_key_ends_at: datetime | None
    endpoint_number: int = Endpoint.FIRST
    event_id: UUID
    standard_webhooks: bool = False
    shown_version: str = ""  # empty: no header has it
    endpoints: int = 1  # enabled ones of the business

    @property
    def number(self) -> int:
        return self.attempts_made + self.manual_attempts + 1

    @property
    def is_first(self) -> bool:
        return self.number == 1

    def keys(self, *, at: datetime) -> list[str]:
        """Return the key that signs, and the one before the last rotation until its overlap ends."""
        return keys_at(
            at,
            key=self.hash_key,
            previous=self.previous_hash_key,
            previous_ends_at=self.previous_key_ends_at,
        )


class Acquired(NamedTuple):
    """The result of a look for due deliveries.

    `has_more`: the batch was full, so the next look may find more. `is_place_wanted`: something is due that gets no
    place before a request has ended.
    """

    deliveries: list[LeasedDelivery]
    has_more: bool = False
    is_place_wanted: bool = False


NOTHING = Acquired([])


@dataclass(frozen=True, kw_only=True)
class Search:
    """Parameters of a search for due deliveries, limited to the free places of each business and endpoint."""

    at: datetime
    limit: int
    free: Mapping[UUID, Places]  # of the businesses that differ from `usual`
    usual: Places
    shares: Mapping[Key, Share]  # of endpoints, where their business has several

    def places_of(self, endpoint: Key) -> Places:
        return self.shares[endpoint].places if endpoint in self.shares else self.usual

    def is_busy(self, endpoint: Key) -> bool:
        return endpoint in self.shares and self.shares[endpoint].is_busy

    @cached_property
    def sharing(self) -> set[UUID]:
        """Return the businesses with several endpoints."""
        further = Endpoint.objects.live().filter(number__gt=Endpoint.FIRST, enabled=True)
        return set(further.values_list("business", flat=True))


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
    planned_at: datetime | None
    delivered_at: datetime | None
    endpoint_number: int
    shared_event_id: UUID | None

    @property
    def endpoint(self) -> Key:
        return self.business_id, self.endpoint_number


class Address(NamedTuple):
    """The columns of an endpoint that decide whether and where a delivery is sent, and how many its business has."""

    url: str
    subscribed_events: list[str]
    enabled: bool
    hash_key: str
    previous_hash_key: str | None
    previous_key_ends_at: datetime | None
    standard_webhooks: bool
    api_version: str
    made_by_api: bool
    endpoints: int  # enabled ones of the business

    def is_subscribed_to(self, event: str) -> bool:
        return is_subscribed(self.subscribed_events, event)


Addressed = tuple[Row, Address | None]  # without an address: the endpoint was deleted
COLUMNS = tuple(Row.__annotations__)
ADDRESS_COLUMNS = tuple(column for column in Address.__annotations__ if column != "endpoints")


def acquire(
    *,
    at: datetime,
    until: datetime,
    token: UUID,
    limit: int,
    free: Mapping[UUID, Places] | None = None,
    usual: Places = ALL_FREE,
    shares: Mapping[Key, Share] | None = None,
    earlier: Sequence[datetime] = (),
) -> Acquired:
    """Acquire leases of due deliveries, oldest first, within the free places of each business and endpoint.

    Deliveries to a disabled endpoint are held; unsubscribed ones are skipped. Times are the database's.
    `earlier` lists the lease ends of previous calls with this token whose outcome is unknown. If one of them was
    committed, its deliveries are returned.
    """
    search = Search(at=at, limit=limit, free=free or {}, usual=usual, shares=shares or {})
    take = _take_in_batches if connection.vendor == "postgresql" else _take
    rows, ends_at, seen = _leased_before(token, earlier), earlier, limit
    if not rows:
        rows, seen = take(search, token=token, until=until)
        ends_at = (until,)
    wanted: list[tuple[Row, Address]] = []
    unwanted: list[tuple[Row, Address | None]] = []
    for row, address in rows:
        if address is not None and _is_wanted(row, address):
            wanted.append((row, address))
        else:
            unwanted.append((row, address))
    _hold_or_skip(unwanted, token=token, at=at)
    leased_until = min(ends_at)
    return Acquired(
        [_leased_delivery(row, address, token=token, until=leased_until) for row, address in wanted],
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
    return due.union(Delivery.objects.releasable().values("pk"), all=True).exists()


def _leased_before(token: UUID, ends_at: Sequence[datetime]) -> list[Addressed]:
    """Return the deliveries under a lease that this token already holds."""
    if not ends_at:
        return []
    leased = Delivery.objects.filter(
        state=Delivery.State.WAITING, next_attempt_at__in=ends_at, lease_token=token
    )
    return _with_addresses([Row(*values) for values in leased.values_list(*COLUMNS)])


def _with_addresses(rows: Sequence[Row]) -> list[Addressed]:
    """Read the endpoints of these rows."""
    live = Endpoint.objects.live().filter(business__in={row.business_id for row in rows})
    found = list(live.values_list("business", "number", *ADDRESS_COLUMNS))
    endpoints = Counter(business for business, _number, _url, _events, enabled, *_ in found if enabled)
    addresses = {
        (business, number): Address(*[*columns, endpoints[business]]) for business, number, *columns in found
    }
    return [(row, addresses.get(row.endpoint)) for row in rows]


@transaction.atomic
def _take(search: Search, *, token: UUID, until: datetime) -> tuple[list[Addressed], int]:
    """Acquire leases on SQLite, whose transactions hold the only write lock.

    Returns the rows, and how many due ones were read.
    """
    due = Delivery.objects.due(at=search.at).annotate(tries=TRIES).order_by("next_attempt_at", "id")
    oldest = [Due(*values) for values in due.values_list(*Due.__annotations__)[: search.limit]]
    chosen = _choose(oldest, search)
    if len(chosen) < len(oldest) == search.limit:
        each = ["business", "endpoint_number", "tries"]
        place = Window(RowNumber(), partition_by=each, order_by=["next_attempt_at", "id"])
        of_each = due.annotate(place=place).filter(place__lte=search.usual.total)
        chosen = _choose([Due(*values) for values in of_each.values_list(*Due.__annotations__)], search)
    taken = Delivery.objects.filter(pk__in=chosen)
    rows = [Row(*values) for values in taken.order_by("next_attempt_at", "id").values_list(*COLUMNS)]
    taken.update(lease_token=token, next_attempt_at=until)
    return _with_addresses(rows), len(oldest)


class Due(NamedTuple):
    """A due delivery, oldest first among others. `tries` is 0, or 1 for a retry."""

    id: UUID
    business_id: UUID
    endpoint_number: int
    tries: int

    @property
    def endpoint(self) -> Key:
        return self.business_id, self.endpoint_number


def _choose(oldest: Sequence[Due], search: Search) -> list[UUID]:
    """Return the deliveries that get a free place. Endpoints without a request in flight come first."""
    entries = _entries(oldest, search)
    # The last place of a business with several endpoints is for one that has none.
    further = {due.id for due in oldest if due.business_id in search.sharing and due.id not in entries}
    left: dict[UUID | Key, list[int]] = {}
    chosen: set[UUID] = set()
    for due in sorted(oldest, key=lambda due: due.id in further):
        own = left.setdefault(due.endpoint, list(search.places_of(due.endpoint)))
        common = left.setdefault(due.business_id, list(search.free.get(due.business_id, search.usual)))
        kept = due.id in further
        if min(own[due.tries], common[due.tries], own[2], common[2] - kept, search.limit - len(chosen)) > 0:
            for places in (own, common):
                places[due.tries] -= 1
                places[2] -= 1
            chosen.add(due.id)
    return [due.id for due in oldest if due.id in chosen]


def _entries(oldest: Iterable[Due], search: Search) -> set[UUID]:
    """Return the oldest delivery of each endpoint that has no request in flight."""
    found: dict[Key, UUID] = {}
    for due in oldest:
        if search.places_of(due.endpoint)[due.tries] > 0 and not search.is_busy(due.endpoint):
            found.setdefault(due.endpoint, due.id)
    return set(found.values())


def _take_in_batches(search: Search, *, token: UUID, until: datetime) -> tuple[list[Addressed], int]:
    taken, seen = _execute_take(_OLDEST, search, token=token, until=until)
    if len(taken) == search.limit or seen < search.limit:
        return taken, seen
    rows = [row for row, _ in taken]
    rest = replace(
        search,
        limit=search.limit - len(rows),
        free=_without(search, rows),
        shares=_shares_without(search, rows),
    )
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_READ_IN_INDEX_ORDER)
        return taken + _execute_take(_OLDEST_OF_EACH, rest, token=token, until=until)[0], seen


def _without(search: Search, rows: Sequence[Row]) -> dict[UUID, Places]:
    """Return the free places of businesses that are left after these deliveries took theirs."""
    left = dict(search.free)
    for row in rows:
        left[row.business_id] = _less(left.get(row.business_id, search.usual), row)
    return left


def _shares_without(search: Search, rows: Sequence[Row]) -> dict[Key, Share]:
    """Return the shares of endpoints that are left after these deliveries took theirs."""
    left = dict(search.shares)
    for row in rows:
        places = left[row.endpoint].places if row.endpoint in left else search.usual
        left[row.endpoint] = Share(_less(places, row), is_busy=True)
    return left


def _less(places: Places, row: Row) -> Places:
    first_attempts, retries, total = places
    was_tried = row.attempts_made + row.manual_attempts > 0
    return Places(first_attempts - (not was_tried), retries - was_tried, total - 1)


def _execute_take(
    statement: str, search: Search, *, token: UUID, until: datetime
) -> tuple[list[Addressed], int]:
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
                "own_businesses": [business for business, _ in search.shares],
                "own_numbers": [number for _, number in search.shares],
                "own_first_attempts": [share.places.first_attempts for share in search.shares.values()],
                "own_retries": [share.places.retries for share in search.shares.values()],
                "own_totals": [share.places.total for share in search.shares.values()],
                "own_busy": [share.is_busy for share in search.shares.values()],
                "usual_first_attempts": search.usual.first_attempts,
                "usual_retries": search.usual.retries,
                "usual_total": search.usual.total,
                "token": token,
                "until": until,
            },
        )
        found = cursor.fetchall()
    return [_addressed(values) for _, *values in found if values[0] is not None], found[0][0]


def _addressed(values: Sequence[Any]) -> Addressed:
    """Return a row that PostgreSQL joined with its endpoint."""
    row = Row(*values[: len(COLUMNS)])
    url, events, enabled, key, previous_key, *others = values[len(COLUMNS) :]
    if url is None:
        return row, None
    subscribed = json.loads(events)  # noqa: TID251  (our own column)
    previous = previous_key and decrypt(previous_key)
    return row, Address(url, subscribed, enabled, decrypt(key), previous, *others)


# Whether a delivery was tried before: 0 or 1. `deliveries_due_by_endpoint` has the same expression.
_WAS_TRIED = "least(attempts_made + manual_attempts, 1)"

# The cheap query: the oldest rows of all businesses. Rows locked by another dispatcher are skipped. It reads no more
# rows than can be leased, because every row read is locked, and a row lock is a write.
_FIND_OLDEST = f"""
WITH candidate AS (
    SELECT id, business_id, endpoint_number, next_attempt_at, {_WAS_TRIED} AS was_tried FROM webhooks_delivery
    WHERE state = 'waiting' AND next_attempt_at <= %(at)s
    ORDER BY next_attempt_at LIMIT %(limit)s
    FOR UPDATE SKIP LOCKED
)"""  # noqa: S608  (our own column names)

# The fair query: the oldest few of each endpoint, first attempts and retries separately. It costs two index steps per
# endpoint and kind with waiting deliveries and nothing per row, so a long backlog of one endpoint does not hide others.
# The comparison of rows suits only `deliveries_due_by_endpoint`. An index that also holds delivered rows would have all
# those of an endpoint without waiting ones read.
_GROUP = f"business_id, endpoint_number, {_WAS_TRIED}"
_FIND_OLDEST_OF_EACH = f"""
WITH RECURSIVE waiting (business_id, endpoint_number, was_tried) AS (
    (
        SELECT {_GROUP} FROM webhooks_delivery WHERE state = 'waiting' ORDER BY {_GROUP} LIMIT 1
    )
    UNION ALL
    SELECT later.* FROM waiting CROSS JOIN LATERAL (
        SELECT {_GROUP} FROM webhooks_delivery
        WHERE state = 'waiting'
            AND ({_GROUP}) > (waiting.business_id, waiting.endpoint_number, waiting.was_tried)
        ORDER BY {_GROUP} LIMIT 1
    ) AS later
), candidate AS (
    SELECT oldest.* FROM waiting CROSS JOIN LATERAL (
        SELECT id, business_id, endpoint_number, next_attempt_at, waiting.was_tried FROM webhooks_delivery
        WHERE state = 'waiting' AND business_id = waiting.business_id
            AND endpoint_number = waiting.endpoint_number
            AND {_WAS_TRIED} = waiting.was_tried AND next_attempt_at <= %(at)s
        ORDER BY next_attempt_at LIMIT %(usual_total)s
    ) AS oldest
)"""  # noqa: S608  (our own column names)

# Statistics from before a backlog make reading and sorting all due rows of a business look cheap. Sorts stay enabled: the
# statement needs some, and PostgreSQL compiles statements with disabled steps, which takes longer than running this one.
_READ_IN_INDEX_ORDER = "SET LOCAL enable_bitmapscan = off"

# Select the rows that get a free place: first by the shares of their endpoints, then by the places of their business.
# Where a business has several endpoints, its last place is for the oldest row of one without a request in flight. The
# businesses that have several are found at once, by `further_endpoints`: PostgreSQL would expect a search for each row to
# take so long that it plans the statement anew each time.
_CHOOSE = """
, free AS (
    SELECT * FROM unnest(
        %(businesses)s::uuid[], %(first_attempts)s::integer[], %(retries)s::integer[], %(totals)s::integer[]
    ) AS free (business_id, first_attempts, retries, total)
), own AS (
    SELECT * FROM unnest(
        %(own_businesses)s::uuid[], %(own_numbers)s::integer[], %(own_first_attempts)s::integer[],
        %(own_retries)s::integer[], %(own_totals)s::integer[], %(own_busy)s::boolean[]
    ) AS own (business_id, endpoint_number, first_attempts, retries, total, is_busy)
), sharing AS (
    SELECT business_id, count(*) AS endpoints FROM webhooks_endpoint
    WHERE enabled AND deleted_at IS NULL AND business_id IN (
        SELECT business_id FROM webhooks_endpoint
        WHERE number > 0 AND enabled AND deleted_at IS NULL AND business_id IN (SELECT business_id FROM candidate)
    )
    GROUP BY business_id
), placed AS (
    SELECT *, row_number() OVER (
        PARTITION BY business_id, endpoint_number, was_tried ORDER BY next_attempt_at
    ) AS place
    FROM candidate
), of_endpoint AS (
    SELECT placed.*, coalesce(own.total, %(usual_total)s) AS own_total, coalesce(is_busy, false) AS is_busy,
        row_number() OVER (
            PARTITION BY business_id, endpoint_number ORDER BY placed.next_attempt_at
        ) AS own_place
    FROM placed LEFT JOIN own USING (business_id, endpoint_number)
    WHERE placed.place <= CASE placed.was_tried
        WHEN 0 THEN coalesce(own.first_attempts, %(usual_first_attempts)s)
        ELSE coalesce(own.retries, %(usual_retries)s) END
), of_kind AS (
    SELECT *, own_place > 1 OR is_busy AS is_further, row_number() OVER (
        PARTITION BY business_id, was_tried ORDER BY own_place > 1 OR is_busy, next_attempt_at
    ) AS kind_place
    FROM of_endpoint WHERE own_place <= own_total
), fitting AS (
    SELECT of_kind.id, of_kind.next_attempt_at,
        coalesce(free.total, %(usual_total)s) - (is_further AND endpoints IS NOT NULL)::integer AS total,
        row_number() OVER (PARTITION BY business_id ORDER BY is_further, of_kind.next_attempt_at) AS place
    FROM of_kind LEFT JOIN free USING (business_id) LEFT JOIN sharing USING (business_id)
    WHERE kind_place <= CASE was_tried
        WHEN 0 THEN coalesce(free.first_attempts, %(usual_first_attempts)s)
        ELSE coalesce(free.retries, %(usual_retries)s) END
), chosen AS (
    SELECT id, next_attempt_at AS due_at FROM fitting WHERE place <= total ORDER BY due_at LIMIT %(limit)s
)"""

# The fair query locks no rows, and another dispatcher may lease some meanwhile, so chosen ones are read again: one by one,
# because a join may read every due row.
_LOCK = """
, locked AS (
    SELECT chosen.* FROM chosen CROSS JOIN LATERAL (
        SELECT FROM webhooks_delivery WHERE id = chosen.id AND state = 'waiting' AND next_attempt_at <= %(at)s
        FOR UPDATE SKIP LOCKED
    ) AS still_due
)"""

# Leases rows that are locked, and returns them with their endpoints: a query of its own for these takes 12 % of the rate.
_TAKE = f"""
, taken AS (
    UPDATE webhooks_delivery AS delivery SET lease_token = %(token)s, next_attempt_at = %(until)s
    FROM {{rows}} AS due WHERE delivery.id = due.id
    RETURNING due.due_at, {", ".join(f"delivery.{column}" for column in COLUMNS)}
)
SELECT seen.rows, {", ".join(f"taken.{column}" for column in COLUMNS)},
    {", ".join(f"endpoint.{column}" for column in ADDRESS_COLUMNS)}, coalesce(sharing.endpoints, 1)
FROM (SELECT count(*) AS rows FROM candidate) AS seen LEFT JOIN taken ON true
LEFT JOIN webhooks_endpoint AS endpoint ON endpoint.business_id = taken.business_id
    AND endpoint.number = taken.endpoint_number AND endpoint.deleted_at IS NULL
LEFT JOIN sharing ON sharing.business_id = taken.business_id
ORDER BY taken.due_at"""  # noqa: S608  (our own column names)

_OLDEST = _FIND_OLDEST + _CHOOSE + _TAKE.format(rows="chosen")
_OLDEST_OF_EACH = _FIND_OLDEST_OF_EACH + _CHOOSE + _LOCK + _TAKE.format(rows="locked")


def _is_wanted(row: Row, endpoint: Address) -> bool:
    return row.is_manual or (endpoint.enabled and endpoint.is_subscribed_to(row.event))


def _hold_or_skip(rows: Iterable[tuple[Row, Address | None]], *, token: UUID, at: datetime) -> None:
    """Hold leased deliveries to disabled endpoints, and skip those to deleted or unsubscribed ones."""
    aside: dict[Delivery.State, list[UUID]] = {}
    for row, endpoint in rows:
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
        planned_at=row.planned_at,
        was_delivered=row.delivered_at is not None,
        is_test=row.subject is None,
        url=endpoint.url,
        hash_key=endpoint.hash_key,
        previous_hash_key=endpoint.previous_hash_key,
        previous_key_ends_at=endpoint.previous_key_ends_at,
        endpoint_number=row.endpoint_number,
        event_id=row.shared_event_id or row.id,
        standard_webhooks=endpoint.standard_webhooks,
        shown_version=endpoint.api_version if endpoint.made_by_api else "",
        endpoints=endpoint.endpoints,
    )
