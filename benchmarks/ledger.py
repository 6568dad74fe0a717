"""How fast the ledger books, as a ratio to pgbench writing the same rows, and how long `check_ledger` takes.

    .venv/bin/python benchmarks/ledger.py                       (needs PostgreSQL and pgbench)
    .venv/bin/python benchmarks/ledger.py --rounds 3 --seconds 5 --wallets 1000 --transactions 100000

Both write an entry with three postings, and move three accounts, in one commit; both use as many connections.
The ledger's come from processes in Python, which share the cores with the database; pgbench is written in C and
chains no hashes. Machines are shared and noisy: read the ratios, not the rates.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from itertools import islice
from multiprocessing import get_context
from pathlib import Path
from random import Random
from statistics import median
from uuid import UUID, uuid4

PROJECT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(PROJECT))

DEFAULT_DATABASE = "postgres://postgres@127.0.0.1:5432/postgres"
CONNECTIONS = 8
HASH = "'\\x" + "ab" * 32 + "'::bytea"  # pgbench makes none


def main() -> None:
    options = parse_arguments()
    import psycopg  # noqa: PLC0415

    from tests.journeys.service import postgresql_database  # noqa: PLC0415

    print(f"load average before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores")
    with (
        tempfile.TemporaryDirectory(prefix="sluice-bench-") as folder,
        postgresql_database(os.environ.get("DATABASE_URL", DEFAULT_DATABASE)) as url,
    ):
        os.environ |= {"DATABASE_URL": url, "SANDBOX_DATA": folder, "LOG_LEVEL": "ERROR"}
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
        import django  # noqa: PLC0415

        django.setup()
        from django.core.management import call_command  # noqa: PLC0415
        from django.db import connections  # noqa: PLC0415

        call_command("migrate", verbosity=0)
        try:
            with psycopg.connect(url, autocommit=True) as connection:
                compare(connection, url, options)
                measure_check(connection, options.transactions)
        finally:
            connections.close_all()


def parse_arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description="Measure the ledger against pgbench.")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=int, default=5, help="for each measurement")
    parser.add_argument("--wallets", type=int, default=1_000, help="businesses that are booked on")
    parser.add_argument("--transactions", type=int, default=100_000, help="that check_ledger checks")
    return parser.parse_args()


def compare(connection, url: str, options: argparse.Namespace) -> None:
    businesses = open_businesses(options.wallets)
    for count, name in ((1, "one hot wallet"), (options.wallets, f"{options.wallets:,} wallets")):
        ours, theirs = [], []
        for _ in range(options.rounds):
            ours.append(book_for(options.seconds, businesses[:count]))
            theirs.append(run_pgbench(url, script(connection, businesses[:count]), options.seconds))
            connection.execute("CHECKPOINT")
        ratios = [our / their for our, their in zip(ours, theirs, strict=True)]
        print(
            f"{name:15} {median(ours):8,.0f} bookings/s, pgbench {median(theirs):8,.0f}/s: "
            f"{median(ratios):.2f}  [{min(ratios):.2f} … {max(ratios):.2f}]"
        )


def open_businesses(count: int) -> list[UUID]:
    """Create businesses with their accounts, in this order."""
    from ledger.accounts import account_ids  # noqa: PLC0415
    from tests.factories import BusinessFactory  # noqa: PLC0415

    businesses = [business.pk for business in BusinessFactory.create_batch(count)]
    for business in businesses:
        account_ids(business, "NGN")
    return businesses


def book_for(seconds: int, businesses: list[UUID]) -> float:
    """Book from several processes at once; return how many entries a second there were."""
    from django.db import connections  # noqa: PLC0415

    connections.close_all()  # a forked connection would be shared
    with get_context("fork").Pool(CONNECTIONS) as pool:
        made = pool.map(partial(book_until, time.monotonic() + seconds, businesses), range(CONNECTIONS))
    return sum(made) / seconds


def book_until(deadline: float, businesses: list[UUID], seed: int) -> int:
    from django.utils import timezone  # noqa: PLC0415

    from ledger.models import Entry  # noqa: PLC0415
    from ledger.services import Booking, Kind, book  # noqa: PLC0415

    at_random, made = Random(seed), 0
    while time.monotonic() < deadline:
        book(
            Booking(
                kind=Entry.Kind.CARD,
                cause=uuid4(),
                business_id=at_random.choice(businesses),
                currency="NGN",
                legs={Kind.ACQUIRER_RECEIVABLE: -1_000, Kind.PENDING_SETTLEMENT: 985, Kind.FEES: 15},
                at=timezone.now(),
            )
        )
        made += 1
    return made


def script(connection, businesses: list[UUID]) -> str:
    """Return what one booking writes: three accounts moved, an entry and three postings; one commit."""
    connection.execute(
        "CREATE TABLE IF NOT EXISTS bench (id int PRIMARY KEY, business uuid, receivable int, pending int, fees int)"
    )
    connection.execute("TRUNCATE bench")
    connection.execute(
        "INSERT INTO bench SELECT row_number() OVER (), business_id, min(id) FILTER (WHERE kind = "
        "'acquirer_receivable'), min(id) FILTER (WHERE kind = 'pending_settlement'), min(id) FILTER (WHERE kind "
        "= 'fees') FROM ledger_account WHERE business_id = ANY(%s) GROUP BY business_id",
        [businesses],
    )
    connection.execute("ANALYZE bench")
    moved = "\n".join(
        f"UPDATE ledger_account SET balance = balance + {amount}, sequence = sequence + 1, hash = {HASH} "
        f"WHERE id = :{account} RETURNING sequence AS {account}_sequence, balance AS {account}_balance \\gset"
        for account, amount in (("pending", 985), ("receivable", -1000), ("fees", 15))
    )
    rows = ", ".join(
        f"(:entry, :{account}, {amount}, :{account}_sequence, :{account}_balance, {HASH}, {HASH})"
        for account, amount in (("pending", 985), ("receivable", -1000), ("fees", 15))
    )
    return f"""
