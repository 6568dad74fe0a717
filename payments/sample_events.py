"""Events of payments that don't exist, as an exam sends them to a receiver."""

import uuid
from datetime import datetime
from typing import Any

from kit.files import bounded_json
from kit.time.timestamps import timestamp
from merchants.models import Business
from payments.examples import EVENT_DATA
from webhooks import publishing
from webhooks.models import Event

TIMES = (
    "payment_timestamp",
    "completed_at",
    "created_at",
    "received_at",
    "released_at",
    "opened_at",
    "updated_at",
)


class SampleEvents:
    """Makes the documents of events in the currency of a business. Each has new random ids."""

    def __init__(self, business: Business) -> None:
        self._currency = business.currencies[0] if business.currencies else "NGN"

    def of_kind(self, kind: str, *, reference: str, at: datetime) -> dict[str, Any]:
        """Return an event of a kind."""
        first = next(iter(EVENT_DATA[Event(kind)]))
        return self._event(Event(kind), first, reference=reference, at=at)

    def into_static_account(self, *, reference: str, at: datetime) -> dict[str, Any]:
        """Return the event of a transfer into a static account, which creates a payment."""
        return self._event(Event.PAYMENT_SUCCESS, "virtual_account_payment", reference=reference, at=at)

    def _event(self, kind: Event, example: str, *, reference: str, at: datetime) -> dict[str, Any]:
        data = EVENT_DATA[kind][example]["value"]
        own = {
            "id": str(uuid.uuid4()),
            "currency": self._currency,
            **dict.fromkeys(("reference", "payment_reference", "payout_reference"), reference),
            **dict.fromkeys(TIMES, timestamp(at)),
        }
        data = data | {name: value for name, value in own.items() if name in data}
        event: dict[str, Any] = bounded_json.loads(publishing.render(uuid.uuid4(), kind, data=data, now=at))
        return event
