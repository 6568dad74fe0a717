"""Wallets with a balance, credited by a top-up as staff would make it."""

from uuid import uuid4

from django.utils import timezone

from ledger import services as ledger
from merchants.models import Business
from merchants.people.audit import Actor

STAFF = Actor(name="staff@example.com")


def fill_wallet(business: Business, amount: int, *, currency: str = "NGN") -> None:
    ledger.top_up(
        business=business,
        currency=currency,
        amount=amount,
        reason="Opening balance",
        cause=uuid4(),
        actor=STAFF,
        now=timezone.now(),
    )
