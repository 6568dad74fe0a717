"""The only road to success or failed, and to every other move of a transaction.

Each function is one database transaction: lock the row, look at it, apply, log the move. The rail was
asked before, outside of it.
"""

from collections.abc import Callable, Iterable
from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from django.utils import timezone

from payments import fees
from payments.models import Challenge, InvalidState, Transaction, Transition
from payments.outcomes import AUTHENTICATION_FAILED, Outcome
from payments.rails.protocol import AnswerLost, RailAnswer
from payments.services.intents import authorisation_ends, challenge_ends, lock

Cause = Transition.Cause


def ask(transaction: Transaction, question: Callable[[], RailAnswer], *, cause: Cause) -> Transaction:
    """Put a question to a rail, outside every database transaction, and apply its answer.

    A lost answer changes nothing: the transaction stays pending and `requery` asks again.
    """
    try:
        answer = question()
    except AnswerLost:
        return transaction
    return apply_answer(transaction_id=transaction.pk, answer=answer, cause=cause, now=timezone.now())


@database.atomic
def apply_answer(*, transaction_id: UUID, answer: RailAnswer, cause: Cause, now: datetime) -> Transaction:
    """Give a transaction that awaits its rail the rail's answer.

    Whoever applies an answer first wins; the others get the transaction as the first one left it.
    """
    transaction = lock(transaction_id)
    if transaction.awaiting != Transaction.Awaiting.RAIL:
        return transaction  # answered in the meantime, by this rail's answer to somebody else
    if not answer.is_definite:
        return transaction  # `requery` asks again
    if answer.needs_challenge:
        _, is_new = Challenge.objects.get_or_create(transaction=transaction, defaults={"created_at": now})
        if is_new:  # otherwise the payer has passed it, and this answer is from before
            log(transaction.await_payer(until=challenge_ends(now)), cause=cause, now=now)
    elif answer.outcome.is_success and not transaction.captures_at_once:
        log(transaction.authorise(answer, until=authorisation_ends(now)), cause=cause, now=now)
    else:
        captured = transaction.amount if answer.outcome.is_success and transaction.is_card_payment else 0
        finish(transaction, answer.outcome, captured=captured, answer=answer, cause=cause, now=now)
    return transaction


def finish(
    transaction: Transaction,
    outcome: Outcome,
    *,
    cause: Cause,
    now: datetime,
    captured: int = 0,
    answer: RailAnswer | None = None,
) -> None:
    """Give a locked pending transaction its terminal status.

    :raises AlreadyFinished: it has one
    """
    fee = fee_of(transaction, captured=captured) if outcome.is_success else 0
    log(transaction.finish(outcome, captured=captured, fee=fee, answer=answer, now=now), cause=cause, now=now)


def fail_authentication(transaction: Transaction, *, cause: Cause, now: datetime) -> None:
    """End a locked transaction whose payer was not recognised."""
    if transaction.awaiting != Transaction.Awaiting.PAYER:
        raise InvalidState("This payment does not wait for its payer.")
    finish(transaction, AUTHENTICATION_FAILED, cause=cause, now=now)


def fee_of(transaction: Transaction, *, captured: int) -> int:
    if transaction.request_type == Transaction.RequestType.PAYOUT:
        return fees.payout_fee(transaction.amount)
    return fees.fee(fees.CARD, captured)


def log(moves: Iterable[Transition], *, cause: Cause, now: datetime) -> None:
    """Write a transaction's moves into the transition log."""
    for move in moves:
        move.cause, move.at = cause, now
        move.save(force_insert=True)
