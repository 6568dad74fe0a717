"""`sluice accounts`: open and look up virtual accounts."""

from __future__ import annotations

import argparse

from sluice._models import VirtualAccount
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command, read_object
from sluice.cli.connection import connect, connect_to_change
from sluice.cli.output import fields, show, table


def add_to(commands: Subparsers) -> None:
    group = add_command(
        commands, "accounts", help="Open and look up virtual accounts.", example="sluice accounts list"
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    create = add_command(
        actions, "create", help="Open one.", example="sluice accounts create --body account.json", run=_create
    )
    create.add_argument(
        "--body", metavar="FILE", required=True, help="the request's JSON; - reads standard input"
    )
    listed = add_command(
        actions, "list", help="List the newest.", example="sluice accounts list --limit 5", run=_list
    )
    listed.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    found = add_command(actions, "get", help="Show one.", example="sluice accounts get customer-7", run=_get)
    found.add_argument("account", metavar="REF", help="your reference of the account")
    for parser in (create, listed, found):
        add_caller(parser)


def _create(options: argparse.Namespace) -> int:
    request = read_object(options.body)
    with connect_to_change(options, f"Open account {request.get('reference')}") as client:
        try:
            answer = client.call("POST", "/api/virtual-accounts", body=request)
        except TypeError as problem:  # a number that is not whole
            raise WrongUsage(str(problem)) from problem
    return _show(VirtualAccount.read(answer), options)


def _list(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.virtual_accounts.list(limit=options.limit).data
    rows = [
        (
            each.reference,
            each.status,
            each.currency,
            each.customer.account_number,
            each.customer.bank_code,
            each.customer.name,
        )
        for each in found
    ]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _get(options: argparse.Namespace) -> int:
    with connect(options) as client:
        return _show(client.virtual_accounts.get(options.account), options)


def _show(account: VirtualAccount, options: argparse.Namespace) -> int:
    values = {
        "account": account.reference,
        "status": account.status,
        "currency": account.currency,
        "number": account.customer.account_number,
        "bank code": account.customer.bank_code,
        "name": account.customer.name,
        "id": account.id,
    }
    show(account, options, lines=lambda: fields(values))
    return 0
