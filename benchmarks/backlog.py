"""Create due deliveries of COUNT events, spread over SHOPS businesses.

    python -m tests.with_django benchmarks.backlog COUNT [FIRST] [SHOPS]

They are inserted like published events, but without a wake-up signal.
"""

import sys
import uuid
from datetime import datetime, timedelta
from itertools import cycle, islice
from typing import Any

from django.db import connection
from django.utils import timezone

from merchants.models import Business
from webhooks.models import Delivery, Event
from webhooks.publishing import NewEvent, prepare

DATA = {
    "request_type": "payment",
    "id": "01a1fb0a-1a66-7035-9026-afc86f579f91",
    "reference": "order-1",
    "status": "success",
    "response_code": "10000",
    "response_summary": "Payment completed",
    "gateway_code": "00",
    "acquirer_transaction_id": "393792248191152235563",
    "authorization_code": "235563",
    "retrieval_reference_number": "632422000001",
    "system_trace_audit_number": "000001",
    "amount": 250_000,
    "currency": "NGN",
    "payment_timestamp": "2026-11-20T22:18:25.766Z",
    "fee": 13_750,
    "refund_status": "none",
    "merchant_descriptor": "Demo Business",
    "source": {"type": "card", "card_type": "VISA", "card_bin": "408408", "card_last4": "4081"},
    "total_amount_captured": 250_000,
    "total_amount_available_to_refund": 250_000,
    "total_amount_refunded": 0,
}


def deliveries_to(business: Any, *, now: datetime) -> dict[Any, Any]:
    """Return the deliveries of another successful payment by their endpoints, not yet inserted."""
    new = NewEvent(Event.PAYMENT_SUCCESS, business.pk, uuid.uuid4(), data=lambda: DATA)
    event_id, endpoints = uuid.uuid4(), business.webhook_endpoints.order_by("number")
    return {each: row for each in endpoints for row in prepare(new, each, now=now, event_id=event_id)}


def main() -> None:
    count, first, shops = (int(word) for word in (*sys.argv[1:], "0", "1000000")[:3])
    listening = Business.objects.exclude(webhook_endpoints=None)
    businesses = list(listening.order_by("name")[first : first + shops])
    now = timezone.now() - timedelta(seconds=1)
    rows = [
        row
        for business in islice(cycle(businesses), count)
        for row in deliveries_to(business, now=now).values()
    ]
    Delivery.objects.bulk_create(rows, batch_size=500)
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


if __name__ == "__main__":
    main()
