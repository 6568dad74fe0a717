"""CPU of a card payment through a provider's connector, beside the sandbox rail's, and what forged webhooks cost.

    .venv/bin/python benchmarks/connectors.py                    (5 rounds of 100 payments: half a minute)

Signed requests in this process, from the signature to the committed outcome. The provider's simulator is another process
on this machine, so only our CPU counts. Rounds of both rails alternate. Needs PostgreSQL. A separate database is created.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.in_process import in_own_database
from benchmarks.parts import Part, run_parts

PARTS: dict[str, Part] = {"cards": in_own_database("benchmarks.connector_parts.cards")}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=5, help="of each rail (default 5)")
    parser.add_argument("--payments", type=int, default=100, help="of each round (default 100)")


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
