"""Compare two commits in one run: `make bench-compare BASE=c1ab994 ARGS=api`.

    .venv/bin/python -m benchmarks.compare --base c1ab994 api
    .venv/bin/python -m benchmarks.compare --base main --new HEAD api --rounds 11 --rows 10000 1000000

The base is checked out into a temporary worktree and installed with its own lock file; so is the other commit, unless
it is this working tree. Both run beside each other, each with its own database on the PostgreSQL server of
DATABASE_URL, its own Redis, and gunicorn with its own configuration: 2 workers of 4 threads. Rounds of both alternate.
Machines are shared and noisy: compare the ratios.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

from benchmarks.compare_api import api
from benchmarks.compare_webhooks import webhooks
from benchmarks.comparisons import Comparison, print_comparisons
from benchmarks.releases import Release, checked_out, commit_named, running_release
from benchmarks.stack import DEFAULT_DATABASE
from tests.journeys.service import PROJECT

PARTS: dict[str, Callable[[Release, Release, argparse.Namespace], Iterator[Comparison]]] = {
    "api": api,
    "webhooks": webhooks,
}
QUICK = {"rounds": 1, "requests": 100, "backlog": 1_000}
WORKING_TREE = "this tree"


def main() -> None:
    options = parsed(sys.argv[1:])
    base = commit_named(options.base)
    new = commit_named(options.new) if options.new else None
    os.environ.setdefault("DATABASE_URL", DEFAULT_DATABASE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    found: list[Comparison] = []
    with ExitStack() as exits:
        base_folder = exits.enter_context(checked_out(base))
        new_folder = exits.enter_context(checked_out(new)) if new else PROJECT
        base_name, new_name = base[:8], new[:8] if new else WORKING_TREE
        base_release = exits.enter_context(running_release(base_name, base_folder))
        new_release = exits.enter_context(running_release(new_name, new_folder))
        for part in options.parts:
            print(f"{part}: load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
            for comparison in PARTS[part](base_release, new_release, options):
                found.append(comparison)
                print(f"  {comparison.line()}", flush=True)
    print_comparisons(found, base=base_name, new=new_name)
    if options.json:
        options.json.write_text(json.dumps([comparison.document() for comparison in found]))


def parsed(arguments: list[str]) -> argparse.Namespace:
    """Parse the command's arguments.

    :raises SystemExit: they are invalid, or ask for help
    """
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.compare",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"of {', '.join(PARTS)} (default all)")
    parser.add_argument("--base", metavar="COMMIT", help="the commit to compare with")
    parser.add_argument("--new", metavar="COMMIT", help="the other commit (default this working tree)")
    parser.add_argument("--rounds", type=int, default=7, help="rounds of each kind (default 7)")
    parser.add_argument("--requests", type=int, default=1_500, help="requests in a round (default 1500)")
    parser.add_argument("--backlog", type=int, default=50_000, help="deliveries in a round (default 50000)")
    parser.add_argument("--rows", type=int, nargs="*", default=[], help="transactions to fill both tables to")
    parser.add_argument("--quick", action="store_true", help="one short round, whose figures mean little")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write all rounds to this file")
    options = parser.parse_args(arguments)
    if not options.base:
        parser.error("name the commit to compare with: make bench-compare BASE=c1ab994 ARGS=api")
    unknown = set(options.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    options.parts = options.parts or list(PARTS)
    if options.quick:
        vars(options).update(QUICK)
    return options


if __name__ == "__main__":
    main()
