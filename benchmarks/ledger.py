"""Speed of bookings, as a ratio to pgbench writing the same rows, and duration of `check_ledger`.

    .venv/bin/python benchmarks/ledger.py                       (needs PostgreSQL and pgbench)
    .venv/bin/python benchmarks/ledger.py --rounds 3 --seconds 5 --wallets 1000 --transactions 100000

Both write an entry with three postings and update three accounts in one commit, with the same number of connections.
Our bookings come from Python processes, which share the cores with the database; pgbench is written in C and computes
no hashes. Machines are shared and noisy: compare ratios, not rates.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"ledger": in_own_database("benchmarks.ledger_parts.ledger")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="rounds of each kind (default 5)")
    parser.add_argument("--seconds", type=int, default=5, help="for each measurement (default 5)")
    parser.add_argument("--wallets", type=int, default=1_000, help="businesses booked on (default 1000)")
    parser.add_argument(
        "--transactions", type=int, default=100_000, help="that check_ledger checks (default 100000)"
    )


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
