"""`sluice listen`: receive copies of events on a machine without a public address, and forward them to a receiver."""

from __future__ import annotations

import argparse
import getpass
import json
import random
import re
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timezone
from typing import Any
from urllib.parse import SplitResult

from sluice._models import EventCopy, ListenerPoll
from sluice._models import Listener as Begun
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command
from sluice.cli.connection import connect_to_sandbox
from sluice.cli.forwarding import WHICH_KEY, Answer, forward, headers, receiver
from sluice.cli.output import emit, plain, warn
from sluice.cli.streams import say
from sluice.errors import InvalidRequest, NotFound, RateLimited, ServerTrouble, SluiceError, TransportError
from sluice.listeners import Listener

LONGEST_WAIT = 10  # seconds of one poll
READ_TIMEOUT = 20.0  # seconds: a machine that slept notices soon that its connection is gone
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 5.0  # seconds between two attempts to connect again
RETRIES = (1, 2, 4, 8)  # seconds after each failure
LONGEST_NAME = 64
REFUSED = (400, 401, 403)  # what receivers answer to a wrong signature
LOST = (TransportError, ServerTrouble, RateLimited)


def add_to(commands: Subparsers) -> None:
    parser = add_command(
        commands,
        "listen",
        help="Receive copies of events in the sandbox, and forward them.",
        example="sluice listen --forward-to http://127.0.0.1:3000/webhooks",
        run=run,
    )
    parser.add_argument(
        "--forward-to", metavar="URL", help="where to post the events, signed as deliveries are"
    )
    parser.add_argument(
        "--events", metavar="E,…", help="kinds of events (default: those of payments and payouts)"
    )
    parser.add_argument("--name", help="the listener's name (default: made of user and machine)")
    parser.add_argument(
        "--retry",
        action="store_true",
        help="post a failed event again after 1, 2, 4 and 8 s; the service's own schedule is another",
    )
    parser.add_argument(
        "--forget",
        action="store_true",
        help="end the listener at Ctrl-C (default: the next start continues it)",
    )
    add_caller(parser)


def run(options: argparse.Namespace) -> int:
    if options.retry and not options.forward_to:
        raise WrongUsage("--retry needs --forward-to.")
    to = receiver(options.forward_to) if options.forward_to else None
    events = [each.strip() for each in options.events.split(",")] if options.events else None
    with connect_to_sandbox(options, read_timeout=READ_TIMEOUT) as client:
        listener = client.sandbox.listener(options.name or default_name())
        Listening(listener, events, to, options).run()
    return 0


def default_name() -> str:
    """Return a name for this user on this machine, so that the next start continues the same listener."""
    try:
        user = getpass.getuser()
    except (OSError, KeyError):  # the user has no name
        user = "user"
    return re.sub(r"[^A-Za-z0-9._:-]", "-", f"{user}-{socket.gethostname()}")[:LONGEST_NAME]


