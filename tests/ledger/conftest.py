from collections.abc import Callable
from datetime import UTC, datetime
from uuid import uuid4

import pytest

from ledger.models import Account, Entry
from ledger.services import Booking, Kind
from merchants.models import Business
from tests.factories import BusinessFactory

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def business(db: None) -> Business:
    return BusinessFactory()


@pytest.fixture
def booking(business: Business) -> Callable[..., Booking]:
    """Return a factory of bookings; the default is a card payment of 1,000 with a fee of 15."""

    def make(legs: dict[Kind, int] | None = None, **changes: object) -> Booking:
        fields = {
            "kind": Entry.Kind.CARD,
            "cause": uuid4(),
            "business_id": business.pk,
            "currency": "NGN",
            "legs": legs or {Kind.ACQUIRER_RECEIVABLE: -1_000, Kind.PENDING_SETTLEMENT: 985, Kind.FEES: 15},
            "at": NOON,
        }
        return Booking(**fields | changes)

    return make


@pytest.fixture
def balance_of(business: Business) -> Callable[[Kind], int]:
    def read(kind: Kind, currency: str = "NGN") -> int:
        return Account.objects.get(business=business, currency=currency, kind=kind).balance

    return read
