"""The watch list: card payments that their acquirer may still charge. Decision 0090.

An acquirer that only takes back what it knows (`Reverses.BY_REFUND`) may charge a payment after we failed it. Such a
payment joins the list in the database transaction that fails it. One whose order was sent twice joins it with its
outcome, if the provider may carry out both.
"""

from datetime import datetime, timedelta
from typing import Any

from django.db import transaction as database

from kit.time.time_ordered_ids import new_id
from payments.models import Transaction, Transition, WatchedAuthorisation
from payments.models.transactions.watches import WATCHED_FOR
from payments.rails.protocol import RailAnswer, Reverses
from payments.services.rails.rail_choices import may_charge_twice, reverses_of

Awaiting = Transaction.Awaiting

FIRST_LOOK_AFTER = timedelta(minutes=1)


def is_needed(
    failed: Transaction, *, awaited: str, answer: RailAnswer | None, cause: Transition.Cause
) -> bool:
    """Return whether a transaction that has just failed may still be charged.

    It may if its acquirer didn't say that it failed, or said so of a page that can still be paid. The answer of staff is
    not the acquirer's.
    """
    is_failed_payment = failed.is_card_payment and failed.status == Transaction.Status.FAILED
    is_open = awaited in {Awaiting.RAIL, Awaiting.PAYER} if answer is None else not answer.is_final
    if not is_failed_payment or not (is_open or cause == Transition.Cause.STAFF):
        return False
    return reverses_of(failed) == Reverses.BY_REFUND


def may_be_charged_twice(transaction: Transaction, answer: RailAnswer, *, cause: Transition.Cause) -> bool:
    """Return whether a transaction that gets this answer was sent twice, or may have been.

    The answer to the first call says so. If that was lost, nothing is known of a repetition.
    """
    is_decided = transaction.is_card_payment and answer.action is None and cause != Transition.Cause.STAFF
    was_sent_once = cause == Transition.Cause.RAIL and not answer.was_repeated
    if not is_decided or was_sent_once or not answer.acquirer_reference or not may_charge_twice(transaction):
        return False
    if cause == Transition.Cause.RAIL:
        return True
    challenge = getattr(transaction, "challenge", None)
    return challenge is None or challenge.was_repeated


def watch_for_second_charge(transaction: Transaction, *, now: datetime) -> bool:
    """Have payments looked for beside those that we know. The caller holds the transaction's lock or changes its state.

    Returns False if the transaction is watched already.
    """
    _, is_new = WatchedAuthorisation.objects.open().get_or_create(
        transaction=transaction,
        defaults={"is_of_second_charge": True, **_beginning(now)},
    )
    return is_new


def watch_for_further_charge(returned: WatchedAuthorisation, *, now: datetime) -> None:
    """Have further payments looked for until the end of a watch whose charge was given back, if there may be one.

    The caller holds the transaction's lock.
    """
    if now < returned.until and may_charge_twice(returned.transaction):
        beginning = _beginning(now) | {"until": returned.until}
        WatchedAuthorisation.objects.create(
            transaction=returned.transaction, is_of_second_charge=True, **beginning
        )


def known_payments(transaction: Transaction) -> frozenset[str]:
    """Return the acquirer's identifiers of the payments of an order that we know: the one that counts, and late charges."""
    found = WatchedAuthorisation.objects.filter(transaction=transaction).values_list(
        "acquirer_reference", flat=True
    )
    return frozenset(filter(None, [transaction.acquirer_reference, *found]))


def open_watch(failed: Transaction, *, now: datetime) -> None:
    """Put a failed payment on the watch list. The caller commits it with the failure."""
    WatchedAuthorisation.objects.create(transaction=failed, **_beginning(now))


def _beginning(now: datetime) -> dict[str, Any]:
    return {
        "id": new_id(now),
        "opened_at": now,
        "until": now + WATCHED_FOR,
        "next_look_at": now + FIRST_LOOK_AFTER,
    }


def is_watched(transaction: Transaction) -> bool:
    """Return whether the acquirer of a payment is still queried about a charge."""
    return WatchedAuthorisation.objects.open().filter(transaction=transaction).exists()


@database.atomic
def make_due(transaction: Transaction, *, now: datetime) -> bool:
    """Have the acquirer of a watched payment queried at once. Return False if the payment is locked: repeat it later."""
    if not Transaction.objects.select_for_update(skip_locked=True).filter(pk=transaction.pk).exists():
        return False
    watch = WatchedAuthorisation.objects.open().filter(transaction=transaction, next_look_at__gt=now)
    watch.update(next_look_at=now)
    return True
