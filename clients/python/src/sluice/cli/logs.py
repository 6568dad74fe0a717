"""`sluice logs tail`: follow the log of your requests."""

from __future__ import annotations

import argparse
import json
import time
from collections import deque
from datetime import datetime, timedelta
from typing import Any

from sluice._models import RequestLogEntry
from sluice.cli.arguments import Subparsers, add_caller, add_command
from sluice.cli.connection import connect
from sluice.cli.output import emit, plain
from sluice.client import Sluice

EVERY = 1.0  # seconds
OVERLAP = timedelta(seconds=5)  # rows are written in batches by several processes, so some appear late
REMEMBERED = 10_000  # ids


def add_to(commands: Subparsers) -> None:
    group = add_command(
        commands, "logs", help="Follow your requests to the API.", example="sluice logs tail --status 4"
    )
    actions = group.add_subparsers(required=True, metavar="ACTION")
    tail = add_command(
        actions,
        "tail",
        help="Print requests as they are logged, until Ctrl-C. --json prints JSON Lines.",
        example="sluice logs tail --status 4 --path /api/payments",
        run=_tail,
    )
    tail.add_argument("--status", choices=["2", "4", "5"], help="only answers of this class")
    tail.add_argument("--path", help="only targets that begin so")
    add_caller(tail)


def _tail(options: argparse.Namespace) -> int:
    with connect(options) as client:
        follower = Follower(client, options.status)
        while True:
            for entry in follower.new():
                if not options.path or entry.target.startswith(options.path):
                    emit(_line(entry, as_json=options.json))
            time.sleep(EVERY)


class Follower:
    """Finds the entries that are new since the last look, the oldest first. None is lost and none comes twice."""

    def __init__(self, client: Sluice, status_class: Any) -> None:
        self._client, self._status_class = client, status_class
        self._seen: deque[object] = deque(maxlen=REMEMBERED)
        self._since: str | None = None
        self._is_first = True

    def new(self) -> list[RequestLogEntry]:
        is_first, self._is_first = self._is_first, False
        if is_first:
            found = self._client.requests.list(status_class=self._status_class, limit=10).data
        else:
            found = list(self._client.requests.list(status_class=self._status_class, since=self._since))
        fresh = [entry for entry in reversed(found) if entry.id not in self._seen]
        self._seen.extend(entry.id for entry in fresh)
        if fresh:
            newest = max(datetime.fromisoformat(entry.at.replace("Z", "+00:00")) for entry in fresh)
            self._since = (newest - OVERLAP).isoformat().replace("+00:00", "Z")
        return fresh


def _line(entry: RequestLogEntry, *, as_json: bool) -> str:
    if as_json:
        return json.dumps(plain(entry), ensure_ascii=False)
    return f"{entry.at}  {entry.status}  {entry.method:6} {entry.target}  {entry.milliseconds} ms  {entry.code or ''}".rstrip()
