"""Import and matching of a large statement, and the page Cash with as many open breaks.

.venv/bin/python benchmarks/cash.py                      (needs PostgreSQL)
.venv/bin/python benchmarks/cash.py --lines 10000
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"cash": in_own_database("benchmarks.cash_parts.cash")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--lines", type=int, default=100_000, help="of the statement (default 100000)")
    parser.add_argument("--views", type=int, default=20, help="of the page (default 20)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
