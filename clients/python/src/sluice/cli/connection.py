"""Clients for commands, made of the keys that the arguments choose."""

from __future__ import annotations

import argparse
import dataclasses
import re
import sys
from collections.abc import Iterable

from sluice import credentials
from sluice.cli.arguments import Declined, WrongUsage
from sluice.client import Sluice
from sluice.credentials import Credentials

LIVE = "pk_live_"
CARD_NUMBER = re.compile(r"(?<!\d)(?:\d[ -]?){12,19}(?!\d)")


def caller_of(options: argparse.Namespace) -> Credentials:
    """Return the keys that the options choose.

    :raises NoCredentials: there are none
    """
    found = credentials.find(options.profile)
    return dataclasses.replace(found, base_url=options.base_url) if options.base_url else found


def connect(options: argparse.Namespace) -> Sluice:
    """Return a client of the keys that the options choose."""
    keys = caller_of(options)
    return Sluice(keys.base_url, keys.api_key, keys.secret_key)


def connect_to_change(options: argparse.Namespace, what: str) -> Sluice:
    """Return a client for a call that changes something. With a live key, the person at the terminal is asked first.

    :raises Declined: the answer is no, or there is no terminal to ask at
    """
    keys = caller_of(options)
    if keys.api_key.startswith(LIVE) and not options.yes:
        if not sys.stdin.isatty():
            raise Declined("This is a live key. Say --yes if you mean it.")
        print(
            f"{what} with the live key {keys.api_key} at {keys.base_url}? [y/N] ",
            end="",
            file=sys.stderr,
            flush=True,
        )
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Declined("Nothing was done.")
    return Sluice(keys.base_url, keys.api_key, keys.secret_key)


def refuse_card_numbers(values: Iterable[str], *, api_key: str) -> None:
    """Refuse card numbers in the arguments of a call with a live key: other programs can read them.

    :raises WrongUsage: a value holds what looks like a card number
    """
    if api_key.startswith(LIVE) and any(CARD_NUMBER.search(value) for value in values):
        raise WrongUsage("A card number must not be an argument: other programs on this machine can read it.")
