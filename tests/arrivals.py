"""Payments whose money has arrived at a bank."""

from uuid import uuid4

from django.utils import timezone

from cash.models import Match, MatchedItem
from payments.models import Transaction
from payments.services.reconciliation.arrivals import PAYMENT
from tests.bank_statements import bank_account


def arrive(*payments: Transaction) -> None:
    """Match payments, as a statement of their acquirer does. Without lines, the amounts of a match are 0."""
    account = bank_account(name=f"bank-{uuid4().hex[:8]}", number=uuid4().hex[:12].upper())
    for payment in payments:
        match = Match.objects.create(
            id=uuid4(), account=account, why="test", matched_by="test", booking=uuid4(), at=timezone.now()
        )
        MatchedItem.objects.create(match=match, kind=PAYMENT, item=payment.pk, amount=0)
