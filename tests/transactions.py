"""Transactions created through the services, as the views do, at a time that the test chooses."""

from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import transaction as database
from django.utils import timezone

from kit.api.replays import IdempotentResult
from merchants.models import Business
from payments.api import request_types
from payments.models import CardOperation, Challenge, Transaction
from payments.rails.protocol import ActionKind
from payments.services.cards import challenges
from payments.services.refunds import refunds
from payments.services.transactions import expiry
from tests import orders


def start(order: dict[str, Any], *, business: Business, now: datetime) -> Transaction:
    return request_types.choose(order).start(order, business=business, now=now).resource


def captured_payment(*, business: Business, now: datetime, **changes: Any) -> Transaction:
    return start(orders.card_payment(**changes), business=business, now=now)


def authorised_payment(*, business: Business, now: datetime, **changes: Any) -> Transaction:
    return start(orders.card_payment(capture=False, **changes), business=business, now=now)


def challenged_payment(*, business: Business, now: datetime, **changes: Any) -> Transaction:
    asked = {"enabled": True, "challenge_preference": "challenge_mandated"}
    return start(orders.card_payment(three_ds=asked, **changes), business=business, now=now)


def refund(payment: Transaction, amount: int) -> IdempotentResult[CardOperation]:
    request = {"reference": orders.new_reference("rf"), "amount": amount}
    return refunds.refund(transaction=payment, request=request, now=timezone.now())


def enter_code(*, challenge: Challenge, code: str, now: datetime) -> Transaction:
    return challenges.answer(challenge=challenge, kind=ActionKind.OTP, value={ActionKind.OTP: code}, now=now)


def expire_now(transaction_id: UUID, *, now: datetime) -> None:
    """Expire a transaction now, if it is still waiting."""
    with database.atomic():
        moved = expiry.set_deadline(transaction_id, clock=lambda: now)
        if moved is not None and moved[0] is expiry.Deadline.SESSION:
            expiry.end_session_of(transaction_id, now=now)
    if moved is not None and moved[0] is not expiry.Deadline.SESSION:
        expiry.expire_one(transaction_id, now=now)
