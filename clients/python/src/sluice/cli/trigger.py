"""`sluice trigger`: let an event happen by playing a scenario of the sandbox. The event is a real one."""

from __future__ import annotations

import argparse
import difflib
import json
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sluice._models import EventAttempt, EventRecord, Scenario
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command
from sluice.cli.connection import connect_to_sandbox
from sluice.cli.events import is_in_progress
from sluice.cli.output import plain, show, table, time_until
from sluice.cli.streams import say
from sluice.client import Sluice
from sluice.scenarios import Played, WrongChange

WAIT_SECONDS = 10.0
SEEN_SECONDS = 2.0  # a delivery is committed together with the outcome, so it is seen at once or never
POLL_SECONDS = 0.25
# What an endpoint subscribes to is named like the first part of an event's name, but for these.
CATEGORIES = {"payout.reversed": "reversal", "transfer.unapplied": "unapplied"}
LISTENED = ("payment", "payout")  # by a listener that names no events


def add_to(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "trigger",
        help="Let an event happen in the sandbox, and see whether it is delivered.",
        example="sluice trigger payment.failed --set pay.narration=Books",
        run=run,
    )
    parser.add_argument(
        "event",
        metavar="EVENT",
        nargs="?",
        help="the kind of event, such as payment.success, or the name of a scenario",
    )
    parser.add_argument("--scenario", metavar="NAME", help="which of its scenarios (default: the first)")
    parser.add_argument(
        "--set", metavar="STEP.PATH=VALUE", action="append", default=[], help="change a field; repeatable"
    )
    parser.add_argument("--list", action="store_true", help="list the scenarios with their events")
    parser.add_argument("--no-wait", action="store_true", help="don't wait for the delivery")
    add_caller(parser)


def run(options: argparse.Namespace) -> int:
    with connect_to_sandbox(options) as client:
        scenarios = client.sandbox.scenarios()
        if options.list:
            rows = [(each.name, each.event, each.title) for each in scenarios]
            show(scenarios, options, lines=lambda: table(rows, empty="There are none."))
            return 0
        scenario = _chosen(scenarios, options)
        try:
            played = client.sandbox.play(scenario.name, _changes(scenario, options.set))
        except WrongChange as problem:
            raise WrongUsage(str(problem)) from problem
        event = None if options.no_wait or scenario.event is None else _await(client, played)
        refused = _refused(client, event)
        listeners = _listeners(client, played.event)
    document = {
        "scenario": scenario.name,
        "references": played.references,
        "event": plain(event) if event else None,
        "listeners": listeners,
        "refused_attempt": plain(refused) if refused else None,
    }
    show(
        document,
        options,
        lines=lambda: [
            f"{scenario.name}: {played.status} {played.response_code}, {played.references[0]}",
            _delivery(event, played, options, listeners),
            *(f"Copied to the listener {name}." for name in listeners),
            *_refusal(event, refused),
        ],
    )
    return 0


def _chosen(scenarios: list[Scenario], options: argparse.Namespace) -> Scenario:
    """Return the scenario that the arguments name. Without --scenario, the argument may be a scenario's name as well.

    :raises WrongUsage: there is none, or it has another event
    """
    fitting = [each for each in scenarios if options.event in (None, each.event)]
    if not options.scenario and not fitting:
        fitting = [each for each in scenarios if each.name == options.event]
    if options.scenario:
        fitting = [each for each in fitting if each.name == options.scenario]
    if fitting and (options.event or options.scenario):
        return fitting[0]
    events = dict.fromkeys(str(each.event) for each in scenarios if each.event)
    near = difflib.get_close_matches(options.event or "", [*events, *(each.name for each in scenarios)], n=1)
    question = f" Did you mean {near[0]}?" if near else ""
    raise WrongUsage(
        f"Name an event that has a scenario: {', '.join(events)}.{question} `sluice trigger --list` shows all scenarios."
    )


def _changes(scenario: Scenario, assignments: list[str]) -> dict[str, Any]:
    """Return the changes of `--set`, read by the types that the scenario declares.

    :raises WrongUsage: an assignment has no `=`, or its value is not of the type
    """
    changes = {}
    for assignment in assignments:
        path, equals, text = assignment.partition("=")
        if not equals:
            raise WrongUsage(f"--set {assignment}: write STEP.PATH=VALUE.")
        changes[path] = text if scenario.changes.get(path) in (None, "string") else _json(path, text)
    return changes


def _json(path: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as problem:
        raise WrongUsage(f"--set {path}: {text!r} is not JSON.") from problem


def _await(client: Sluice, played: Played) -> EventRecord | None:
    """Return the event once its first attempt is over, or as it is after ten seconds. None if it has no delivery."""
    say(f"Waiting for {played.event} ...")
    started = time.monotonic()
    while True:
        event = _event(client, played)
        is_over = event is not None and (event.attempts_made or event.state != "waiting")
        if is_over or time.monotonic() - started > (WAIT_SECONDS if event else SEEN_SECONDS):
            return event
        time.sleep(POLL_SECONDS)


def _event(client: Sluice, played: Played) -> EventRecord | None:
    kind: Any = played.event
    for reference in played.references:
        for event in client.events.list(reference=reference, event=kind, limit=1).data:
            return event
    return None


def _listeners(client: Sluice, event: str | None) -> list[str]:
    """Return the names of the live listeners that get a copy of an event."""
    live = client.call("GET", "/api/sandbox/listeners")["data"]
    return [each["name"] for each in live if event in each["events"]]


def _how_to_receive(event: str | None) -> str:
    """Return how to receive an event that no endpoint subscribes to.

    >>> _how_to_receive("refund.success").partition(". ")[2]
    'Subscribe with `configure_webhook --events …,refund`, or run `sluice listen --events refund.success`.'
    """
    if event is None:
        return "This scenario has no event."
    category = CATEGORIES.get(event) or event.partition(".")[0]
    listen = "sluice listen" if category in LISTENED else f"sluice listen --events {event}"
    return (
        f"No endpoint subscribes to this event. Subscribe with `configure_webhook --events …,{category}`, "
        f"or run `{listen}`."
    )


def _delivery(
    event: EventRecord | None, played: Played, options: argparse.Namespace, listeners: Sequence[str]
) -> str:
    if options.no_wait:
        return "Not waited for the delivery."
    if event is None:
        return "No endpoint subscribes to this event." if listeners else _how_to_receive(played.event)
    attempts: Mapping[int, str] = {0: "no attempt yet", 1: "1 attempt"}
    made = attempts.get(event.attempts_made, f"{event.attempts_made} attempts")
    progress = "; an attempt is in progress" if is_in_progress(event) else ""
    return f"{event.event} {event.id}: {event.state}, {made}{progress}"


def _refused(client: Sluice, event: EventRecord | None) -> EventAttempt | None:
    """Return the last attempt, if the event was attempted and is not delivered."""
    if event is None or not event.attempts_made or event.state == "delivered":
        return None
    return next(reversed(client.events.get(event.id).attempts), None)


def _refusal(event: EventRecord | None, attempt: EventAttempt | None) -> Iterator[str]:
    """Yield what became of the last attempt, when the next one is due, and what shows more."""
    if event is not None and attempt is not None:
        answer = f"Your endpoint answered {attempt.status}" if attempt.status else attempt.explanation or ""
        yield f"{answer.rstrip('.')}; {_next_attempt(event)}. See `sluice events show {event.id}`."


def _next_attempt(event: EventRecord) -> str:
    if event.next_attempt_at is None:
        return "another attempt is in progress" if is_in_progress(event) else "no attempt is planned"
    return f"next attempt {time_until(event.next_attempt_at)}"
