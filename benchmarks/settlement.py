"""Duration of settling very many payments of one day: `settle`, then approving and releasing the batches.

.venv/bin/python benchmarks/settlement.py                      (needs PostgreSQL)
.venv/bin/python benchmarks/settlement.py --payments 10000 --businesses 10
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"settlement": in_own_database("benchmarks.settlement_parts.settlement")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--payments", type=int, default=100_000, help="total number (default 100000)")
    parser.add_argument("--businesses", type=int, default=1, help="they are spread over (default 1)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
