"""Authorisations whose answer is unknown, at an acquirer that cannot be asked: undone, and then failed.

First the transaction says that it is being reversed; that is committed. From this moment no answer to the
authorisation counts any more, however late it comes and whoever hears it. Then the acquirer is told, again
and again until it confirms. Only then does the payment fail: it is never failed and charged.
"""

from datetime import datetime

from django.db import transaction as database

from payments.models import AlreadyMoved, Transaction
from payments.outcomes import REVERSED
from payments.rails.protocol import CardAcquirer
from payments.services import finishing
from payments.services.finishing import Cause
from payments.services.intents import FIRST_QUERY_AFTER, lock
from payments.services.orders import card_order


def reverse(transaction: Transaction, *, acquirer: CardAcquirer, now: datetime) -> None:
    """Undo an authorisation and fail its payment.

    :raises AnswerLost: the acquirer has not confirmed; the transaction goes on awaiting the reversal
    :raises AlreadyMoved: somebody else has ended it, or its answer came after all
    """
    is_repeat = transaction.awaiting == Transaction.Awaiting.REVERSAL
    if not is_repeat:
        transaction.await_reversal(query_at=now + FIRST_QUERY_AFTER, cause=Cause.REQUERY, now=now)
    acquirer.reverse(card_order(transaction), is_repeat=is_repeat)
    _fail(transaction, now=now)


@database.atomic
def _fail(transaction: Transaction, *, now: datetime) -> None:
    locked = lock(transaction.pk)
    if locked.awaiting != Transaction.Awaiting.REVERSAL:
        raise AlreadyMoved
    finishing.finish(locked, REVERSED, cause=Cause.REQUERY, now=now)
