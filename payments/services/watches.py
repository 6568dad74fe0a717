"""The watch list: failed payments that their acquirer may still charge. Decision 0090.

An acquirer that only takes back what it knows (`Reverses.BY_REFUND`) may charge a payment after we failed it. Such a
payment joins the list in the database transaction that fails it.
"""

from datetime import datetime, timedelta

from django.db import transaction as database

from kit.time.time_ordered_ids import new_id
from payments.models import Transaction, Transition, WatchedAuthorisation
from payments.models.watches import WATCHED_FOR
from payments.rails.protocol import RailAnswer, Reverses
from payments.services.rails.rail_choices import reverses_of

Awaiting = Transaction.Awaiting

FIRST_LOOK_AFTER = timedelta(minutes=1)


def is_needed(
    failed: Transaction, *, awaited: str, answer: RailAnswer | None, cause: Transition.Cause
) -> bool:
    """Return whether a transaction that has just failed may still be charged.

    It may if its acquirer didn't say that it failed. The answer of staff is not the acquirer's.
    """
    is_failed_payment = failed.is_card_payment and failed.status == Transaction.Status.FAILED
    is_unanswered = answer is None and awaited in {Awaiting.RAIL, Awaiting.PAYER}
    if not is_failed_payment or not (is_unanswered or cause == Transition.Cause.STAFF):
        return False
    return reverses_of(failed) == Reverses.BY_REFUND


def open_watch(failed: Transaction, *, now: datetime) -> None:
    """Put a failed payment on the watch list. The caller commits it with the failure."""
    WatchedAuthorisation.objects.create(
        id=new_id(now),
        transaction=failed,
        opened_at=now,
        until=now + WATCHED_FOR,
        next_look_at=now + FIRST_LOOK_AFTER,
    )


def is_watched(failed: Transaction) -> bool:
    """Return whether the acquirer of a failed payment is still queried."""
    return WatchedAuthorisation.objects.open().filter(transaction=failed).exists()


@database.atomic
def make_due(failed: Transaction, *, now: datetime) -> bool:
    """Have the acquirer of a watched payment queried at once. Return False if the payment is locked: repeat it later."""
    if not Transaction.objects.select_for_update(skip_locked=True).filter(pk=failed.pk).exists():
        return False
    watch = WatchedAuthorisation.objects.open().filter(transaction=failed, next_look_at__gt=now)
    watch.update(next_look_at=now)
    return True
