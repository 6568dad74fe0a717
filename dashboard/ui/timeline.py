"""What happened one after the other, for `components/timeline.html` to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True)
class Mark:
    """How a moment is marked: a colour's name, and a drawing that says the same."""

    tone: str
    icon: str  # of heroicons


PLAIN = Mark("plain", "minus")
NEW = Mark("plain", "plus")
ASKED = Mark("plain", "arrow-right")
BOOKED = Mark("plain", "book-open")
GOOD = Mark("good", "check")
BAD = Mark("bad", "x-mark")
WAIT = Mark("wait", "clock")


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """One thing that happened, or is planned."""

    at: datetime
    title: str
    text: str = ""
    mark: Mark = PLAIN
    address: str = ""  # of the page that tells more
    lines: Sequence[tuple[str, str]] = ()  # names and values
    is_planned: bool = False
