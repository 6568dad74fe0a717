"""Clients for commands, made of the keys that the arguments choose."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from sluice.cli.arguments import Declined, WrongUsage
from sluice.cli.callers import LIVE, caller_of
from sluice.client import Sluice
from sluice.credentials import Credentials


def connect(options: argparse.Namespace) -> Sluice:
    """Return a client of the keys that the options choose."""
    return client_of(caller_of(options))


def connect_to_change(options: argparse.Namespace, what: str) -> Sluice:
    """Return a client for a call that changes something. With a live key, the person at the terminal is asked first.

    :raises Declined: the answer is no, or there is no terminal to ask at
    """
    keys = caller_of(options)
    if keys.api_key.startswith(LIVE) and not options.yes:
        if not sys.stdin.isatty():
            raise Declined("This is a live key. Say --yes if you mean it.")
        question = f"{what} with the live key {keys.api_key} at {keys.base_url}? [y/N] "
        print(question, end="", file=sys.stderr, flush=True)
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            raise Declined("Nothing was done.")
    return client_of(keys)


def connect_to_sandbox(options: argparse.Namespace, **more: Any) -> Sluice:
    """Return a client for a command that exists in the sandbox only. `more` are options of the client.

    :raises Declined: the key is live
    """
    keys = caller_of(options)
    if keys.api_key.startswith(LIVE):
        raise Declined(f"This is available only in the sandbox, and {keys.api_key} is a live key.")
    return client_of(keys, **more)


def client_of(keys: Credentials, **options: Any) -> Sluice:
    """Return a client.

    :raises WrongUsage: the address or a key can't be one
    """
    try:
        return Sluice(keys.base_url, keys.api_key, keys.secret_key, **options)
    except ValueError as problem:
        raise WrongUsage(f"{problem} It comes from {keys.source}.") from None
