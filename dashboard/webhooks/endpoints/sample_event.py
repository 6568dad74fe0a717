"""The sample payment of a test event."""

import secrets
import uuid
from datetime import datetime
from typing import Any

from kit.time.timestamps import timestamp
from merchants.models import Business


def sample_payment(business: Business, *, now: datetime) -> dict[str, Any]:
    """Return the data of a successful card payment that doesn't exist."""
    return {
        "request_type": "payment",
        "id": str(uuid.uuid4()),
        "reference": f"test-event-{secrets.token_hex(4)}",
        "status": "success",
        "response_code": "10000",
        "response_summary": "Payment completed",
        "gateway_code": "00",
        "amount": 250_000,
        "currency": business.currencies[0] if business.currencies else "NGN",
        "payment_timestamp": timestamp(now),
        "fee": 13_750,
        "refund_status": "none",
        "source": {
            "type": "card",
            "card_type": "VISA",
            "card_bin": "408408",
            "card_last4": "4081",
            "expiry_month": "12",
            "expiry_year": "2030",
        },
        "total_amount_captured": 250_000,
        "total_amount_available_to_refund": 250_000,
        "total_amount_refunded": 0,
    }
