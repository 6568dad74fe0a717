"""What a look at a watched payment found: a charge, which is given back and booked, or the payment's end.

A charge is stored and booked before the acquirer is asked to void or refund it, and booked back once it has. Both
entries move house accounts only: the payment has failed or was paid by its other charge, so no business earns or owes
anything, and none is notified.
"""

from datetime import datetime, timedelta

import structlog
from django.db import transaction as database

from ledger import services as ledger
from payments.models import WatchedAuthorisation
from payments.rails.protocol import RailAnswer
from payments.services import ledger_entries, watches
from payments.services.transactions.intents import lock

log = structlog.get_logger("sluice.watches")


def is_charge(answer: RailAnswer) -> bool:
    """Return whether the acquirer has approved a payment, in full or in part."""
    return answer.outcome.is_success or answer.must_be_reversed


@database.atomic
def record_charge(watch: WatchedAuthorisation, answer: RailAnswer, *, now: datetime) -> WatchedAuthorisation:
    """Store and book a charge that the acquirer told of, if it is new, and return the watch as stored.

    A payment that is only authorised is reserved, and of one approved in part the amount is unknown: neither is booked.
    """
    stored = _locked(watch)
    payment = stored.transaction
    if not stored.is_of_second_charge:  # whose identifiers are another payment's
        payment.keep_identifiers(answer)
    if stored.found_at is not None:
        return stored
    is_charged_in_full = payment.captures_at_once and not answer.must_be_reversed
    amount = payment.amount if is_charged_in_full else None
    stored.find_charge(answer.acquirer_reference, amount, now=now)
    if stored.amount is not None:
        ledger.book(ledger_entries.late_charge_found(stored, now=now))
    log.error(
        "payment was charged twice, reversing the second charge"
        if stored.is_of_second_charge
        else "failed payment was charged, reversing it",
        id=str(payment.pk),
        charge=answer.acquirer_reference,
    )
    return stored


@database.atomic
def record_return(watch: WatchedAuthorisation, *, now: datetime) -> None:
    """Record that the acquirer has voided or refunded the charge, once, and end the watch. A further charge is looked for."""
    stored = _locked(watch)
    if not stored.is_owed:
        return
    stored.end(now=now, is_returned=True)
    watches.watch_for_further_charge(stored, now=now)
    if stored.amount is not None:
        ledger.book(ledger_entries.late_charge_returned(stored, now=now))
    log.info("charge of a failed payment returned", id=str(stored.transaction_id))


@database.atomic
def record_failure(watch: WatchedAuthorisation, *, now: datetime) -> None:
    """End a watch whose payment has failed at the acquirer too. A charge that was found is still given back."""
    stored = _locked(watch)
    if stored.is_open and not stored.is_owed:
        stored.end(now=now)


@database.atomic
def postpone(
    watch: WatchedAuthorisation, *, is_answered: bool, now: datetime, wait: timedelta | None = None
) -> None:
    """Plan the next look, or end the watch if the acquirer has answered after its time and nothing was found.

    With `wait`, the acquirer wasn't asked, and the look is made up for after it.
    """
    stored = _locked(watch)
    if not stored.is_open or stored.leased_until != watch.leased_until:
        return  # ended, or another process looks
    if is_answered and now >= stored.until and not stored.is_owed:
        stored.end(now=now)
    elif wait is not None:
        stored.postpone(now + wait, is_answered=False)
    elif stored.next_look_at == watch.next_look_at:
        stored.postpone(stored.next_look_after(now), is_answered=is_answered)
    else:  # made due during this look, which may have missed what that is about
        stored.postpone(now, is_answered=is_answered)


def _locked(watch: WatchedAuthorisation) -> WatchedAuthorisation:
    """Return the watch as stored, with its transaction, both locked until the database transaction ends."""
    transaction = lock(watch.transaction_id)
    stored = WatchedAuthorisation.objects.get(pk=watch.pk)
    stored.transaction = transaction
    return stored
