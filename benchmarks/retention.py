"""Cost of ten million webhook attempts and transactions, and the possible gain of partitions.

    .venv/bin/python benchmarks/retention.py                     (needs PostgreSQL, 40 GB of disk, a quarter of an hour)
    .venv/bin/python benchmarks/retention.py --rows 200000 --tables attempts

Rows are copies of real ones, spread over 400 days and ten businesses, in a separate database. The partitioned tables
contain the same rows; the service doesn't use them.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

TABLES = ("attempts", "transactions")
PARTS: dict[str, Part] = {"retention": in_own_database("benchmarks.retention_parts.retention")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=10_000_000, help="of each table (default 10000000)")
    parser.add_argument("--rounds", type=int, default=5, help="of what is compared (default 5)")
    parser.add_argument("--tables", nargs="*", choices=TABLES, default=TABLES, help="which (default all)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
