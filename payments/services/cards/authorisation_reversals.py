"""Reverse authorisations with an unknown outcome at an acquirer that has no query.

First the transaction's state changes to "being reversed" and is committed. From then on, late answers to the
authorisation are ignored. Then the reversal is sent until the acquirer confirms it. The payment fails only
afterwards, so a failed payment is never charged.
"""

from datetime import datetime

from django.db import transaction as database

from payments.models import AlreadyTransitioned, Transaction
from payments.services.transactions import transitions
from payments.services.transactions.intents import FIRST_QUERY_AFTER, lock
from payments.services.transactions.transitions import Cause


def begin(transaction: Transaction, *, now: datetime) -> None:
    """Record that an authorisation is being reversed. Its answer is ignored from now on.

    :raises AlreadyTransitioned: another process has finished it, or its answer has arrived
    """
    transaction.await_reversal(query_at=now + FIRST_QUERY_AFTER, cause=Cause.REQUERY, now=now)


@database.atomic
def finish(transaction: Transaction, *, now: datetime) -> None:
    """Fail a payment after the acquirer has confirmed its reversal.

    :raises AlreadyTransitioned: another process has already failed it
    """
    locked = lock(transaction.pk)
    if locked.awaiting != Transaction.Awaiting.REVERSAL:
        raise AlreadyTransitioned
    transitions.finish(locked, locked.reversed_outcome, cause=Cause.REQUERY, now=now)
