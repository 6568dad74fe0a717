"""Run all benchmarks and print one table of figures: `make bench`.

    .venv/bin/python -m benchmarks                   (needs PostgreSQL, pgbench, Redis and the group bench; up to two hours)
    .venv/bin/python -m benchmarks --quick           (short rounds, to check that everything works)
    .venv/bin/python -m benchmarks ledger settlement

Each file can also be run separately, with its own options.
"""

import argparse
import json
import os
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure, print_table

FOLDER = Path(__file__).parent
QUICK = {  # the options of a small round
    "api": "--rounds 1 --requests 200 --rows 1000",
    "webhooks": "--rounds 1 --backlog 2000 --seconds 3",
    "capacity": "--payments 300 --warm-up 50",
    "ledger": "--rounds 1 --seconds 1 --wallets 20 --transactions 2000",
    "settlement": "--payments 2000",
    "cash": "--lines 2000 --views 5",
    "pages": "--transactions 5000 --views 5",
    "lists": "--rows 2000 20000 --disputes 2000 --turns 50 --views 5",
    "search": "--rows 20000 --turns 5",
    "connectors": "--rounds 1 --payments 20",
    "payout_batches": "--payouts 20 --payments 50",
    "soak": "--minutes 0.2 --measure 3",
    "slow_clients": "--seconds 2",
}


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "benchmarks", nargs="*", metavar="BENCHMARK", help=f"of {', '.join(QUICK)} (default all)"
    )
    parser.add_argument("--quick", action="store_true", help="short rounds, whose figures mean little")
    options = parser.parse_args()
    unknown = set(options.benchmarks) - set(QUICK)
    if unknown:
        parser.error(f"there is no benchmark {', '.join(sorted(unknown))}")
    print(f"load average before: {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
    names = options.benchmarks or list(QUICK)
    figures: list[Figure] = []
    failed = []
    for name in names:
        try:
            figures += measure(name, quick=options.quick)
        except subprocess.CalledProcessError:  # the others take too long to lose
            failed.append(name)
    print_table(figures)
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


def measure(name: str, *, quick: bool) -> list[Figure]:
    """Run one benchmark in its own process. Raises CalledProcessError."""
    print(f"\n== {name} (at {datetime.now(tz=UTC):%H:%M} UTC)", flush=True)
    with TemporaryDirectory() as folder:
        file = Path(folder, "figures.json")
        chosen = QUICK[name].split() if quick else []
        subprocess.run([sys.executable, FOLDER / f"{name}.py", "--json", file, *chosen], check=True)
        return [Figure(**figure) for figure in json.loads(file.read_text())]


if __name__ == "__main__":
    main()
