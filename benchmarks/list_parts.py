"""Measure the API's lists of payments in this process."""

import argparse
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import Any
from urllib.parse import quote

from django.conf import settings
from psycopg import Connection

from benchmarks.figures import Figure, percentile, seconds_of
from benchmarks.many_rows import DAYS, ID, copy_row, filling
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory

FLAT = 1.25  # times the cost at the fewest rows
NEWEST = "the newest"


def api_lists(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Measure each list of the API at each number of rows, then how the costs compare.

    The lists take turns, and each is also compared with the unfiltered list of the same turns, because
    other work on the machine slows both.
    """
    with Connection.connect(url, autocommit=True) as connection:
        client = client_with_a_payment()
        found: list[dict[str, float]] = []
        for fewer, rows in pairwise([0, *sorted(options.rows)]):
            fill(connection, rows - fewer)
            found.append(costs(client, turns=options.turns))
            for name, cost in found[-1].items():
                yield Figure(f"{name}, {rows:,} rows", cost, "ms")
    fewest, most = found[0], found[-1]
    yield Figure(f"{NEWEST}: most rows, of fewest", most[NEWEST] / fewest[NEWEST], "times")
    for name in fewest.keys() - {NEWEST}:
        beside = (most[name] / most[NEWEST]) / (fewest[name] / fewest[NEWEST])
        yield Figure(f"{name}, beside {NEWEST}: most rows, of fewest", beside, "times", FLAT)


def costs(client: Any, *, turns: int) -> dict[str, float]:
    """Return the 10th percentile of each list's milliseconds, which other work on the machine disturbs least."""
    took: dict[str, list[float]] = {name: [] for name in targets()}
    for _ in range(turns):
        for name, target in targets().items():
            took[name].append(seconds_of(partial(read, client, target)) * 1000)
    return {name: percentile(times, 0.1) for name, times in took.items()}


def client_with_a_payment() -> Any:
    """Return a client that signs for a business with one payment. Calls are not limited."""
    settings.RATE_LIMIT_READS = 1_000_000
    key: Any = ApiKeyFactory()  # type: ignore[no-untyped-call]
    client = InProcessClient(Credentials(key.public_id, key.secret))
    client.post("/api/payments", orders.card_payment(reference="bench"))
    return client


def fill(connection: Connection, rows: int) -> None:
    with filling(connection, "payments_transaction"):
        copy_row(
            connection,
            "payments_transaction",
            rows,
            {"id": ID, "reference": f"'copy-{rows}-' || n", "created_at": "at", "finished_at": "at"},
        )


def targets() -> dict[str, str]:
    """Return the requests by name. Every filter leaves more than a page, even of the fewest rows."""
    middle = datetime.now(tz=UTC) - timedelta(days=DAYS / 2)
    first, last = (
        quote(moment.isoformat(timespec="milliseconds")) for moment in (middle, middle + timedelta(10))
    )
    return {
        NEWEST: "/api/payments?",
        "of ten days": f"/api/payments?created_from={first}&created_to={last}",
        "up to a day": f"/api/payments?created_to={first}",
        "from a day": f"/api/payments?created_from={first}",
        "payments by card of ten days": (
            f"/api/payments?payment_method=card&created_from={first}&created_to={last}"
        ),
    }


def read(client: Any, target: str) -> None:
    answer = client.get(f"{target}&limit=20".replace("?&", "?"))
    if len(answer.json().get("data", [])) != 20:
        raise SystemExit(f"{target} was answered with {answer.status_code} and no full page.")
