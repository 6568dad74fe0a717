"""Transactions, started through the services as the views start them, at a moment that the test chooses."""

from datetime import datetime
from typing import Any

from merchants.models import Business
from payments import flows
from payments.models import Transaction
from tests import orders


def start(order: dict[str, Any], *, business: Business, now: datetime) -> Transaction:
    return flows.choose(order).start(order, business=business, now=now).resource


def captured_payment(*, business: Business, now: datetime, **changes: Any) -> Transaction:
    return start(orders.card_payment(**changes), business=business, now=now)


def authorised_payment(*, business: Business, now: datetime, **changes: Any) -> Transaction:
    return start(orders.card_payment(capture=False, **changes), business=business, now=now)


def challenged_payment(*, business: Business, now: datetime, **changes: Any) -> Transaction:
    asked = {"enabled": True, "challenge_preference": "challenge_mandated"}
    return start(orders.card_payment(three_ds=asked, **changes), business=business, now=now)
