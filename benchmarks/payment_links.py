"""Payment links at scale: the page of a link, attempts on one limited link, lists, and API payments beside a million links.

    .venv/bin/python benchmarks/payment_links.py                     (needs PostgreSQL and 3 GB of disk; 5 minutes)
    .venv/bin/python benchmarks/payment_links.py --payments 10000000        (20 GB of disk; 20 minutes)
    .venv/bin/python benchmarks/payment_links.py --links 1000 --payments 1000 --attempts 100

In this process. Links are copies of one link of one business; one of them has a checkout and a paid payment for each of
`--payments`. Attempts are by a card that is accepted at once, so that each is begun and finished, from 8 threads and as
many addresses as payers. The rate of API payments is measured before and after the links are copied.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"links": in_own_database("benchmarks.payment_link_parts.payment_links")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--links", type=int, default=1_000_000, help="default 1000000")
    parser.add_argument("--payments", type=int, default=1_000_000, help="of one of them (default 1000000)")
    parser.add_argument("--attempts", type=int, default=1_000, help="at a limited link (default 1000)")
    parser.add_argument("--views", type=int, default=100, help="of each page (default 100)")
    parser.add_argument("--calls", type=int, default=300, help="POST /api/payments (default 300)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
