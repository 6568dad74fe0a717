"""Time of the search pages of the dashboard and the administration, and of the task that fills its table.

    .venv/bin/python benchmarks/search.py                       (1 million payments: 3 GB of disk, 2 minutes)
    .venv/bin/python benchmarks/search.py --rows 10000000       (30 GB of disk, half an hour)

GET /dashboard/search/ and /admin/search/ in this process, from the session to HTML. Payments are copies of one real
payment of one business, with ten search terms each: one payment in twenty has the same first name, and a tenth the same amount. Needs
PostgreSQL. A separate database is created.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"search": in_own_database("benchmarks.search_parts.search")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rows", type=int, default=1_000_000, help="payments (default 1000000)")
    parser.add_argument("--turns", type=int, default=40, help="of each search (default 40)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
