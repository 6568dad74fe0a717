"""A batch of payouts with a bank that answers in 200 ms: how long its checks take, and how fast it is sent beside payments.

.venv/bin/python benchmarks/payout_batches.py                  (1,000 payouts: three minutes)
.venv/bin/python benchmarks/payout_batches.py --payouts 50 --payments 100

Signed card payments are made in this process, one after another, alone and while another process sends the batch. Needs
PostgreSQL. A separate database is created.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"batch": in_own_database("benchmarks.payout_batch_parts.batch")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--payouts", type=int, default=1_000, help="of the batch (default 1000)")
    parser.add_argument("--payments", type=int, default=2_000, help="before it is sent (default 2000)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
