"""What a test of your webhook receiver needs: events, and their signatures.

>>> body = event("payment.success", reference="order-1042")
>>> from sluice import webhooks
>>> webhooks.parse(body, sign(body, "whk_test"), "whk_test").data["reference"]
'order-1042'
"""

import json
import uuid
from datetime import datetime, timezone
from typing import Any

from sluice.webhooks import KINDS, sign

__all__ = ["event", "sign"]


def event(name: str = "payment.success", **changes: Any) -> bytes:
    """Return the raw body of an event, as the service writes it. `changes` change its `data`.

    Any name is accepted, so that you can test what your receiver does with a kind that it does not know.
    """
    event_id = str(uuid.uuid4())
    now = datetime.now(timezone.utc).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    succeeded = name.endswith(".success") or name not in KINDS
    data = {
        "request_type": "payout" if name.startswith("payout.") else "payment",
        "id": str(uuid.uuid4()),
        "reference": "order-1042",
        "status": "success" if succeeded else "failed",
        "response_code": "10000" if succeeded else "20051",
        "response_summary": "Payment completed" if succeeded else "Declined - Not sufficient funds",
        "amount": 50_000,
        "currency": "NGN",
        "payment_timestamp": now,
    }
    document = {
        "id": event_id,
        "event_id": event_id,
        "event": name,
        "created_at": now,
        "data": data | changes,
    }
    return json.dumps(document, separators=(",", ":")).encode()
