"""How fast webhooks go out, against one Celery-style task for each delivery with `requests`.

    .venv/bin/python benchmarks/webhooks.py [--backlog 20000] [--rounds 3]      (needs PostgreSQL)

One drain process and one sink process share the machine's cores with PostgreSQL. The yardstick does what a
task for each delivery would do, in a pool of threads and without the broker's own cost: read the row, post it
with `requests`, write the attempt. Machines are shared and noisy: read the ratios, not the rates.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
import uuid
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from statistics import median

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from benchmarks.load import spread  # noqa: E402
from tests.journeys.service import free_port, postgresql_database, wait_until_open  # noqa: E402

DEFAULT_DATABASE = "postgres://postgres@127.0.0.1:5432/postgres"
BUSINESSES = 100
BODY = {
    "amount": 50_000,
    "currency": "NGN",
    "status": "success",
    "reference": "order-1",
    "response_code": "10000",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--backlog", type=int, default=20_000, help="deliveries in a round (default 20000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each kind (default 3)")
    options = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with postgresql_database(os.environ.get("DATABASE_URL", DEFAULT_DATABASE)) as url, sink() as port:
        set_up(url, port)
        drained, posted = [], []
        for _ in range(options.rounds):
            drained.append(measure(options.backlog, drain_all))
            posted.append(measure(options.backlog // 10, post_one_by_one))
        ratios = [one / other for one, other in zip(drained, posted, strict=True)]
        print(f"drain, backlog of {options.backlog:,}:        {spread(drained)} deliveries/s")
        print(f"a task each with requests:          {spread(posted)} deliveries/s")
        print(f"ratio: {median(ratios):.1f}  [{min(ratios):.1f} … {max(ratios):.1f}]")
        print(f"peak memory of this process: {peak_memory():.0f} MB")


@contextmanager
def sink() -> Iterator[int]:
    """Run a receiver that answers 204 to everything, in a process of its own."""
    port = free_port()
    process = subprocess.Popen([sys.executable, str(PROJECT / "benchmarks" / "sink.py"), str(port)])
    try:
        wait_until_open(port, process)
        yield port
    finally:
        process.terminate()
        process.wait()


def set_up(url: str, port: int) -> None:
    """Migrate the database and subscribe the businesses."""
    os.environ |= {
        "DATABASE_URL": url,
        "SANDBOX_DATA": tempfile.mkdtemp(),
        "DJANGO_SETTINGS_MODULE": "config.settings",
        "LOG_LEVEL": "WARNING",
        "REDIS_URL": "",
    }
    import django  # noqa: PLC0415  (the settings read the environment)

    django.setup()
    from django.core.management import call_command  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from merchants.audit import Actor  # noqa: PLC0415
    from merchants.models import Business  # noqa: PLC0415
    from webhooks import services  # noqa: PLC0415

    call_command("migrate", verbosity=0)
    for number in range(BUSINESSES):
        services.configure(
            business=Business.objects.create(name=f"Business {number}"),
            url=f"http://127.0.0.1:{port}/{number}",
            subscribed_events=["payment"],
            enabled=True,
            actor=Actor(name="benchmark"),
            now=timezone.now(),
        )


def measure(count: int, send: Callable[[], None]) -> float:
    """Fill the backlog, send it, and return the deliveries per second."""
    from django.db import connection  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from merchants.models import Business  # noqa: PLC0415
    from webhooks.models import Delivery, Event  # noqa: PLC0415
    from webhooks.services import prepare  # noqa: PLC0415

    businesses = list(Business.objects.all())
    rows = [
        row
        for number in range(count)
        for row in prepare(
            event=Event.PAYMENT_SUCCESS,
            business=businesses[number % len(businesses)],
            subject=uuid.uuid4(),
            data=lambda: BODY,
            now=timezone.now(),
        )
    ]
    Delivery.objects.bulk_create(rows, batch_size=1000)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")
    started = time.perf_counter()
    send()
    seconds = time.perf_counter() - started
    left = Delivery.objects.exclude(state=Delivery.State.DELIVERED).count()
    if left:
        raise SystemExit(f"{left} deliveries did not arrive")
    return count / seconds


def drain_all() -> None:
    from webhooks.drain import drain_once  # noqa: PLC0415

    drain_once()


def post_one_by_one() -> None:
    """What a task for each delivery does: read, post with `requests`, write."""
    from webhooks.models import Delivery  # noqa: PLC0415

    ids = list(Delivery.objects.filter(state="waiting").values_list("pk", flat=True))
    with ThreadPoolExecutor(16) as threads:
        list(threads.map(_post_one, ids))
        list(threads.map(lambda _: _close_connection(), range(64)))


def _post_one(delivery_id: uuid.UUID) -> None:
    import requests  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from webhooks.models import Attempt, Delivery, Endpoint  # noqa: PLC0415
    from webhooks.signing import sign  # noqa: PLC0415

    delivery = Delivery.objects.get(pk=delivery_id)
    endpoint = Endpoint.objects.get(business=delivery.business_id)
    body = delivery.body.encode()
    started_at = timezone.now()
    answer = requests.post(
        endpoint.url,
        data=body,
        headers={"Content-Type": "application/json", "X-Service-Signature": sign(endpoint.hash_key, body)},
        timeout=10,
    )
    Attempt.objects.create(
        delivery=delivery, number=1, started_at=started_at, total_ms=0, status=answer.status_code
    )
    delivery.state, delivery.delivered_at, delivery.next_attempt_at = "delivered", timezone.now(), None
    delivery.save(update_fields=["state", "delivered_at", "next_attempt_at"])


def _close_connection() -> None:
    from django.db import connection  # noqa: PLC0415

    connection.close()


def peak_memory() -> float:
    import resource  # noqa: PLC0415

    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
