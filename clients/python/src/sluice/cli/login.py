"""`sluice login`, `logout` and `whoami`: stored profiles."""

from __future__ import annotations

import argparse
import getpass
import sys
from pathlib import Path

from sluice import credentials
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command
from sluice.cli.callers import caller_of
from sluice.cli.connection import client_of
from sluice.cli.output import money, plain, show
from sluice.cli.streams import say
from sluice.credentials import DEFAULT_PROFILE, Credentials


def add_to(commands: Subparsers) -> None:
    login = add_command(
        commands,
        "login",
        help="Store an address and a key pair as a profile, after one signed call with it.",
        example="sluice login --name shop",
        run=_login,
    )
    _add_name(login)
    login.add_argument("--sandbox", metavar="DIR", help="take the keys of the sandbox in this folder")
    login.add_argument("--base-url", help="the service's address (default: asked for)")
    login.add_argument("--api-key", help="the public id, pk_… (default: asked for)")
    login.add_argument("--secret-stdin", action="store_true", help="read the secret key from standard input")
    logout = add_command(
        commands, "logout", help="Forget a profile.", example="sluice logout --name shop", run=_logout
    )
    _add_name(logout)
    logout.add_argument("--base-url", help="accepted as everywhere; not used here")
    whoami = add_command(
        commands,
        "whoami",
        help="Show whose keys are used, and the balance.",
        example="sluice whoami",
        run=_whoami,
    )
    add_caller(whoami)


def _add_name(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--name", "--profile", default=DEFAULT_PROFILE, help="the profile's name (default: default)"
    )


def _login(options: argparse.Namespace) -> int:
    credentials.profiles()  # refused before the secret is asked for
    keys = credentials.from_sandbox(Path(options.sandbox)) if options.sandbox else _asked(options)
    with client_of(keys) as client:
        client.balance.get()
    credentials.store(options.name, keys)
    document = {"profile": options.name, "base_url": keys.base_url, "api_key": keys.api_key}
    show(document, options, lines=lambda: [f"{keys.api_key} at {keys.base_url} is stored as {options.name}."])
    return 0


def _asked(options: argparse.Namespace) -> Credentials:
    """Return what the person at the terminal enters. The secret is never an argument.

    :raises WrongUsage: something is empty, or the secret is where the public id should be
    """
    base_url = options.base_url or _ask("Address of the service: ")
    api_key = options.api_key or _ask("API key (pk_…): ")
    if api_key.startswith("sk_"):
        raise WrongUsage("That is the secret key. The API key begins with pk_.")
    secret = sys.stdin.readline().strip() if options.secret_stdin else getpass.getpass("Secret key (sk_…): ")
    if not (base_url and api_key and secret):
        raise WrongUsage("Address, API key and secret key are all needed.")
    return Credentials(base_url.rstrip("/"), api_key, secret, source="what was entered")


def _ask(question: str) -> str:
    print(question, end="", file=sys.stderr, flush=True)
    return sys.stdin.readline().strip()


def _logout(options: argparse.Namespace) -> int:
    is_known = credentials.forget(options.name)
    text = f"The profile {options.name} is forgotten." if is_known else f"There is no profile {options.name}."
    show({"profile": options.name, "forgotten": is_known}, options, lines=lambda: [text])
    return 0 if is_known else 1


def _whoami(options: argparse.Namespace) -> int:
    keys = caller_of(options)
    say(f"Keys of {keys.source}.")
    with client_of(keys) as client:
        balances = client.balance.get()
    document = {
        "base_url": keys.base_url,
        "api_key": keys.api_key,
        "source": keys.source,
        "balances": [plain(each) for each in balances],
    }
    lines = [
        f"{keys.api_key} at {keys.base_url}",
        *(
            f"{money(each.available, each.currency)} available, {money(each.pending, each.currency)} pending"
            for each in balances
        ),
    ]
    show(document, options, lines=lambda: lines)
    return 0
