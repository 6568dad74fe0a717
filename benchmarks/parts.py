"""Run the parts of a benchmark in order, and print a table of their figures.

A part is a generator of figures. It receives the options that its file adds to the command.
"""

import argparse
import json
import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path

from benchmarks.figures import Figure, print_table
from benchmarks.stack import DEFAULT_DATABASE

Part = Callable[[argparse.Namespace], Iterator[Figure]]


def run_parts(
    description: str, parts: Mapping[str, Part], *, add_arguments: Callable[[argparse.ArgumentParser], None]
) -> None:
    """Run the command: parse the arguments, run the selected parts, print the figures."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--parts", nargs="*", default=list(parts), choices=list(parts), metavar="PART",
                        help=f"of {', '.join(parts)} (default all)")  # fmt: skip
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write the figures to this file")
    add_arguments(parser)
    options = parser.parse_args()
    os.environ.setdefault("DATABASE_URL", DEFAULT_DATABASE)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that what was started is stopped
    found: list[Figure] = []
    for name in options.parts:
        print(f"{name}: load average {os.getloadavg()[0]:.2f} on {os.cpu_count()} cores", flush=True)
        for figure in parts[name](options):
            found.append(figure)
            print(f"  {figure.line()}", flush=True)
    print_table(found)
    if options.json:
        options.json.write_text(json.dumps([asdict(figure) for figure in found]))
