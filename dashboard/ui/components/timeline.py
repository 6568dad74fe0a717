"""Timelines, rendered by `components/timeline.html`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Mark:
    """The mark of a moment: a colour, and an icon with the same meaning."""

    tone: str
    icon: str  # of heroicons


PLAIN = Mark("plain", "minus")
NEW = Mark("plain", "plus")
REQUESTED = Mark("plain", "arrow-right")
GOOD = Mark("good", "check")
BAD = Mark("bad", "x-mark")
WAIT = Mark("wait", "clock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happened or is planned."""

    at: datetime
    title: str
    text: str = ""
    mark: Mark = PLAIN
    address: str = ""  # of the page with more details
    lines: Sequence[tuple[str, str]] = ()  # names and values
    is_planned: bool = False
