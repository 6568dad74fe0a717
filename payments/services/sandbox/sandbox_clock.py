"""Advance a sandbox payment: the event that it waits for happens now. Moves deadlines, not clocks (decision 0048)."""

from collections.abc import Callable, Sequence
from datetime import datetime
from enum import StrEnum

from django.db import transaction as database
from django.db.models import Q
from django.utils.module_loading import import_string

from kit.db.clock import database_now
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import (
    CardOperation,
    InvalidState,
    PayoutApproval,
    PayoutReturn,
    Transaction,
    WatchedAuthorisation,
)
from payments.rules import sandbox_triggers
from payments.services import return_matching
from payments.services.cards import unrecorded_authorisations
from payments.services.payouts import payout_returns
from payments.services.payouts.controls import waiting_payouts
from payments.services.payouts.payout_returns import ReturnNotice
from payments.services.rails import requery, watch_looks
from payments.services.rails.rail_queries.query_leases import Unanswered
from payments.services.transactions import expiry
from payments.services.transactions.expiry import Deadline
from payments.services.transactions.intents import lock
from payments.services.transactions.state_descriptions import described

RETURN_REASON = "Account closed"
QUERIED_NOW = "The rail is being queried about this payment. Try again later."


class Advanced(StrEnum):
    """The event that happened."""

    CHALLENGE = "challenge"  # the 3-D Secure page expired
    AUTHORISATION = "authorisation"  # the authorisation expired
    SESSION = "session"  # the session of a virtual account expired
    QUESTION = "question"  # the rail was queried for a lost answer
    RETURN = "return"  # the bank returned the payout
    APPROVAL = "approval"  # the payout was not approved within 72 hours
    SERVER = "server"  # the business's server was asked about the payout
    DISPUTE = "dispute"  # the payment was disputed, or its dispute expired or was decided
    WATCH = "watch"  # the payment failed and is watched, or its acquirer was queried about it again


_OF_DEADLINES = {
    Deadline.CHALLENGE: Advanced.CHALLENGE,
    Deadline.AUTHORISATION: Advanced.AUTHORISATION,
    Deadline.SESSION: Advanced.SESSION,
}


def advance(
    transaction: Transaction, *, actor: Actor, name: str = "", clock: Callable[[], datetime] = database_now
) -> Advanced:
    """Trigger the event that a transaction waits for. Of concurrent calls, only one does.

    `name` is what the caller named: the transaction, or which of its disputes.

    Calls rails, so call it outside a database transaction.

    :raises InvalidState: the transaction waits for nothing, or another process is querying its rail
    """
    subjects = _unanswered(transaction)
    if subjects:
        return _ask(transaction, subjects, actor=actor, clock=clock)
    if transaction.awaiting in waiting_payouts.WAITING:
        return _pass_wait(transaction, actor=actor, clock=clock)
    done = (
        _expire(transaction, actor=actor, clock=clock)
        or _return_payout(transaction, actor=actor, now=clock())
        or _dispute(transaction, name, actor=actor, clock=clock)
    )
    if done is None:
        raise InvalidState(
            f"This payment is not waiting for anything that can be advanced. {described(transaction)}"
        )
    return done


def advance_to_watch(
    transaction: Transaction, *, actor: Actor, clock: Callable[[], datetime] = database_now
) -> Advanced:
    """Pass the half hour after which a payment that its acquirer doesn't know fails. Look at one that is watched.

    Calls rails, so call it outside a database transaction.

    :raises InvalidState: the payment is never watched, has an outcome, or another process is querying its acquirer
    """
    if WatchedAuthorisation.objects.open().filter(transaction=transaction).exists():
        if not watch_looks.look_at(transaction.pk):
            raise InvalidState(QUERIED_NOW)
        _record(transaction, Advanced.WATCH, actor=actor, now=clock())
        return Advanced.WATCH
    if unrecorded_authorisations.fails_at(transaction) is None:
        raise InvalidState("Only a card payment that its acquirer may charge after it failed is watched.")
    if transaction.awaiting == Transaction.Awaiting.PAYER:
        _expire(transaction, actor=actor, clock=clock)
    itself = [one for one in _unanswered(transaction) if isinstance(one, Transaction)]
    if not itself:
        raise InvalidState(f"This payment's acquirer has answered. {described(transaction)}")
    asked = _ask(transaction, itself, actor=actor, clock=clock, is_time_over=True)
    is_watched = WatchedAuthorisation.objects.filter(transaction=transaction).exists()
    return Advanced.WATCH if is_watched else asked


