"""Authorisations whose answer is unknown, at an acquirer that cannot be asked: undone, and then failed.

First the transaction says that it is being reversed; that is committed. From this moment no answer to the
authorisation counts any more, however late it comes. Then the acquirer is asked to reverse it, again
and again until it confirms. Only then does the payment fail: it is never failed and charged.
"""

from datetime import datetime

from django.db import transaction as database

from payments.models import AlreadyMoved, Transaction
from payments.outcomes import REVERSED
from payments.services import transitions
from payments.services.intents import FIRST_QUERY_AFTER, lock
from payments.services.transitions import Cause


def begin(transaction: Transaction, *, now: datetime) -> None:
    """Record that an authorisation can only be undone from now on.

    :raises AlreadyMoved: another process has ended it, or its answer came after all
    """
    transaction.await_reversal(query_at=now + FIRST_QUERY_AFTER, cause=Cause.REQUERY, now=now)


@database.atomic
def finish(transaction: Transaction, *, now: datetime) -> None:
    """Fail a payment whose reversal the acquirer has confirmed.

    :raises AlreadyMoved: another process was first
    """
    locked = lock(transaction.pk)
    if locked.awaiting != Transaction.Awaiting.REVERSAL:
        raise AlreadyMoved
    transitions.finish(locked, REVERSED, cause=Cause.REQUERY, now=now)
