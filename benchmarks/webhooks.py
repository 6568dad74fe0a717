"""Speed, latency, isolation and cost of webhook delivery.

    .venv/bin/python benchmarks/webhooks.py                        (needs PostgreSQL, Redis and the group bench)
    .venv/bin/python benchmarks/webhooks.py --parts backlog idle --backlog 20000 --rounds 1

Everything runs on this machine: PostgreSQL, a separate Redis and receiver, Celery workers, publisher. Ours and the
yardsticks take turns, and medians are printed. Machines are shared and noisy: compare ratios, and see the printed load.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import delivery_parts, delivery_rates
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {
    "backlog": delivery_rates.backlog,
    "latency": delivery_parts.latency,
    "killed": delivery_parts.killed,
    "hanging": delivery_parts.hanging,
    "isolation": delivery_parts.isolation,
    "slow": delivery_parts.slow,
    "beside": delivery_parts.beside,
    "publishing": delivery_parts.publishing,
    "memory": delivery_rates.memory,
    "idle": delivery_parts.idle,
    "embedded": delivery_rates.embedded,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--backlog", type=int, default=50_000, help="deliveries in a round (default 50000)")
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each kind (default 3)")
    parser.add_argument("--workers", type=int, default=2, help="our worker processes (default 2)")
    parser.add_argument("--seconds", type=float, default=30, help="of each steady load (default 30)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