\\set one random(1, {len(businesses)})
SELECT business, receivable, pending, fees FROM bench WHERE id = :one \\gset
BEGIN;
INSERT INTO ledger_entry (kind, cause, business_id, currency, note, at)
  VALUES ('card', gen_random_uuid(), ':business', 'NGN', '', now()) RETURNING id AS entry \\gset
{moved}
INSERT INTO ledger_posting (entry_id, account_id, amount, sequence, balance_after, previous_hash, hash)
  VALUES {rows};
COMMIT;
"""


def run_pgbench(url: str, commands: str, seconds: int) -> float:
    with tempfile.NamedTemporaryFile("w", suffix=".sql") as file:
        file.write(commands)
        file.flush()
        command = [
            "pgbench",
            "-n",
            "-c",
            str(CONNECTIONS),
            "-j",
            "2",
            "-T",
            str(seconds),
            "-f",
            file.name,
            url,
        ]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
    line = next(line for line in done.stdout.splitlines() if line.startswith("tps"))
    return float(line.split()[2])


def measure_check(connection, transactions: int) -> None:
    """Fill a year of card payments in, booked as they are, and check them."""
    connection.execute("SET session_replication_role = replica")
    connection.execute("TRUNCATE ledger_account, ledger_entry, ledger_posting CASCADE")
    connection.execute("SET session_replication_role = DEFAULT")
    from ledger import accounts  # noqa: PLC0415
    from ledger.invariants import check  # noqa: PLC0415
    from payments.invariants import INVARIANTS  # noqa: PLC0415

    accounts._remembered.clear()  # noqa: SLF001 (they were truncated)
    started = time.monotonic()
    fill(connection, transactions)
    print(f"\nfilled {transactions:,} transactions in {time.monotonic() - started:.0f} s")
    taken = []
    for _ in range(3):
        checked = list(check(INVARIANTS))
        broken = {one.invariant.name: one.broken[:3] for one in checked if not one.holds}
        if broken:
            raise SystemExit(f"The books are wrong: {broken}")
        taken.append(sum(one.milliseconds for one in checked))
    print(f"check_ledger, {len(checked)} invariants: {min(taken):,.0f} ms, best of 3 (target 2,000)")
    for one in sorted(checked, key=lambda one: -one.milliseconds)[:8]:
        print(f"  {one.milliseconds:8.1f} ms  {one.invariant.name}")


def fill(connection, transactions: int, *, businesses: int = 100) -> None:
    from django.utils import timezone  # noqa: PLC0415

    from ledger.bookings import STATEMENT  # noqa: PLC0415
    from payments.models import Transaction  # noqa: PLC0415
    from payments.services import bookings  # noqa: PLC0415
    from tests.factories import BusinessFactory  # noqa: PLC0415
    from tests.transactions import captured_payment  # noqa: PLC0415

    now = timezone.now()
    for business in BusinessFactory.create_batch(businesses):
        captured_payment(business=business, now=now)
    columns = [
        name
        for (name,) in connection.execute(
            "SELECT column_name FROM information_schema.columns WHERE table_name = 'payments_transaction'"
        )
        if name not in {"id", "reference"}
    ]
    others = ", ".join(columns)
    connection.execute(
        f"INSERT INTO payments_transaction (id, reference, {others}) "
        f"SELECT gen_random_uuid(), 'fill-' || gen_random_uuid(), {others} "
        f"FROM payments_transaction, generate_series(1, {transactions // businesses - 1})"
    )
    connection.execute(
        "INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at) "
        "SELECT id, 'status', 'pending', 'success', 'rail', finished_at FROM payments_transaction "
        "WHERE reference LIKE 'fill-%'"
    )
    filled = Transaction.objects.filter(reference__startswith="fill-")
    waiting = filled.iterator(chunk_size=1_000)
    while some := list(islice(waiting, 200)):  # a transaction of many leaves many dead rows of each account
        with connection.transaction(), connection.cursor() as cursor:
            cursor.executemany(STATEMENT, [bookings.card_captured(one, now=now).values for one in some])
    connection.execute("ANALYZE")
    connection.execute("CHECKPOINT")


if __name__ == "__main__":
    main()
