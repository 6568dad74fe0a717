"""Entry point of `sluice`: reads the arguments, runs a command and ends with its exit code.

0: done. 1: refused, failed, or the answer is no. 2: wrong usage or configuration. 3: the service was not reached, or the
outcome is unknown. 130: Ctrl-C.
"""

import argparse
import sys
from collections.abc import Sequence
from importlib import import_module

from sluice.cli.streams import discard_output, prepare_streams, say
from sluice.errors import SluiceError, TransportError
from sluice.version import __version__

DONE, NO, WRONG_USAGE, NOT_REACHED, INTERRUPTED = 0, 1, 2, 3, 130
# Commands and their modules. Only the chosen one is imported: `sluice sign` needs neither HTTP nor the models.
COMMANDS = {
    "accounts": "accounts",
    "advance": "advance",
    "balance": "lookups",
    "banks": "lookups",
    "collections": "collections",
    "disputes": "disputes",
    "doctor": "doctor",
    "endpoints": "endpoints",
    "events": "events",
    "exam": "exam",
    "links": "links",
    "listen": "listen",
    "login": "login",
    "logout": "login",
    "logs": "logs",
    "payments": "payments",
    "payout-batches": "payout_batches",
    "payouts": "payments",
    "refunds": "lookups",
    "sign": "sign",
    "trigger": "trigger",
    "verify": "verify",
    "whoami": "login",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command and return its exit code."""
    words = list(sys.argv[1:] if arguments is None else arguments)
    prepare_streams()
    try:
        options = _parser(words).parse_args(words)
        code: int = options.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt:
        print(file=sys.stderr)
        return INTERRUPTED
    except BrokenPipeError:  # the reader, such as `head`, has enough
        discard_output()
        return DONE
    except OSError as problem:  # a full disk, or a file that can't be read or written
        discard_output()
        say(f"{problem.filename or 'The output could not be written'}: {problem.strerror}")
        return NO
    except EOFError:
        print("\nThere is no more input.", file=sys.stderr)
        return WRONG_USAGE
    except SluiceError as problem:
        say(str(problem))
        return _code_of(problem)
    return code


def _code_of(problem: SluiceError) -> int:
    if isinstance(problem, TransportError):
        return NOT_REACHED
    return getattr(problem, "exit_code", NO)


def _parser(words: list[str]) -> argparse.ArgumentParser:
    """Return the parser with the command that is called, or with all of them if none is."""
    parser = argparse.ArgumentParser(
        prog="sluice",
        description="Work with a Sluice payment service from the terminal.",
        epilog="Example: sluice sign GET /api/banks --curl",
    )
    parser.add_argument("--version", action="version", version=f"sluice {__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND", dest="command")
    called = words[0] if words else ""
    modules = [COMMANDS[called]] if called in COMMANDS else sorted(set(COMMANDS.values()))
    for module in modules:
        import_module(f"sluice.cli.{module}").add_to(commands)
    return parser
