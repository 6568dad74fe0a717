"""What merchants rely on, whatever was killed: nothing acknowledged is lost, nothing is done or told twice."""

import json
import math
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

from tests.clients import HttpClient
from tests.faults.processes import PATIENCE, wait_until
from tests.faults.shop import Listener
from tests.faults.supervisor import Supervisor
from tests.faults.trade import Trade
from tests.journeys.service import PROJECT

# What refunds, settlement and later queries change of a payment that is finished.
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
    """Wait until nothing is without outcome, and no event without its result."""
    wait_until(
        lambda: not any(stack.query(one) for one in UNSETTLED),
        what="every outcome and delivery",
    )


def check_events(stack: Supervisor, listener: Listener, *, woken_at: float = math.inf) -> Counter[int]:
    """Hold the events that arrived against what was written down; return how often each was sent.

    A process that was frozen until woken_at (Unix time) may send one request that it had already started.
    """
    assert dict(stack.query("SELECT state, count(*) FROM webhooks_delivery GROUP BY 1")).keys() == {
        "delivered"
    }
    written = {
        (str(delivery), number): started_at.timestamp()
        for delivery, number, started_at in stack.query(
            "SELECT delivery_id, number, started_at FROM webhooks_attempt"
        )
    }
    events_of: Counter[str] = Counter()
    for event_id, arrivals in listener.by_event().items():
        events_of[arrivals[0].transaction] += 1
        assert len({arrival.body for arrival in arrivals}) == 1
        assert {arrival.number for arrival in arrivals} <= set(range(1, 9))
        latest: dict[tuple[str, int], float] = {}
        for arrival in sorted(arrivals, key=lambda arrival: arrival.at):
            # A number is used again only for a try of which nothing was written down.
            again = (event_id, arrival.number)
            is_late = latest.get(again, math.inf) <= woken_at < arrival.at
            assert again not in latest or is_late or written[again] > latest[again] - 0.001
            latest[again] = arrival.at
    assert set(events_of.values()) == {1}
    return Counter(len(arrivals) for arrivals in listener.by_event().values())


def check_sent_once(stack: Supervisor, listener: Listener) -> None:
    """Check that each arrival has an attempt of its own that was written down: no lease was lost.

    A receiver that answers too late on a busy machine gets a second attempt; that is no repetition.
    """
    attempts = "SELECT delivery_id::text, count(*) FROM webhooks_attempt GROUP BY 1"
    written = dict(stack.query(attempts))
    arrived = {event_id: len(arrivals) for event_id, arrivals in listener.by_event().items()}
    assert {event_id: number for event_id, number in arrived.items() if number > written[event_id]} == {}


def check_all(stack: Supervisor, listener: Listener, trade: Trade) -> Counter[int]:
    """Hold every answer that merchants were given against what the service says and has written now."""
    assert trade.given_up == []
    assert trade.contradictions == []
    assert trade.surprises == []
    wait_until_settled(stack)
    check_answers(trade)
    check_rows(stack, trade)
    check_books(stack)
    listener.wait_for(trade.told)
    return check_events(stack, listener)


def check_answers(trade: Trade) -> None:
    """Read every transaction as its merchant does, and compare it with what was acknowledged."""
    now = {one["id"]: one for shop in trade.shops for one in everything(shop, "/api/payments?limit=100")}
    for promise in trade.promises.values():
        found = now[promise["id"]]
        is_final = promise["status"] != "pending"
        kept = (
            set(promise) - CHANGING if is_final else {"id", "reference", "request_type", "amount", "currency"}
        )
        assert {name: found[name] for name in kept} == {name: promise[name] for name in kept}
        assert found["status"] != "pending"


def check_rows(stack: Supervisor, trade: Trade) -> None:
    """One row for each order and refund, and one event for each payment and payout: no more, no less."""
    transactions = stack.query(
        "SELECT reference FROM payments_transaction WHERE created_at >= %s", trade.began_at
    )
    assert Counter(reference for (reference,) in transactions) == Counter(trade.orders)
    refunds = stack.query(
        "SELECT reference, id::text, status FROM payments_cardoperation "
        "WHERE kind = 'refund' AND created_at >= %s",
        trade.began_at,
    )
    assert {(reference, key) for reference, key, _ in refunds} == set(trade.refunds.items())
    assert {status for _, _, status in refunds} <= {"success"}
    events = stack.query("SELECT subject::text FROM webhooks_delivery WHERE created_at >= %s", trade.began_at)
    assert Counter(subject for (subject,) in events) == Counter(trade.told)


def check_books(stack: Supervisor) -> None:
    command = [sys.executable, "manage.py", "check_ledger", "--json"]
    told = subprocess.run(
        command,
        cwd=PROJECT,
        env=stack.environment,
        check=False,
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert told.returncode == 0, told.stdout + told.stderr
    assert all(one["holds"] for one in json.loads(told.stdout)["invariants"])


def everything(shop: HttpClient, target: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a list, page by page."""
    while target:
        page = shop.get(target).json()
        yield from page["data"]
        following = urlsplit(page["next"] or "")
        target = f"{following.path}?{following.query}" if following.path else ""
