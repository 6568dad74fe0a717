"""Endpoints, deliveries and results for tests, and a clock that tests set."""

import uuid
from datetime import UTC, datetime, timedelta

from merchants.people.audit import Actor
from payments.examples import EVENT_DATA, PAYMENT
from tests.factories import BusinessFactory
from webhooks import services
from webhooks.models import Delivery, Endpoint, Event
from webhooks.publishing import NewEvent, prepare
from webhooks.sending import leases, results
from webhooks.sending.sender import Exchange

NOON = datetime(2026, 1, 1, 12, 0, 5, tzinfo=UTC)
LEASE = timedelta(seconds=30)
ADA = Actor(name="ada@example.com")
KEY = "whk_sandbox_Zk3W9sT1vXq8LrB6yNc0MdH5uJf2GaP7eQo4iRzVxK"
DATA = PAYMENT["card_payment"]["value"] | {"reference": "VA-1", "status": "success", "amount": 5000}

DELIVERED = Exchange(status=204, address="127.0.0.1", wait_ms=1.5, total_ms=2.5)
FAILED = Exchange(
    status=500,
    error="server_error",
    explanation="The endpoint answered 500.",
    total_ms=3.0,
    excerpt=b"\x00\xffno",
)


def data_of(event):
    """Return an example of the data of an event."""
    data = next(iter(EVENT_DATA[Event(event)].values()))["value"]
    return DATA if data["id"] == DATA["id"] else data


def make_endpoint(
    *, url="http://127.0.0.1:9/hook", enabled=True, events=("payment", "payout"), business=None, **fields
):
    return Endpoint.objects.create(
        business=business or BusinessFactory(),
        url=url,
        subscribed_events=list(events),
        enabled=enabled,
        hash_key=KEY,
        created_at=NOON,
        key_made_at=NOON,
        **fields,
    )


def make_deliveries(endpoint, count=1, *, event=Event.PAYMENT_SUCCESS, at=NOON, **changes):
    rows = []
    for number in range(count):
        new = NewEvent(event, endpoint.business_id, uuid.uuid4(), data=lambda: data_of(event))
        (row,) = prepare(new, endpoint, now=at + timedelta(milliseconds=number))
        rows.append(row)
        for name, value in changes.items():
            setattr(row, name, value)
        if row.state == Delivery.State.HELD:
            row.held_at = row.held_at or row.created_at
    return Delivery.objects.bulk_create(rows)


def make_delivery(endpoint, **changes):
    (row,) = make_deliveries(endpoint, **changes)
    return row


def acquire(*, at=NOON, limit=100, **named):
    named = {"at": at, "until": at + LEASE, "token": uuid.uuid4(), "limit": limit, **named}
    return leases.acquire(**named).deliveries


def record(leased, exchange=FAILED, *, at=NOON, jitter=0.0):
    """Record the same result for leased deliveries; return the number of results that came too late."""
    return results.record_results(
        [
            results.AttemptResult(delivery=each, exchange=exchange, started_at=at, ended_at=at, jitter=jitter)
            for each in leased
        ]
    )


def replay(*deliveries, at=NOON):
    return list(services.replay([each.pk for each in deliveries], actor=ADA, now=at))
