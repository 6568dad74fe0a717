"""Duration of settling very many payments of one day: `settle`, then approving and releasing the batches.

.venv/bin/python benchmarks/settlement.py                      (needs PostgreSQL)
.venv/bin/python benchmarks/settlement.py --payments 10000 --businesses 10
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

from benchmarks.copies import others_of_a_transaction  # noqa: E402
from benchmarks.figures import Figure, seconds_of  # noqa: E402
from benchmarks.in_process import own_database  # noqa: E402
from benchmarks.parts import Part, run_parts  # noqa: E402


def settlement(options: argparse.Namespace) -> Iterator[Figure]:
    """Settle a day's payments into the wallets."""
    with own_database() as url:
        fill(url, options.payments, options.businesses)
        yield from settle(options.payments)


def fill(url: str, payments: int, businesses: int) -> None:
    """Create one real payment per business, and copy it."""
    import psycopg  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from merchants.models import Business  # noqa: PLC0415
    from tests.transactions import captured_payment  # noqa: PLC0415

    with psycopg.connect(url, autocommit=True) as connection:
        others = others_of_a_transaction(connection)
        for number in range(businesses):
            business = Business.objects.create(name=f"Business {number}")
            paid = captured_payment(business=business, now=timezone.now())
            connection.execute(
                f"INSERT INTO payments_transaction (id, reference, {others}) "
                f"SELECT gen_random_uuid(), 'fill-' || n, {others} FROM payments_transaction, "
                "generate_series(1, %s::int) n WHERE id = %s::uuid",
                [payments // businesses - 1, paid.pk],
            )
        connection.execute("ANALYZE")


def settle(payments: int) -> Iterator[Figure]:
    from django.core.management import call_command  # noqa: PLC0415
    from django.utils import timezone  # noqa: PLC0415

    from merchants.audit import Actor  # noqa: PLC0415
    from payments.business_days import business_day  # noqa: PLC0415
    from payments.models import SettlementBatch, Transaction  # noqa: PLC0415
    from payments.services.settlement import batch_decisions, batch_statements  # noqa: PLC0415

    def decide(decision: Callable[..., object]) -> None:
        for batch in SettlementBatch.objects.all():
            decision(batch.pk, actor=Actor(name="benchmark"), now=timezone.now())

    def write_statements() -> None:
        for batch in SettlementBatch.objects.all():
            sum(1 for _ in batch_statements.csv_lines(batch))

    today = business_day(timezone.now())
    name = f"settle of {payments:,} payments"
    yield Figure(name, seconds_of(lambda: call_command("settle", date=today)), "s", 30)
    yield Figure("approving their batches", seconds_of(lambda: decide(batch_decisions.approve)), "s")
    yield Figure("releasing them", seconds_of(lambda: decide(batch_decisions.release)), "s")
    yield Figure("their statements as CSV", seconds_of(write_statements), "s")
    left = Transaction.objects.exclude(settle_status="released").count()
    if left:
        raise SystemExit(f"{left} payments were not released")


PARTS: dict[str, Part] = {"settlement": settlement}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--payments", type=int, default=100_000, help="total number (default 100000)")
    parser.add_argument("--businesses", type=int, default=1, help="they are spread over (default 1)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
