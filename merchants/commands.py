"""Shared parts of management commands: the --business option and the output."""

import json
import signal
from argparse import ArgumentParser
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.management.base import CommandError

from kit.terminal.terminal import TerminalCommand
from merchants.businesses.businesses import UnknownBusiness, find_business
from merchants.models import Business

Document = dict[str, Any]


class DocumentCommand(TerminalCommand):
    """A command that prints one document, as text or with --json as JSON."""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON document")

    def lines(self, document: Document) -> Iterable[str]:
        """Return the document as lines of text."""
        raise NotImplementedError

    def show(self, document: Document, *, as_json: bool) -> None:
        for line in [json.dumps(document, indent=2)] if as_json else self.lines(document):
            self.stdout.write(line)


@contextmanager
def until_interrupted() -> Iterator[None]:
    """Run the block until Ctrl-C or SIGTERM, and then end normally.

    This also works if a shell started the command in the background, where Python would ignore Ctrl-C.
    """
    numbers = (signal.SIGINT, signal.SIGTERM)
    before = {number: signal.signal(number, signal.default_int_handler) for number in numbers}
    try:
        with suppress(KeyboardInterrupt):
            yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def add_business_argument(parser: ArgumentParser) -> None:
    parser.add_argument("--business", required=True, metavar="ID_OR_NAME")


def chosen_business(id_or_name: str) -> Business:
    """Return the business of --business.

    :raises CommandError: there is none, or more than one
    """
    try:
        return find_business(id_or_name)
    except UnknownBusiness as problem:
        raise CommandError(str(problem)) from None
