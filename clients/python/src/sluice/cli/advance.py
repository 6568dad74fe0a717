"""`sluice advance`: let what is due later happen now, in the sandbox: of a payment, an event or the business day."""

from __future__ import annotations

import argparse

from sluice.cli.arguments import Subparsers, add_caller, add_command, event_id
from sluice.cli.connection import connect_to_sandbox
from sluice.cli.output import money, show, table, time_until

STATES = ["pending", "approved", "released", "rejected"]


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
    event = add_command(
        kinds,
        "event",
        help="The next attempt of a waiting event is made.",
        example="sluice advance event 5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11",
        run=_event,
    )
    event.add_argument("event_id", metavar="ID", type=event_id, help="the event_id")
    day = add_command(
        kinds,
        "day",
        help="Everything that has no settlement batch is settled, as far as STATE: pending, approved, released (default) or rejected.",
        example="sluice advance day released",
        run=_day,
    )
    day.add_argument(
        "state", metavar="STATE", nargs="?", choices=STATES, default="released", help=", ".join(STATES)
    )
    for parser in (payment, event, day):
        add_caller(parser)


def _payment(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        payment = client.sandbox.advance_payment(options.reference)
    amount = money(payment.amount, payment.currency)
    text = (
        f"{payment.advanced}: {payment.reference} {amount} is {payment.status} ({payment.response_summary})"
    )
    show(payment, options, lines=lambda: [text])
    return 0


def _event(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        event = client.sandbox.advance_event(options.event_id)
    due = event.next_attempt_at
    next_attempt = f", next attempt {due} ({time_until(due)})" if due else ""
    made = f"attempt {event.attempts_made}: {event.event} is {event.state}{next_attempt}"
    show(event, options, lines=lambda: [made])
    return 0


def _day(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        closed = client.sandbox.close_day(options.state)
    rows = [
        (
            batch.day,
            f"no. {batch.number}",
            batch.status,
            f"{batch.count} payment{'s' * (batch.count != 1)}",
            money(batch.net, batch.currency),
        )
        for batch in closed.batches
    ]
    show(closed, options, lines=lambda: table(rows, empty="Nothing to settle."))
    return 0
