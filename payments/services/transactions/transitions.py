"""State transitions of a transaction. Every change of `status` and `awaiting` goes through this module.

A transition and its side effects (ledger entry, delivery of the event) are one database transaction. The rail is
called before it, outside of every database transaction.
"""

from collections.abc import Callable
from datetime import UTC, datetime

from django.db import transaction as database

from kit.db import clock
from kit.db.prepared_statements import insert
from ledger import services as ledger
from ledger.services import Booking, Kind
from payments.metrics import CHECKOUT_STEPS, OUTCOMES
from payments.models import AlreadyTransitioned, Transaction, Transition
from payments.models.transactions.transactions import CARD_FIELDS, OUTCOME_FIELDS
from payments.rails.protocol import RailAnswer
from payments.representation.payments import represent
from payments.rules.events import event_of
from payments.rules.fees import NO_CHARGE, Charge, FeeRule, charge, withheld_charge
from payments.rules.outcomes import AUTHENTICATION_FAILED, Outcome
from payments.services import ledger_entries, return_matching, watches
from payments.services.checkouts import card_declines
from payments.services.links import link_uses
from payments.services.rails.rail_queries import first_calls
from payments.services.refunds import refused_returns, return_attention
from payments.services.transactions import outcome_statement, payer_actions
from payments.services.transactions.intents import authorisation_ends, find
from webhooks import services as webhooks
from webhooks.models import Event
from webhooks.publishing import NewEvent

Cause = Transition.Cause


def call_rail(transaction: Transaction, call: Callable[[], RailAnswer], *, cause: Cause) -> Transaction:
    """Call a rail, outside any database transaction, and apply its answer.

    Without an answer, the transaction stays pending and `requery` queries it later.
    """
    answer = first_calls.answer_to(call, about=transaction)
    if answer is None:
        return transaction
    return apply_answer(transaction, answer, cause=cause, now=clock.now())


def apply_answer(transaction: Transaction, answer: RailAnswer, *, cause: Cause, now: datetime) -> Transaction:
    """Apply the rail's answer to a transaction that awaits it.

    First writer wins. A concurrent caller gets the transaction as stored. It still awaits the rail if the acquirer
    asks for what the payer can't do, or no more.
    """
    if transaction.awaiting != Transaction.Awaiting.RAIL or not answer.is_definite:
        return transaction
    try:
        apply_outcome(transaction, answer, cause=cause, now=now)
    except AlreadyTransitioned:
        return find(transaction.pk)
    return transaction


def apply_outcome(transaction: Transaction, answer: RailAnswer, *, cause: Cause, now: datetime) -> None:
    """Apply a definite answer, the rail's or that of staff, to a transaction that awaits its rail or a reversal.

    A payment that may be charged a second time is watched from the same commit on.

    :raises AlreadyTransitioned: another caller was first
    """
    if not watches.may_be_charged_twice(transaction, answer, cause=cause):
        _apply_outcome(transaction, answer, cause=cause, now=now)
        return
    with database.atomic():
        _apply_outcome(transaction, answer, cause=cause, now=now)
        watches.watch_for_second_charge(transaction, now=now)


def _apply_outcome(transaction: Transaction, answer: RailAnswer, *, cause: Cause, now: datetime) -> None:
    if transaction.awaiting not in {Transaction.Awaiting.RAIL, Transaction.Awaiting.REVERSAL}:
        raise AlreadyTransitioned
    if answer.action is not None and transaction.is_card_check and not transaction.redirect_url:
        # The merchant doesn't expect the cardholder back.
        finish(transaction, AUTHENTICATION_FAILED, answer=answer, cause=cause, now=now)
    elif answer.action is not None:
        payer_actions.ask(transaction, answer, answer.action, cause=cause, now=now)
    elif not answer.is_final and payer_actions.has_open_page(transaction, now=now):
        payer_actions.send_back(transaction, answer, cause=cause, now=now)
    elif answer.must_be_reversed:
        transaction.await_reversal(query_at=now, partial_approval=answer, cause=cause, now=now)
    elif answer.outcome.is_success and not transaction.captures_at_once:
        until = min(authorisation_ends(now), answer.expires_at or datetime.max.replace(tzinfo=UTC))
        transaction.authorise(answer, until=until, cause=cause, now=now)
    else:
        captured = transaction.amount if answer.outcome.is_success and transaction.is_card_payment else 0
        finish(transaction, answer.outcome, captured=captured, answer=answer, cause=cause, now=now)


def finish(
    transaction: Transaction,
    outcome: Outcome,
    *,
    cause: Cause,
    now: datetime,
    captured: int = 0,
    answer: RailAnswer | None = None,
) -> None:
    """Set the final status of a pending transaction.

    The status, its transition, the use of its payment link, the ledger entry, the delivery of the event and the watch of
    a payment that may still be charged commit together.

    :raises AlreadyTransitioned: another caller was first
    """
    cost = charge_of(transaction, captured=captured) if outcome.is_success else NO_CHARGE
    awaited = transaction.awaiting
    transition = transaction.set_outcome(
        outcome, captured=captured, charge=cost, answer=answer, cause=cause, now=now
    )
    event, entry = _event(transaction), _ledger_entry(transaction, cause=cause, now=now)
    is_watched = watches.is_needed(transaction, awaited=awaited, answer=answer, cause=cause)
    has_more_to_store = (
        is_watched or _may_have_returns(transition) or refused_returns.is_refused_return(transaction)
    )
    if outcome_statement.stores_outcome_of(transaction) and not has_more_to_store:
        outcome_statement.store(transaction, transition, awaited=awaited, event=event, entry=entry, now=now)
    else:
        _store(
            transaction, transition, awaited=awaited, event=event, entry=entry, is_watched=is_watched, now=now
        )
    _count(transaction, outcome)


