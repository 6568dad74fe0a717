"""Fail an authorisation whose acquirer has no record of it, or whose payer didn't act in time. Decision 0090.

Only an acquirer that takes back what it knows (`Reverses.BY_REFUND`) leads here. It may still charge the payment, so it
is queried for half an hour first, and watched afterwards.
"""

from datetime import datetime, timedelta

from django.db import transaction as database

from payments.models import Transaction
from payments.rails.protocol import ActionKind, NoRecord, RailAnswer, Reverses
from payments.rules.outcomes import NOTHING_CHARGED
from payments.services.rails.rail_choices import reverses_of
from payments.services.transactions import payer_actions, transitions
from payments.services.transactions.transitions import Cause

QUERIED_FOR = timedelta(minutes=30)


def fails_at(transaction: Transaction) -> datetime | None:
    """Return from when an authorisation without a record fails. None: never, because its acquirer can reverse it."""
    if transaction.method != Transaction.Method.CARD or reverses_of(transaction) != Reverses.BY_REFUND:
        return None
    if transaction.has_unknown_card and getattr(transaction, "challenge", None) is None:
        return transaction.created_at  # no payer has seen its page
    return transaction.created_at + QUERIED_FOR


def is_unrecorded(transaction: Transaction, reply: RailAnswer | BaseException | None) -> bool:
    """Return whether the acquirer answered that nothing is charged yet: no record, or a payer who didn't act in time."""
    if isinstance(reply, BaseException) or reply is None:
        return isinstance(reply, NoRecord)
    if reply.must_be_reversed:
        return False
    challenge = getattr(transaction, "challenge", None)
    if challenge is None:
        return reply.action is not None  # which could not be shown
    if challenge.has_made_every_action:
        return False
    # A payer who came back from a redirect has entered nothing on our page, and not every acquirer names the redirect again.
    is_at_provider = challenge.kind == ActionKind.REDIRECT
    return is_at_provider or challenge.closed_at is not None or reply.action is not None


@database.atomic
def fail(transaction: Transaction, *, now: datetime) -> None:
    """Fail an authorisation that nothing is known of, and have it watched.

    :raises AlreadyTransitioned: its answer has arrived, or its payer has acted since
    """
    payer_actions.require_current(transaction)
    transitions.finish(transaction, NOTHING_CHARGED, cause=Cause.REQUERY, now=now)
