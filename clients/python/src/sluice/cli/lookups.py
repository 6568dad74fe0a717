"""`sluice balance`, `banks` and `refunds`: what the service answers to a question, as a table or JSON."""

from __future__ import annotations

import argparse

from sluice.cli.arguments import Subparsers, add_caller, add_command
from sluice.cli.connection import connect
from sluice.cli.output import money, show, table


def add_to(commands: Subparsers) -> None:
    balance = add_command(
        commands,
        "balance",
        help="Show your balance in each currency.",
        example="sluice balance",
        run=_balance,
    )
    banks = add_command(
        commands, "banks", help="List the banks that payouts can reach.", example="sluice banks", run=_banks
    )
    group = add_command(
        commands, "refunds", help="List the refunds of a payment.", example="sluice refunds list order-1042"
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    refunds = add_command(
        actions, "list", help="List the newest.", example="sluice refunds list order-1042", run=_refunds
    )
    refunds.add_argument("payment", metavar="PAYMENT", help="your reference of the payment")
    refunds.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    for parser in (balance, banks, refunds):
        add_caller(parser)


def _balance(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.balance.get()
    rows = [
        (money(each.available, each.currency), "available", money(each.pending, each.currency), "pending")
        for each in found
    ]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _banks(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.banks.list()
    rows = [(each.code, each.nip_code, each.country, each.name) for each in found]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _refunds(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.refunds.list(options.payment, limit=options.limit).data
    rows = [
        (each.created_at, each.status, money(each.amount, each.currency), each.reference) for each in found
    ]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0
