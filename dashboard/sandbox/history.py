"""What the user has played: the last few calls, in the session. Names, codes and links only, never a body."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.contrib.sessions.backends.base import SessionBase

from dashboard.sandbox.playing import Exchange
from merchants.models import Business
from payments.sandbox.scenarios import Scenario, scenarios

KEY = "dashboard.sandbox"
KEPT = 5


@dataclass(frozen=True, slots=True)
class Played:
    """A call, or several that were played at once."""

    scenario: Scenario
    title: str  # of the last step
    status: str
    code: str
    link: str
    at: datetime


def remember(
    session: SessionBase, business: Business, exchange: Exchange, *, link: str, now: datetime
) -> None:
    """Add the last exchange of what was played."""
    entry = {
        "business": str(business.pk),
        "scenario": exchange.place.scenario.name,
        "title": exchange.title,
        "status": exchange.call.status,
        "code": _code(exchange.call.document),
        "link": link,
        "at": now.isoformat(),
    }
    session[KEY] = [entry, *session.get(KEY, [])][:KEPT]


def played(session: SessionBase, business: Business) -> list[Played]:
    """Return what was played for a business, newest first."""
    by_name = {each.name: each for each in scenarios()}
    return [
        Played(
            by_name[entry["scenario"]],
            entry["title"],
            entry["status"],
            entry["code"],
            entry["link"],
            datetime.fromisoformat(entry["at"]),
        )
        for entry in session.get(KEY, [])
        if entry["business"] == str(business.pk) and entry["scenario"] in by_name
    ]


def _code(document: dict[str, Any]) -> str:
    """Return the outcome or the problem of an answer."""
    return str(document.get("response_code") or document.get("code") or "")[:40]