@database.atomic
def _store(
    finished: Transaction,
    transition: Transition,
    *,
    awaited: str,
    event: NewEvent | None,
    entry: Booking | None,
    is_watched: bool,
    now: datetime,
) -> None:
    """Store an outcome. `outcome_statement.store` does the same in one statement where it can.

    :raises AlreadyTransitioned: another caller was first
    """
    card = CARD_FIELDS if finished.payment_link_id is not None else ()  # it may have been entered elsewhere
    finished.save_transition((*OUTCOME_FIELDS, *card), awaited=awaited)
    insert(transition)
    if event is not None:
        webhooks.publish(event, now=now)
    if is_watched:
        watches.open_watch(finished, now=now)
    card_declines.settle(finished, now=now)
    link_uses.settle(finished)
    return_attention.keep_attention(finished, "")
    if refused_returns.is_refused_return(finished):
        refused_returns.reopen(finished, reason=finished.response_summary)
    bookings = [entry] if entry is not None else []
    if _may_have_returns(transition):
        bookings += return_matching.match_early(finished, now=now)
    ledger.book_all(bookings)  # last, so that the ledger accounts are locked for a short time


def _may_have_returns(transition: Transition) -> bool:
    """Return whether the bank may have returned part of a payout before its outcome was known.

    As a rule it answers at once: `return_matching.match_ended` finds returns that came meanwhile.
    """
    is_payout = transition.transaction.request_type == Transaction.RequestType.PAYOUT
    return is_payout and transition.cause != Cause.RAIL


def fail_all(transactions: list[Transaction], outcome: Outcome, *, cause: Cause, now: datetime) -> None:
    """Fail payments that await a transfer, all with the same outcome, in a few statements. The caller holds their locks.

    :raises AlreadyTransitioned: one of them no longer awaits a transfer
    """
    Transaction.objects.fail_all(transactions, outcome, cause=cause, now=now)
    webhooks.publish_all((event for one in transactions if (event := _event(one)) is not None), now=now)
    for finished in transactions:
        _count(finished, outcome)
    link_uses.give_back(transactions)


def _count(finished: Transaction, outcome: Outcome) -> None:
    """Count an outcome in the metrics, and the end of an attempt at a payment link."""
    OUTCOMES.labels(finished.request_type, finished.method, outcome.code).inc()
    if finished.payment_link_id is None:
        return
    if outcome.is_success:
        CHECKOUT_STEPS.labels("paid").inc()
    elif finished.method == Transaction.Method.CARD:  # a transfer that ends unpaid isn't declined
        CHECKOUT_STEPS.labels("declined").inc()


def _event(finished: Transaction) -> NewEvent | None:
    """Return the event of a finished transaction. A card check has none."""
    name = event_of(
        finished.request_type,
        succeeded=finished.status == Transaction.Status.SUCCESS,
        is_dynamic_mismatch=_is_dynamic_mismatch(finished),
    )
    if name is None:
        return None
    return NewEvent(Event(name), finished.business_id, finished.pk, data=lambda: represent(finished))


def _ledger_entry(finished: Transaction, *, cause: Cause, now: datetime) -> Booking | None:
    """Return the ledger entry of a finished transaction, if money moved."""
    succeeded = finished.status == Transaction.Status.SUCCESS
    if finished.request_type == Transaction.RequestType.PAYOUT:
        if succeeded:
            return ledger_entries.payout_sent(finished, now=now)
        if cause == Cause.FUNDING:  # nothing was taken from the wallet
            return None
        to = Kind.UNAPPLIED if refused_returns.is_refused_return(finished) else Kind.WALLET
        return ledger_entries.payout_failed(finished, charge=charge_of(finished), to=to, now=now)
    if finished.is_card_payment and succeeded:
        return ledger_entries.card_captured(finished, now=now)
    if finished.is_transfer_payment and succeeded:
        return ledger_entries.transfer_received(finished, now=now)
    return None


def _is_dynamic_mismatch(finished: Transaction) -> bool:
    session = finished.session
    return session is not None and session.status == session.Status.MISMATCH and not session.account.is_static


def charge_of(transaction: Transaction, *, captured: int = 0) -> Charge:
    """Return the fee of a successful transaction with its tax, by the rule that was in force when it was created.

    The charge of a payout is added to its amount. The charge of a payment is withheld from it.
    """
    rule = FeeRule.from_snapshot(transaction.fee_rule)
    if transaction.request_type == Transaction.RequestType.PAYOUT:
        return charge(rule, transaction.amount)
    return withheld_charge(rule, captured if transaction.is_card_payment else transaction.amount)
