"""Work over ten million booked card payments: time, longest statement and memory.

    .venv/bin/python benchmarks/large_database.py                  (needs PostgreSQL, 30 GB of disk, half an hour)
    .venv/bin/python benchmarks/large_database.py --rows 10000

A third of the payments are of one business, and almost a fifth of one day. "Longest" is the longest statement. Memory is
how much this process grows after the first tenth of an export.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

WORK = ("check", "requests", "exports", "settlement", "purge")
PARTS: dict[str, Part] = {"large_database": in_own_database("benchmarks.large_database_parts.large_database")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=10_000_000, help="payments (default 10000000)")
    parser.add_argument("--work", nargs="*", choices=WORK, default=WORK, help="which (default all)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
