"""Cost of lists: the API's with 10 thousand and 1 million rows, and the dashboard's with their tabs, totals and filters.

    .venv/bin/python benchmarks/lists.py                         (needs PostgreSQL and 4 GB of disk)
    .venv/bin/python benchmarks/lists.py --rows 1000 20000
    .venv/bin/python benchmarks/lists.py --parts dashboard
    .venv/bin/python benchmarks/lists.py --parts disputes

In this process: signed calls to `GET /api/payments`, from signature to JSON, then pages of the dashboard, from session to
HTML, with as many rows as the most of `--rows`. Rows are copies of real transactions, of one business for each and spread
over 400 and 100 days, in a database of each part's own.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {
    "api": in_own_database("benchmarks.list_parts.api_lists"),
    "disputes": in_own_database("benchmarks.dispute_list_parts.dispute_lists"),
    "dashboard": in_own_database("benchmarks.dashboard_list_parts.pages"),
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rows", type=int, nargs="*", default=[10_000, 1_000_000], help="default 10000 1000000"
    )
    parser.add_argument("--turns", type=int, default=300, help="of each list of the API (default 300)")
    parser.add_argument("--views", type=int, default=40, help="of each page (default 40)")
    parser.add_argument("--disputes", type=int, default=100_000, help="default 100000")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
