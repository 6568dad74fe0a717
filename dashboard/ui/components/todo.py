"""What a person has to do, as lists of the overview and of payouts show it. Drawn by `components/todo.html`."""

from dataclasses import dataclass
from datetime import datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """Something to do, with the page where it is done."""

    tone: str  # of the sign: "bad", "" or "note"
    icon: str
    what: str
    since: datetime | None = None  # said after `what`
    why: str
    until: datetime | None = None  # said after `why`
    address: str
    action: str  # of the button
