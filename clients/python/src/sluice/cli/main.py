"""Entry point of `sluice`: reads the arguments, runs a command and ends with its exit code.

0: done. 1: refused, failed, or the answer is no. 2: wrong usage or configuration. 3: the service was not reached, or the
outcome is unknown. 130: Ctrl-C.
"""

import argparse
import os
import sys
from collections.abc import Sequence

import sluice
from sluice.cli import sign, verify
from sluice.credentials import NoCredentials

DONE, NO, WRONG_USAGE, INTERRUPTED = 0, 1, 2, 130
COMMANDS = (sign, verify)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    options = _parser().parse_args(arguments)
    try:
        code: int = options.run(options)
        sys.stdout.flush()
    except NoCredentials as problem:
        print(problem, file=sys.stderr)
        return WRONG_USAGE
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return DONE
    return code


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="sluice",
        description="Work with a Sluice payment service from the terminal.",
        epilog="Example: sluice sign GET /api/banks --curl",
    )
    parser.add_argument("--version", action="version", version=f"sluice {sluice.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    for command in COMMANDS:
        command.add_to(commands)
    return parser
