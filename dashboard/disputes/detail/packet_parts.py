"""The packet as a page shows it: what we know about the payment and send with the answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.dateparse import parse_datetime

from dashboard.ui.times import moment_text
from disputes.models import Dispute
from disputes.rules import packet_words
from disputes.services.answers.packet import packet_of
from kit.money.money import money
from kit.text.plurals import counted

Facts = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class PacketPart:
    """A part of the packet, with its facts as names and values."""

    key: str
    name: str
    summary: str
    facts: Sequence[Sequence[tuple[str, str]]]  # of each object of the part


def parts_of(dispute: Dispute) -> list[PacketPart]:
    """Return the parts that are sent: all that there are, less those that were left out of a submitted answer."""
    return [_part(key, facts, dispute.currency) for key, facts in packet_of(dispute).items()]


def _part(key: str, facts: Any, currency: str) -> PacketPart:
    objects = facts if isinstance(facts, list) else [facts]
    shown = [list(_shown(each, each.get("currency", currency))) for each in objects]
    return PacketPart(
        key=key, name=packet_words.PARTS[key], summary=SUMMARIES[key](objects, currency), facts=shown
    )


def _of_payment(payment: Facts, currency: str) -> str:
    return f"{payment['reference']}, {money(payment['amount'], currency)}, {payment['card']}"


def _of_others(payments: Sequence[Facts]) -> str:
    disputed = sum(each["is_disputed"] for each in payments)
    return f"{counted(len(payments), 'payment')} succeeded, {disputed or 'none'} disputed"


def _of_webhooks(events: Sequence[Facts]) -> str:
    return f"{events[0]['event']} accepted by your server on {_moment(events[0]['delivered_at'])}"


# What stands below the name of a part.
SUMMARIES: dict[str, Callable[[Sequence[Facts], str], str]] = {
    "payment": lambda facts, currency: _of_payment(facts[0], currency),
    "three_d_secure": lambda facts, _: (
        f"The cardholder was authenticated on {_moment(facts[0]['passed_at'])}"
    ),
    "receipt": lambda facts, _: ", ".join(filter(None, map(facts[0].get, ("description", "amount")))),
    "payment_link": lambda facts, _: facts[0]["title"],
    "webhooks": lambda facts, _: _of_webhooks(facts),
    "refunds": lambda facts, _: counted(len(facts), "refund"),
    "other_payments": lambda facts, _: _of_others(facts),
}


def _shown(facts: Facts, currency: str) -> Iterator[tuple[str, str]]:
    for label, name, value in packet_words.labelled(facts):
        is_moment = name.endswith("_at")
        yield label, _moment(value) if is_moment else packet_words.fact_text(name, value, currency)


def _moment(text: str) -> str:
    at = parse_datetime(text)
    return moment_text(at) if at else text