class Listening:
    """Polls until Ctrl-C. Events are acknowledged by the poll after the one that returned them."""

    def __init__(
        self,
        listener: Listener,
        events: list[str] | None,
        to: SplitResult | None,
        options: argparse.Namespace,
    ) -> None:
        self._listener, self._events, self._to, self._options = listener, events, to, options
        self._hash_key = ""
        self._received: list[str] = []  # ids to acknowledge
        self._retries: list[tuple[float, int, EventCopy]] = []  # when each is due, and how many came before
        self._dropped = 0
        self._is_connected = True
        self._has_explained = False

    def run(self) -> None:
        """Listen until Ctrl-C, which is raised again."""
        try:
            self._show(self._begin())
            while True:
                self._round()
        except KeyboardInterrupt:
            self._leave()
            raise

    def _begin(self) -> Begun:
        try:
            begun = self._listener.begin(self._events)
        except InvalidRequest as problem:  # of the arguments
            raise WrongUsage(str(problem)) from problem
        self._hash_key = begun.hash_key
        return begun

    def _show(self, begun: Begun) -> None:
        if self._options.json:
            emit(json.dumps(plain(begun), ensure_ascii=False))
            return
        emit(f"Signing key: {begun.hash_key}")
        say(f"Listening as {begun.name} for {', '.join(begun.events)}. Press Ctrl-C to stop.")
        if self._options.retry:
            say(
                "Failed events are retried after 1, 2, 4 and 8 s. The service retries its deliveries for hours."
            )

    def _round(self) -> None:
        """Poll once, and forward what came and what is due again."""
        polled = self._poll()
        if polled.dropped > self._dropped:
            warn(f"{polled.dropped} events were dropped: more than 1,000 were waiting.")
        self._dropped = polled.dropped
        for event in polled.events:
            self._forward(event)
            self._received.append(event.event_id)
        self._retry()
        if polled.poll_after:
            time.sleep(polled.poll_after * random.uniform(1, 1.5))  # noqa: S311  (spreads polls; not a secret)

    def _poll(self) -> ListenerPoll:
        """Return what is new. A lost connection is retried until it is back."""
        pause = FIRST_PAUSE
        while (polled := self._poll_if_possible()) is None:
            time.sleep(pause)
            pause = min(pause * 2, LONGEST_PAUSE)
        return polled

    def _poll_if_possible(self) -> ListenerPoll | None:
        try:
            polled = self._poll_once()
        except LOST as problem:
            if self._is_connected:
                say(f"The connection is lost, and will be retried. {problem}")
            self._is_connected = False
            return None
        if not self._is_connected:
            say("The connection is back.")
        self._is_connected = True
        return polled

    def _poll_once(self) -> ListenerPoll:
        wait = self._until_retry()
        try:
            polled = self._listener.poll(self._received, wait)
        except NotFound:
            say("The listener had ended, and begins anew. Events since then are not copied.")
            self._begin()
            polled = self._listener.poll((), wait)
        self._received.clear()
        return polled

    def _until_retry(self) -> int:
        """Return the whole seconds until the next retry is due, at most as many as a poll may wait."""
        if not self._retries:
            return LONGEST_WAIT
        left = max(min(due for due, *_ in self._retries) - time.monotonic(), 0)
        if left < 1:
            time.sleep(left)
        return min(int(left), LONGEST_WAIT)

    def _forward(self, event: EventCopy, *, before: int = 0) -> None:
        """Forward an event if there is a receiver, and print what became of it. `before` counts earlier retries."""
        answer = None
        if self._to is not None:
            answer = forward(self._to, event.body.encode(), headers(event, self._hash_key))
        emit((as_json if self._options.json else as_line)(event, answer, before))
        if answer is not None and answer.status in REFUSED and not self._has_explained:
            say(f"Refused: {WHICH_KEY}; `parse` takes both.")
            self._has_explained = True
        if answer is not None and not answer.is_success and self._options.retry and before < len(RETRIES):
            self._retries.append((time.monotonic() + RETRIES[before], before + 1, event))

    def _retry(self) -> None:
        now = time.monotonic()
        due = [each for each in self._retries if each[0] <= now]
        self._retries = [each for each in self._retries if each[0] > now]
        for _, before, event in due:
            self._forward(event, before=before)

    def _leave(self) -> None:
        """End the listener, or acknowledge what was received. Nothing is retried."""
        if not self._is_connected:
            return
        leave: Callable[[], Any] | None = None
        if self._options.forget:
            leave = self._listener.end
        elif self._received:
            leave = lambda: self._listener.poll(self._received, 0)  # noqa: E731
        if leave is not None:
            with suppress(SluiceError):
                leave()


def as_line(event: EventCopy, answer: Answer | None, before: int) -> str:
    """Return what became of an event, for people."""
    parts = [datetime.now().strftime("%H:%M:%S"), event.event, _reference(event)]  # noqa: DTZ005  (local time)
    if answer is not None:
        parts += [str(answer.status or answer.error), f"{answer.milliseconds} ms"]
    if before:
        parts.append(f"retry {before} of {len(RETRIES)}")
    elif event.origin != "event":
        parts.append(event.origin)
    return "  ".join(parts)


def as_json(event: EventCopy, answer: Answer | None, before: int) -> str:
    """Return the same as one line of JSON, with the body."""
    document = {
        "at": datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        **plain(event),
        "reference": _reference(event),
        "retry": before,
    }
    if answer is not None:
        document |= {
            "status": answer.status,
            "error": answer.error or None,
            "milliseconds": answer.milliseconds,
        }
    return json.dumps(document, ensure_ascii=False)


def _reference(event: EventCopy) -> str:
    """Return the merchant's reference of what an event is about, or our id."""
    data = json.loads(event.body).get("data", {})
    return str(data.get("reference") or data.get("id") or "-")
