"""`sluice links`: make and look up payment links, the pages on which payers pay."""

from __future__ import annotations

import argparse
import secrets
from typing import Any

from sluice._models import PaymentLink
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command, minor_units, read_object
from sluice.cli.connection import connect, connect_to_change
from sluice.cli.output import fields, money, show, table

EXAMPLE = "sluice links create --once --amount 250000 --currency NGN"
OPTIONS = ("reference", "title", "amount", "currency", "redirect_url")  # named like the fields of the request


def add_to(commands: Subparsers) -> None:
    group = add_command(commands, "links", help="Make and look up payment links.", example=EXAMPLE)
    actions = group.add_subparsers(required=True, metavar="ACTION")
    create = add_command(
        actions,
        "create",
        help="Make one, and print the URL to send the payer to.",
        example=EXAMPLE,
        run=_create,
    )
    create.add_argument("--once", action="store_true", help="for one order: it takes one successful payment")
    create.add_argument("--reference", help="your reference, such as the order's (default: a random one)")
    create.add_argument("--title", help="what the payer reads above the amount (default: the reference)")
    create.add_argument("--amount", type=minor_units, help="in minor units: NGN 2,500.00 is 250000")
    create.add_argument("--currency", help="such as NGN")
    create.add_argument("--redirect-url", help="where the payer returns to")
    create.add_argument(
        "--body", metavar="FILE", help="the request's JSON, which the options change; - reads standard input"
    )
    listed = add_command(
        actions, "list", help="List the newest.", example="sluice links list --limit 5", run=_list
    )
    listed.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    found = add_command(
        actions,
        "get",
        help="Show one, with how often it was paid.",
        example="sluice links get order-1042",
        run=_get,
    )
    found.add_argument("link", metavar="REF", help="your reference of the link")
    for parser in (create, listed, found):
        add_caller(parser)


def _create(options: argparse.Namespace) -> int:
    request = _request(options)
    with connect_to_change(options, f"Create link {request['reference']}") as client:
        try:
            return _show(client.payment_links.create(**request), options)
        except TypeError as problem:  # an unknown field, or an amount that is no whole number
            raise WrongUsage(str(problem)) from problem


def _request(options: argparse.Namespace) -> dict[str, Any]:
    """Return the body's fields, changed by the options that were given, with a reference and a title."""
    request = read_object(options.body) if options.body else {}
    given = {name: getattr(options, name) for name in OPTIONS}
    request |= {name: value for name, value in given.items() if value is not None}
    if options.once:
        request["max_uses"] = 1
    request.setdefault("reference", f"link-{secrets.token_hex(8)}")
    request.setdefault("title", request["reference"])
    return request


def _list(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.payment_links.list(limit=options.limit).data
    rows = [
        (each.created_at, each.status, _amount(each), f"{each.uses_paid} paid", each.reference, each.url)
        for each in found
    ]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _get(options: argparse.Namespace) -> int:
    with connect(options) as client:
        return _show(client.payment_links.get(options.link), options)


def _show(link: PaymentLink, options: argparse.Namespace) -> int:
    values = {
        "link": link.reference,
        "status": link.status,
        "amount": _amount(link),
        "paid": f"{link.uses_paid} of {link.max_uses}" if link.max_uses else f"{link.uses_paid} times",
        "received": money(link.amount_paid, link.currency),
        "url": link.url,
        "id": link.id,
    }
    show(link, options, lines=lambda: fields(values))
    return 0


def _amount(link: PaymentLink) -> str:
    """Return what the payer pays: a fixed amount, or one between two."""
    if link.amount_range is None:
        return money(link.amount, link.currency)
    least, most = link.amount_range.min, link.amount_range.max
    return f"{money(least, link.currency)} to {money(most, link.currency)}"
