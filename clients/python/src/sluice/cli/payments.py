"""`sluice payments` and `sluice payouts`: make, look up and change payments, payouts and card checks."""

from __future__ import annotations

import argparse
import secrets
from collections.abc import Iterator, Mapping
from typing import Any

from sluice._models import Payment
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command, minor_units, read_object
from sluice.cli.connection import connect, connect_to_change, connect_to_sandbox
from sluice.cli.output import fields, money, show, table
from sluice.cli.streams import say

FAILED = 1


def add_to(commands: Subparsers) -> None:
    _add_payments(commands)
    _add_payouts(commands)


def _add_payments(commands: Subparsers) -> None:
    group = add_command(
        commands,
        "payments",
        help="Make, look up and change payments.",
        example="sluice payments list --limit 5",
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    create = add_command(
        actions,
        "create",
        help="Send a request, or play a scenario of the sandbox. Ends with 1 if it fails.",
        example="sluice payments create --scenario payment.success",
        run=_create,
    )
    source = create.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--scenario", metavar="NAME", help="a scenario of the sandbox: see sluice trigger --list"
    )
    source.add_argument("--body", metavar="FILE", help="the request's JSON; - reads standard input")
    listed = add_command(
        actions, "list", help="List the newest.", example="sluice payments list --status failed", run=_list
    )
    listed.set_defaults(request_type=None)
    listed.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    listed.add_argument("--status", choices=["pending", "success", "failed"], help="only these")
    found = add_command(actions, "get", help="Show one.", example="sluice payments get order-1042", run=_get)
    capture = add_command(
        actions,
        "capture",
        help="Capture an authorised one.",
        example="sluice payments capture order-1042",
        run=_capture,
    )
    capture.add_argument("--amount", type=minor_units, help="a part, in minor units (default: all)")
    void = add_command(
        actions, "void", help="Void an authorised one.", example="sluice payments void order-1042", run=_void
    )
    cancel = add_command(
        actions,
        "cancel",
        help="Cancel a pending one that has moved no money.",
        example="sluice payments cancel order-1042",
        run=_cancel,
    )
    refund = add_command(
        actions,
        "refund",
        help="Refund one.",
        example="sluice payments refund order-1042 --reference refund-8 --amount 100000",
        run=_refund,
    )
    refund.add_argument("--reference", help="your reference of the refund (default: a random one)")
    refund.add_argument("--amount", type=minor_units, help="a part, in minor units (default: what is left)")
    refund.add_argument("--reason", help="why it is refunded")
    for parser in (found, capture, void, cancel, refund):
        parser.add_argument("payment", metavar="REF", help="your reference of the payment")
    for parser in (create, listed, found, capture, void, cancel, refund):
        add_caller(parser)


def _add_payouts(commands: Subparsers) -> None:
    group = add_command(
        commands, "payouts", help="Make and look up payouts.", example="sluice payouts list --limit 5"
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    create = add_command(
        actions,
        "create",
        help="Send a request. Ends with 1 if it fails.",
        example="sluice payouts create --body payout.json",
        run=_create_payout,
    )
    create.add_argument(
        "--body", metavar="FILE", required=True, help="the request's JSON; - reads standard input"
    )
    create.add_argument("--purpose", choices=["salary", "supplier", "other"], help="what it is for")
    listed = add_command(
        actions, "list", help="List the newest.", example="sluice payouts list --status failed", run=_list
    )
    listed.set_defaults(request_type="payout")
    listed.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    listed.add_argument("--status", choices=["pending", "success", "failed"], help="only these")
    found = add_command(actions, "get", help="Show one.", example="sluice payouts get salary-1", run=_get)
    found.add_argument("payment", metavar="REF", help="your reference of the payout")
    for parser in (create, listed, found):
        add_caller(parser)


def _create(options: argparse.Namespace) -> int:
    if options.scenario:
        with connect_to_sandbox(options) as client:
            played = client.sandbox.play(options.scenario)
            return _show(client.payments.get(played.references[-1]), options)
    return _send(read_object(options.body), options)


def _create_payout(options: argparse.Namespace) -> int:
    request = {"request_type": "payout"} | read_object(options.body)
    if request["request_type"] != "payout":
        raise WrongUsage("The body is no payout: its request_type is another one.")
    if options.purpose:
        request["purpose"] = options.purpose
    return _send(request, options)


def _send(request: Mapping[str, Any], options: argparse.Namespace) -> int:
    what = f"Create {request.get('request_type')} {request.get('reference')}"
    with connect_to_change(options, what) as client:
        try:
            return _show(client.payments.create(request), options)
        except TypeError as problem:  # an amount that is no whole number
            raise WrongUsage(str(problem)) from problem


def _get(options: argparse.Namespace) -> int:
    with connect(options) as client:
        show(payment := client.payments.get(options.payment), options, lines=lambda: _lines(payment))
    return 0


def _list(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.payments.list(
            limit=options.limit, status=options.status, request_type=options.request_type
        ).data
    rows = [
        (
            payment.payment_timestamp,
            payment.request_type,
            payment.status,
            money(payment.amount, payment.currency),
            payment.reference,
            payment.response_summary,
        )
        for payment in found
    ]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _capture(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Capture {options.payment}") as client:
        return _show(client.payments.capture(options.payment, options.amount), options)


def _void(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Void {options.payment}") as client:
        show(payment := client.payments.void(options.payment), options, lines=lambda: _lines(payment))
    return 0


def _cancel(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Cancel {options.payment}") as client:
        show(payment := client.payments.cancel(options.payment), options, lines=lambda: _lines(payment))
    return 0


def _refund(options: argparse.Namespace) -> int:
    reference = options.reference or f"refund-{secrets.token_hex(8)}"
    with connect_to_change(options, f"Refund {options.payment}") as client:
        if not options.reference:  # the same command again would make another refund
            say(
                f"The refund is {reference}. If its outcome isn't shown, repeat this with --reference {reference}."
            )
        refund = client.refunds.create(
            options.payment, reference=reference, amount=options.amount, reason=options.reason
        )
    show(
        refund,
        options,
        lines=lambda: fields(
            {
                "refund": refund.reference,
                "status": refund.status,
                "amount": money(refund.amount, refund.currency),
                "result": refund.response_summary,
            }
        ),
    )
    return FAILED if refund.status == "failed" else 0


def _show(payment: Payment, options: argparse.Namespace) -> int:
    """Print a payment that a call made or changed, and return the exit code."""
    show(payment, options, lines=lambda: _lines(payment))
    return FAILED if payment.status == "failed" else 0


def _lines(payment: Payment) -> Iterator[str]:
    yield from fields(
        {
            payment.request_type: payment.reference,
            "status": payment.status,
            "amount": money(payment.amount, payment.currency),
            **dict(_parts(payment)),
            "result": f"{payment.response_code} {payment.response_summary}",
            "redirect link": payment.redirect_link,
            "id": payment.id,
        }
    )


def _parts(payment: Payment) -> Iterator[tuple[str, str]]:
    """Yield what was authorised, captured and refunded, if it is not simply the amount."""
    amounts = {
        "authorised": payment.amount_authorized,
        "captured": payment.total_amount_captured if payment.amount_authorized else None,
        "refunded": payment.total_amount_refunded or None,
    }
    for name, amount in amounts.items():
        if amount is not None:
            yield name, money(amount, payment.currency)
    if payment.total_amount_refunded:
        yield "refundable", money(payment.total_amount_available_to_refund or 0, payment.currency)
