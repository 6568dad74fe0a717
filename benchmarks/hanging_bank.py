"""A bank that hangs under mixed traffic: delay of other tasks, and time until all outcomes are known.

.venv/bin/python benchmarks/hanging_bank.py                       (needs PostgreSQL and Redis; ten minutes)
.venv/bin/python benchmarks/hanging_bank.py --minutes 1 --hanging 0.5 --rate 5

Runs web, a worker, two re-query workers and beat with their own database and Redis, and the bank simulator.
"""

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import Figure, percentile
from benchmarks.parts import Part, run_parts
from tests.faults import hanging_bank

LATEST = 2  # seconds


def hanging(options: argparse.Namespace) -> Iterator[Figure]:
    """One run, during which the bank hangs for a while."""
    around = (options.minutes - options.hanging) / 2 * 60
    with TemporaryDirectory() as folder:
        report = hanging_bank.run(
            Path(folder),
            server_url=os.environ["DATABASE_URL"],
            before=around,
            hanging=options.hanging * 60,
            after=around,
            rate=options.rate,
        )
    for line in report.lines():
        print(f"  {line}", flush=True)
    for name, late in sorted(report.lateness().items()):
        yield Figure(f"{name} late, p99", percentile(late, 0.99), "s")
    yield Figure("the latest start of another task", report.latest(), "s", LATEST)
    yield Figure("longest time between two runs of expiry", report.longest_gap("payments.expire_due"), "s")
    yield Figure("webhooks after their outcomes, p99", percentile(report.webhooks_late, 0.99), "s")
    yield Figure(
        "all outcomes known after its return", report.seconds_until_resolved, "s", hanging_bank.WAIT_LIMIT
    )
    yield Figure("concurrent queries about one payout", len(report.duplicate_queries), "", 0)
    yield Figure("payouts paid twice, or not as recorded", report.paid_twice, "", 0)
    yield Figure("check_ledger: fails", float(not report.ledger_holds), "", 0)


PARTS: dict[str, Part] = {"hanging": hanging}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--minutes", type=float, default=10, help="of traffic (default 10)")
    parser.add_argument(
        "--hanging", type=float, default=5, help="minutes of them in which the bank hangs (default 5)"
    )
    parser.add_argument("--rate", type=float, default=10, help="requests a second (default 10)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