def _unanswered(transaction: Transaction) -> list[Unanswered]:
    """Return those of the transaction and its operations that have no answer from their rail.

    Omits the void of an expired authorisation, because the finished payment doesn't wait for it.
    """
    itself = (
        Transaction.objects.unanswered().filter(pk=transaction.pk).select_related("business", "challenge")
    )
    operations = CardOperation.objects.unanswered().filter(transaction=transaction)
    releases = Q(kind=CardOperation.Kind.VOID, transaction__status=Transaction.Status.FAILED)
    return [*itself, *operations.exclude(releases).select_related("transaction__business")]


def _ask(
    transaction: Transaction,
    subjects: Sequence[Unanswered],
    *,
    actor: Actor,
    clock: Callable[[], datetime],
    is_time_over: bool = False,
) -> Advanced:
    asked = list(requery.requery(subjects, clock=clock, is_time_over=is_time_over))
    if not asked:
        raise InvalidState(QUERIED_NOW)
    _record(transaction, Advanced.QUESTION, actor=actor, now=clock())
    return Advanced.QUESTION


def _pass_wait(payout: Transaction, *, actor: Actor, clock: Callable[[], datetime]) -> Advanced:
    """Pass the 72 hours of a payout's approval, or ask the business's server again now."""
    waits_for_server = payout.awaiting == Transaction.Awaiting.SERVER
    if waits_for_server:
        is_done = waiting_payouts.ask_server_of(payout) > 0
    else:
        now = clock()
        PayoutApproval.objects.filter(transaction=payout, expires_at__gt=now).update(expires_at=now)
        is_done = waiting_payouts.expire(payout.pk, now=now)
    if not is_done:
        raise InvalidState("The payout is being decided about, or payouts are frozen. Try again later.")
    advanced = Advanced.SERVER if waits_for_server else Advanced.APPROVAL
    _record(payout, advanced, actor=actor, now=clock())
    return advanced


def _expire(transaction: Transaction, *, actor: Actor, clock: Callable[[], datetime]) -> Advanced | None:
    with database.atomic():
        moved = expiry.set_deadline(transaction.pk, clock=clock)
        if moved is None:
            return None
        deadline, now = moved
        _record(transaction, _OF_DEADLINES[deadline], actor=actor, now=now)
        if deadline is Deadline.SESSION:
            expiry.end_session_of(transaction.pk, now=now)
    if deadline is not Deadline.SESSION:
        expiry.expire_one(transaction.pk, now=now)
    return _OF_DEADLINES[deadline]


@database.atomic
def _return_payout(transaction: Transaction, *, actor: Actor, now: datetime) -> Advanced | None:
    """Simulate the bank's return of a successful payout, if it was to the sandbox's special account."""
    if transaction.account_number != sandbox_triggers.RETURNED_ACCOUNT:
        return None
    payout = lock(transaction.pk)
    left = return_matching.amount_left(payout)
    if not payout_returns.can_be_reversed(payout) or not left:
        return None
    notice = ReturnNotice(
        bank_reference=f"sandbox-{payout.pk.hex}",
        payout_reference=payout.pk.hex,
        amount=left,
        currency=payout.currency,
        reason=RETURN_REASON,
    )
    payout_return = payout_returns.receive(notice, clock=lambda: now).resource
    if payout_return.applied != PayoutReturn.Applied.REVERSED:
        return None
    _record(transaction, Advanced.RETURN, actor=actor, now=now)
    return Advanced.RETURN


def _dispute(
    transaction: Transaction, name: str, *, actor: Actor, clock: Callable[[], datetime]
) -> Advanced | None:
    """Take the next step of a card payment's dispute. The app of disputes is above this one."""
    advance_dispute = import_string("disputes.services.sandbox.advance")
    if not transaction.is_card_payment or not advance_dispute(transaction, name, clock=clock):
        return None
    _record(transaction, Advanced.DISPUTE, actor=actor, now=clock())
    return Advanced.DISPUTE


def _record(transaction: Transaction, advanced: Advanced, *, actor: Actor, now: datetime) -> None:
    audit.record(
        action="sandbox.advanced",
        actor=actor,
        business=transaction.business,
        target=transaction.reference,
        after={"advanced": advanced.value},
        now=now,
    )
