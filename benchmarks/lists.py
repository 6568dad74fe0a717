"""Cost of API lists with 10 thousand and 1 million rows, with and without filters by time.

    .venv/bin/python benchmarks/lists.py                         (needs PostgreSQL and 2 GB of disk)
    .venv/bin/python benchmarks/lists.py --rows 1000 20000

Signed calls in this process to `GET /api/payments`, from signature to JSON. Rows are copies of one real payment of
one business, spread over 400 days, in a separate database.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"lists": in_own_database("benchmarks.list_parts.lists")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[10_000, 1_000_000], help="default 10000 1000000"
    )
    parser.add_argument("--turns", type=int, default=300, help="of each list (default 300)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
