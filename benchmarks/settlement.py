"""Measure settlement: `settle` of many payments, then approving and releasing their batches.

Needs PostgreSQL (DATABASE_URL, or the one at 127.0.0.1:5432); makes a database of its own there and drops it.
Example: .venv/bin/python benchmarks/settlement.py --payments 100000 --businesses 10
"""

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from tests.journeys.service import postgresql_database  # noqa: E402

DEFAULT_DATABASE = "postgres://postgres@127.0.0.1:5432/postgres"


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--payments", type=int, default=100_000, help="in all (default 100000)")
    parser.add_argument("--businesses", type=int, default=1, help="they are spread over (default 1)")
    options = parser.parse_args()
    print(f"load average before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with postgresql_database(os.environ.get("DATABASE_URL", DEFAULT_DATABASE)) as url:
        set_up(url)
        fill(options.payments, options.businesses)
        measure(options.payments)
        close()


def set_up(url: str) -> None:
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

    call_command("migrate", verbosity=0)


def fill(payments: int, businesses: int) -> None:
    """Make one real payment for each business, and copy it."""
    from django.db import connection  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from merchants.models import Business  # noqa: PLC0415
    from tests.transactions import captured_payment  # noqa: PLC0415

    copies = payments // businesses - 1
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'payments_transaction'"
        )
        others = ", ".join(name for (name,) in cursor.fetchall() if name not in {"id", "reference"})
        for number in range(businesses):
            business = Business.objects.create(name=f"Business {number}")
            paid = captured_payment(business=business, now=timezone.now())
            cursor.execute(
                f"INSERT INTO payments_transaction (id, reference, {others}) "
                f"SELECT gen_random_uuid(), 'fill-' || n, {others} FROM payments_transaction, "
                "generate_series(1, %s::int) n WHERE id = %s::uuid",
                [copies, paid.pk],
            )
        cursor.execute("ANALYZE")


def measure(payments: int) -> None:
    from django.core.management import call_command  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from merchants.audit import Actor  # noqa: PLC0415
    from payments.business_days import business_day  # noqa: PLC0415
    from payments.models import SettlementBatch, Transaction  # noqa: PLC0415
    from payments.services import batch_decisions, statements  # noqa: PLC0415

    staff = Actor(name="benchmark")
    with timed("settle", payments):
        call_command("settle", date=business_day(timezone.now()))
    for decide in (batch_decisions.approve, batch_decisions.release):
        with timed(decide.__name__, payments):
            for batch in SettlementBatch.objects.all():
                decide(batch.pk, actor=staff, now=timezone.now())
    with timed("statement as CSV", payments):
        for batch in SettlementBatch.objects.all():
            sum(1 for _ in statements.csv_lines(batch))
    left = Transaction.objects.exclude(settle_status="released").count()
    if left:
        raise SystemExit(f"{left} payments were not released")


@contextmanager
def timed(what: str, payments: int) -> Iterator[None]:
    started = time.perf_counter()
    yield
    seconds = time.perf_counter() - started
    print(f"{what:>18}: {seconds:6.2f} s for {payments:,} payments, {payments / seconds:,.0f}/s")


def close() -> None:
    from django.db import connection  # noqa: PLC0415

    connection.close()


if __name__ == "__main__":
    main()
