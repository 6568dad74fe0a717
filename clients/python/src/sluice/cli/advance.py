"""`sluice advance`: let what is due later happen now, in the sandbox: of a payment, a batch, an event or the business day."""

from __future__ import annotations

import argparse

from sluice._models import AdvancedPayment, ClosedDay
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
    payment.add_argument(
        "--until",
        metavar="watch",
        choices=["watch"],
        help="fail one that its acquirer doesn't know, and watch it; repeated: look again",
    )
    dispute = add_command(
        kinds,
        "dispute",
        help="A dispute expires, or the last text of your answer decides it: win, lose or escalate.",
        example="sluice advance dispute 0192f4c1-7d3e-7a10-8f25-0d8a6c1b2e34",
        run=_dispute,
    )
    dispute.add_argument("dispute", metavar="ID", help="its ID or case number")
    batch = add_command(
        kinds,
        "batch",
        help="A payout batch is checked or sent, your server is asked about it, or its wait for approval or money ends.",
        example="sluice advance batch suppliers-48",
        run=_batch,
    )
    batch.add_argument("batch", metavar="REF", help="your reference of the batch")
    batch.add_argument(
        "--until", metavar="rejected", choices=["rejected"], help="another member rejects it instead"
    )
    event = add_command(
        kinds,
        "event",
        help="The next attempt of a waiting event is made.",
        example="sluice advance event 5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11",
        run=_event,
    )
    event.add_argument("event_id", metavar="ID", type=event_id, help="its id, as sluice events list shows it")
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
    reserve = add_command(
        kinds,
        "reserve",
        help="What was held back of a released settlement is returned to your balance.",
        example="sluice advance reserve 01980a5e-9440-7c00-8000-000000000004",
        run=_reserve,
    )
    reserve.add_argument("settlement", metavar="ID", help="the ID of the settlement")
    for parser in (payment, dispute, batch, event, day, reserve):
        add_caller(parser)


def _payment(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        return _show_payment(client.sandbox.advance_payment(options.reference, options.until), options)


def _dispute(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        payment = client.sandbox.advance_payment(options.dispute)
    stages = ", ".join(f"{each.stage} {each.status}" for each in payment.disputes or [])
    show(payment, options, lines=lambda: [f"{payment.advanced}: {payment.reference} has {stages}"])
    return 0


def _batch(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        batch = client.sandbox.advance_payout_batch(options.batch, options.until)
    payouts = ", ".join(f"{count} {state}" for state, count in batch.counts.items())
    show(batch, options, lines=lambda: [f"{batch.reference} is {batch.status}: {payouts}"])
    return 0


def _show_payment(payment: AdvancedPayment, options: argparse.Namespace) -> int:
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
    return _show_batches(closed, options, empty="Nothing to settle.")


def _reserve(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        closed = client.sandbox.return_reserve(options.settlement)
    return _show_batches(closed, options, empty="")


def _show_batches(closed: ClosedDay, options: argparse.Namespace, *, empty: str) -> int:
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
    show(closed, options, lines=lambda: table(rows, empty=empty))
    return 0
