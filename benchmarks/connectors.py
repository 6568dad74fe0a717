"""CPU of a card payment through a provider's connector, beside the sandbox rail's, and what forged events cost payments.

    .venv/bin/python benchmarks/connectors.py                    (a minute; needs PostgreSQL and Redis)
    .venv/bin/python benchmarks/connectors.py --parts cards

Cards: signed requests in this process, from the signature to the committed outcome. The provider's simulator is another
process on this machine, so only our CPU counts. Rounds of both rails alternate. A separate database is created.

Forged: payments of production's processes (gunicorn with 2 workers of 4 threads, Redis) over four connections, alone and
while events with a wrong signature arrive.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.forged_events import forged
from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"cards": in_own_database("benchmarks.connector_parts.cards"), "forged": forged}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--rounds", type=int, default=5, help="of each rail, and with and without forged events (default 5)"
    )
    parser.add_argument("--payments", type=int, default=100, help="of each round (default 100)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
