"""`sluice events`: what your endpoint was sent."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator

from sluice._models import EventInDetail, EventRecord, EventSubject
from sluice.cli.arguments import Subparsers, add_caller, add_command, event_id
from sluice.cli.connection import connect, connect_to_change
from sluice.cli.output import show, table

STATES = ["waiting", "held", "delivered", "dead", "skipped", "test_failed"]


def add_to(commands: Subparsers) -> None:
    group = add_command(
        commands, "events", help="List, show and resend events.", example="sluice events list --state dead"
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    listed = add_command(
        actions, "list", help="List the newest.", example="sluice events list --state dead", run=_list
    )
    listed.add_argument("--state", choices=STATES, help="only events in this state")
    listed.add_argument("--event", help="only events of this kind, such as payment.success")
    listed.add_argument("--endpoint", metavar="ID", help="only events for this endpoint of several")
    listed.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    shown = add_command(
        actions, "show", help="Show one with its attempts.", example="sluice events show ID --body", run=_show
    )
    shown.add_argument(
        "--body", action="store_true", help="print the exact bytes of its body, and nothing else"
    )
    resend = add_command(
        actions, "resend", help="Send one again.", example="sluice events resend ID", run=_resend
    )
    resend.add_argument(
        "--to", choices=["endpoint", "listeners", "both"], help="to whom (default: both in a sandbox)"
    )
    for parser in (shown, resend):
        parser.add_argument(
            "event_id", metavar="ID", type=event_id, help="its id, as sluice events list shows it"
        )
    for parser in (listed, shown, resend):
        add_caller(parser)


def _list(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.events.list(
            limit=options.limit, state=options.state, event=options.event, endpoint_id=options.endpoint
        ).data
    rows = [
        (
            each.created_at,
            each.event,
            each.state,
            each.attempts_made,
            each.id,
            _reference(each.subject),
        )
        for each in found
    ]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _show(options: argparse.Namespace) -> int:
    with connect(options) as client:
        event = client.events.get(options.event_id)
    if options.body:
        if event.body is None:
            print("Its body was deleted at the end of its retention.", file=sys.stderr)
            return 1
        sys.stdout.buffer.write(event.body.encode())
        return 0
    rows = [
        (
            attempt.number,
            attempt.started_at,
            attempt.status or attempt.error,
            f"{attempt.total_ms} ms",
            attempt.explanation,
            _in_a_line(attempt.response_body),
        )
        for attempt in event.attempts
    ]
    head = f"{event.event}  {event.state}  {event.created_at}  {_reference(event.subject)}".rstrip()
    show(event, options, lines=lambda: [head, *table(rows, empty="There was no attempt yet."), *_next(event)])
    return 0


def _in_a_line(answer: str | None) -> str:
    """Return your endpoint's answer without line breaks, so that it can't look like another line of ours."""
    return " ".join((answer or "").splitlines())


def _next(event: EventInDetail) -> Iterator[str]:
    """Yield when the next attempt is due, if one is planned, or that one is in progress."""
    if is_in_progress(event):
        yield "An attempt is in progress."
    if event.next_attempt_at is not None:
        yield f"Next attempt at {event.next_attempt_at}. In the sandbox, make it now: sluice advance event {event.id}"


def is_in_progress(event: EventRecord | EventInDetail) -> bool:
    """Return whether an attempt is in progress: no moment of the next one is known."""
    return event.state == "waiting" and event.next_attempt_at is None


def _reference(subject: EventSubject | None) -> str:
    """Return your reference of the payment, payout or refund, or nothing if it has none."""
    return (subject and subject.reference) or ""


def _resend(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Resend {options.event_id}") as client:
        event = client.events.resend(options.event_id, to=options.to)
    show(event, options, lines=lambda: [f"{event.event} is sent again: {event.id}"])
    return 0
