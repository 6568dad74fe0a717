"""`sluice advance`: let what a payment waits for happen now, in the sandbox."""

from __future__ import annotations

import argparse

from sluice.cli.arguments import Subparsers, add_caller, add_command
from sluice.cli.connection import connect
from sluice.cli.output import money, show


def add_to(commands: Subparsers) -> None:
    group = add_command(
        commands,
        "advance",
        help="Let what is due later happen now, in the sandbox.",
        example="sluice advance payment order-1042",
    )
    kinds = group.add_subparsers(required=True, metavar="KIND")
    payment = add_command(
        kinds,
        "payment",
        help="A payment's challenge, authorisation or account expires, or its lost answer is queried.",
        example="sluice advance payment order-1042",
        run=_payment,
    )
    payment.add_argument("reference", metavar="REF", help="your reference of the payment")
    add_caller(payment)


def _payment(options: argparse.Namespace) -> int:
    with connect(options) as client:
        payment = client.sandbox.advance_payment(options.reference)
    amount = money(payment.amount, payment.currency)
    text = (
        f"{payment.advanced}: {payment.reference} {amount} is {payment.status} ({payment.response_summary})"
    )
    show(payment, options, lines=lambda: [text])
    return 0
