"""Guarantees to merchants, whatever is killed: nothing acknowledged is lost, and nothing happens twice."""

import json
import math
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tests.clients import HttpClient
from tests.faults.mixed_load import MixedLoad
from tests.faults.processes import wait_until
from tests.faults.receiver import Receiver
from tests.faults.supervisor import Supervisor

# Fields of a finished payment that refunds and settlement change.
CHANGING = {
    "refund_status",
    "settle_status",
    "total_amount_refunded",
    "total_amount_available_to_refund",
}
UNSETTLED = (
    "SELECT 1 FROM payments_transaction WHERE status = 'pending' LIMIT 1",
    "SELECT 1 FROM payments_cardoperation WHERE status = 'pending' LIMIT 1",
    "SELECT 1 FROM webhooks_delivery WHERE state = 'waiting' LIMIT 1",
)


def wait_until_settled(stack: Supervisor) -> None:
    """Wait until every outcome is known and every delivery has its result."""
    wait_until(
        lambda: not any(stack.query(one) for one in UNSETTLED),
        what="every outcome and delivery",
    )


def check_events(stack: Supervisor, receiver: Receiver, *, resumed_at: float = math.inf) -> Counter[int]:
    """Compare the received events with the recorded attempts. Return how often each was sent.

    A process that was frozen until resumed_at (Unix time) may send one request that it had already started.
    """
    assert dict(stack.query("SELECT state, count(*) FROM webhooks_delivery GROUP BY 1")).keys() == {
        "delivered"
    }
    recorded = {
        (str(delivery), number): started_at.timestamp()
        for delivery, number, started_at in stack.query(
            "SELECT delivery_id, number, started_at FROM webhooks_attempt"
        )
    }
    events_of: Counter[str] = Counter()
    for event_id, arrivals in receiver.by_event().items():
        events_of[arrivals[0].transaction] += 1
        assert len({arrival.body for arrival in arrivals}) == 1
        assert {arrival.number for arrival in arrivals} <= set(range(1, 9))
        latest: dict[tuple[str, int], float] = {}
        for arrival in sorted(arrivals, key=lambda arrival: arrival.at):
            # An attempt number is only reused if the earlier attempt was not recorded.
            again = (event_id, arrival.number)
            is_late = latest.get(again, math.inf) <= resumed_at < arrival.at
            assert again not in latest or is_late or recorded[again] > latest[again] - 0.001
            latest[again] = arrival.at
    assert set(events_of.values()) == {1}
    return Counter(len(arrivals) for arrivals in receiver.by_event().values())


def check_sent_once(stack: Supervisor, receiver: Receiver) -> None:
    """Check that each arrival has a recorded attempt of its own, so that no lease was lost.

    A receiver that responds too late on a busy machine gets a second attempt, which is not a duplicate.
    """
    attempts = "SELECT delivery_id::text, count(*) FROM webhooks_attempt GROUP BY 1"
    written = dict(stack.query(attempts))
    arrived = {event_id: len(arrivals) for event_id, arrivals in receiver.by_event().items()}
    assert {event_id: number for event_id, number in arrived.items() if number > written[event_id]} == {}


def check_all(stack: Supervisor, receiver: Receiver, mixed_load: MixedLoad) -> Counter[int]:
    """Compare every response that merchants received with the API and the database."""
    assert mixed_load.abandoned == []
    assert mixed_load.contradictions == []
    assert mixed_load.unexpected == []
    wait_until_settled(stack)
    check_answers(mixed_load)
    check_rows(stack, mixed_load)
    check_ledger(stack)
    receiver.wait_for(mixed_load.notified)
    return check_events(stack, receiver)


def check_answers(mixed_load: MixedLoad) -> None:
    """Read every transaction over the API, and compare it with the last response."""
    now = {one["id"]: one for shop in mixed_load.shops for one in all_rows(shop, "/api/payments?limit=100")}
    for answer in mixed_load.last_answers.values():
        found = now[answer["id"]]
        is_final = answer["status"] != "pending"
        kept = (
            set(answer) - CHANGING if is_final else {"id", "reference", "request_type", "amount", "currency"}
        )
        assert {name: found[name] for name in kept} == {name: answer[name] for name in kept}
        assert found["status"] != "pending"


def check_rows(stack: Supervisor, mixed_load: MixedLoad) -> None:
    """Check for exactly one row per order and refund, and one event per payment and payout."""
    transactions = stack.query(
        "SELECT reference FROM payments_transaction WHERE created_at >= %s", mixed_load.began_at
    )
    assert Counter(reference for (reference,) in transactions) == Counter(mixed_load.orders)
    refunds = stack.query(
        "SELECT reference, id::text, status FROM payments_cardoperation "
        "WHERE kind = 'refund' AND created_at >= %s",
        mixed_load.began_at,
    )
    assert {(reference, key) for reference, key, _ in refunds} == set(mixed_load.refunds.items())
    assert {status for _, _, status in refunds} <= {"success"}
    events = stack.query(
        "SELECT subject::text FROM webhooks_delivery WHERE created_at >= %s", mixed_load.began_at
    )
    assert Counter(subject for (subject,) in events) == Counter(mixed_load.notified)


def check_ledger(stack: Supervisor) -> None:
    result = stack.manage("check_ledger", "--json")
    assert result.returncode == 0, result.stdout + result.stderr
    assert all(one["holds"] for one in json.loads(result.stdout)["invariants"])


def all_rows(shop: HttpClient, target: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list, page by page."""
    while target:
        page = shop.get(target).json()
        yield from page["data"]
        following = urlsplit(page["next"] or "")
        target = f"{following.path}?{following.query}" if following.path else ""
