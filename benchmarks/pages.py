"""Cost of dashboard pages for a business with a million transactions and three million webhook attempts.

    .venv/bin/python benchmarks/pages.py                        (needs PostgreSQL)
    .venv/bin/python benchmarks/pages.py --transactions 10000 --views 20

Each page is fetched by HTTP as a signed-in owner, one view after the other, from the service under gunicorn; its
size is that of the document, its stylesheets and scripts, before compression. tests/dashboard/test_page_cost.py
counts the queries.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import urljoin

import psycopg
import requests

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import volume
from benchmarks.figures import Figure, percentile
from benchmarks.parts import Part, run_parts
from benchmarks.stack import running_sink
from tests import orders
from tests.journeys.service import Service, start_service
from tests.weighing import weigh

P95 = 150  # ms
PAGE = 60  # KB, before compression
SCRIPTS = 15  # KB, beyond htmx
KB = 1000


PATHS = {
    "overview": "/dashboard/",
    "overview of 90 days": "/dashboard/?days=90",
    "payments": "/dashboard/payments/",
    "failed payments": "/dashboard/payments/?status=failed",
    "payouts": "/dashboard/payouts/",
    "virtual accounts": "/dashboard/virtual-accounts/",
    "webhooks": "/dashboard/webhooks/",
    "deliveries": "/dashboard/webhooks/deliveries/",
    "settlements": "/dashboard/settlements/",
    "balance": "/dashboard/balance/",
    "activity": "/dashboard/activity/",
}


class Owner:
    """The signed-in owner of the large business, with a browser that caches nothing."""

    def __init__(self, service: Service) -> None:
        self.base_url = service.base_url
        self.session = requests.Session()
        address = f"{self.base_url}/dashboard/login/"
        self.session.get(address)
        form = {"email": service.email, "password": service.password}
        form["csrfmiddlewaretoken"] = self.session.cookies["csrftoken"]
        self.session.post(address, form, headers={"Referer": address}, allow_redirects=False)

    def get(self, path: str) -> requests.Response:
        answer = self.session.get(urljoin(self.base_url, path), allow_redirects=False)
        if answer.status_code != requests.codes.ok:
            raise SystemExit(f"{path} was answered with {answer.status_code}.")
        return answer

    def view(self, path: str) -> float:
        """Return the duration of a page in milliseconds."""
        started = time.perf_counter()
        self.get(path)
        return (time.perf_counter() - started) * 1000


def pages(options: argparse.Namespace) -> Iterator[Figure]:
    """Fill a database, and measure every page."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory()))
        service = stack.enter_context(
            start_service(folder, LOG_REQUESTS="False", LOG_LEVEL="WARNING", REDIS_URL="")
        )
        make_one_of_each(service, stack.enter_context(running_sink()).url)
        with psycopg.connect(service.environment["DATABASE_URL"], autocommit=True) as connection:
            volume.fill(connection, transactions=options.transactions)
            paths = PATHS | paths_of_one(connection)
        owner = Owner(service)
        yield Figure("overview, without daily totals", owner.view(paths["overview of 90 days"]), "ms")
        started = time.perf_counter()
        service.command("roll_up_days")
        yield Figure("counting 89 days", time.perf_counter() - started, "s")
        for name, path in paths.items():
            yield from times_of(name, [owner.view(path) for _ in range(options.views)])
        with psycopg.connect(service.environment["DATABASE_URL"], autocommit=True) as connection:
            delete_totals_of_yesterday(connection)
        late = [owner.view(paths["overview"]) for _ in range(options.views)]
        yield from times_of("overview, a whole day not counted yet", late)
        for name, path in paths.items():
            yield from sizes_of(name, owner, path)


def delete_totals_of_yesterday(connection: psycopg.Connection) -> None:
    """Delete yesterday's totals, so that a page must count as much as just before they are computed."""
    connection.execute(
        "DELETE FROM payments_hourlytotals WHERE day = (SELECT max(day) FROM payments_countedday)"
    )
    connection.execute(
        "DELETE FROM payments_countedday WHERE day = (SELECT max(day) FROM payments_countedday)"
    )


def times_of(name: str, took: Sequence[float]) -> Iterator[Figure]:
    note = f"p50 {percentile(took, 0.5):.0f}, first {took[0]:.0f}, slowest {max(took):.0f}"
    yield Figure(f"{name}: p95", percentile(took, 0.95), "ms", P95, note=note)


def sizes_of(name: str, owner: Owner, path: str) -> Iterator[Figure]:
    weight = weigh(owner.get(path).text, lambda address: owner.get(address).content)
    note = f"HTML {weight.document / KB:.1f}, CSS {weight.styles / KB:.1f}, htmx {weight.htmx / KB:.1f}"
    yield Figure(f"{name}: size", weight.page / KB, "KB", PAGE, note=note)
    yield Figure(f"{name}: scripts", weight.scripts / KB, "KB", SCRIPTS)


def make_one_of_each(service: Service, sink: str) -> None:
    """Create one transaction of each kind through the API, with its webhook deliveries."""
    service.command("configure_webhook", "--business", service.business, "--url", sink,
                    "--events", "payment,payout")  # fmt: skip
    challenge = {"enabled": True, "challenge_preference": "challenge_mandated"}
    for order in (
        orders.card_payment(reference=volume.PAID),
        orders.card_payment(reference=volume.DECLINED, source=orders.card_source(pan=orders.DECLINED_CARD)),
        orders.payout(reference=volume.PAYOUT),
        orders.card_payment(reference=volume.WAITING, three_ds=challenge),
    ):
        service.client.post("/api/payments", order)
    service.client.post("/api/virtual-accounts", orders.dynamic_account())
    service.command("deliver_webhooks", "--once")


def paths_of_one(connection: psycopg.Connection) -> dict[str, str]:
    """Return the pages of one payment and of its delivery."""
    found = connection.execute(
        "SELECT payment.id, delivery.id FROM payments_transaction payment JOIN webhooks_delivery delivery "
        "ON delivery.subject = payment.id WHERE payment.reference LIKE 'fill-%' AND payment.status = 'success' "
        "AND payment.request_type = 'payment' ORDER BY payment.id DESC LIMIT 1"
    )
    ((payment, delivery),) = found.fetchall()
    return {
        "a payment": f"/dashboard/payments/{payment}/",
        "a delivery": f"/dashboard/webhooks/deliveries/{delivery}/",
    }


PARTS: dict[str, Part] = {"pages": pages}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--views", type=int, default=100, help="of each page (default 100)")
    parser.add_argument("--transactions", type=int, default=1_000_000, help="default 1000000")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
