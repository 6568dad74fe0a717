"""The payer's 3-D Secure challenge: passed with the correct code, failed by declining or by three wrong codes."""

from datetime import datetime

from django.db import transaction as database

from payments.models import Challenge, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import AnswerLost
from payments.rules.outcomes import AUTHENTICATION_FAILED
from payments.services import transitions
from payments.services.intents import FIRST_QUERY_AFTER, lock
from payments.services.rails.rail_choices import acquirer_of
from payments.services.rails.rail_orders import card_order
from payments.services.transitions import Cause


class WrongCode(Exception):
    """The one-time code is wrong, and the payer has tries left."""


class CodeNotChecked(Exception):
    """The code could not be checked. The try isn't counted."""


class ChallengeClosed(Exception):
    """The payment doesn't await its payer, or no longer does."""


def approve(*, challenge: Challenge, code: str, now: datetime) -> Transaction:
    """Check the payer's code. If it is correct, continue the authorisation. The third wrong code fails the payment.

    :raises WrongCode: the code is wrong, and the payer may try again
    :raises ChallengeClosed: the challenge was already answered, or its deadline has passed
    :raises CodeNotChecked: the code could not be checked
    """
    order = card_order(challenge.transaction)
    try:
        acquirer = acquirer_of(challenge.transaction)
        is_right = acquirer.is_right_code(order, code=code)
    except (AnswerLost, RailUnavailable):
        raise CodeNotChecked from None
    if not is_right:
        return _count_wrong_code(challenge, now=now)
    transaction = _pass(challenge, now=now)
    passed = card_order(transaction, has_passed_challenge=True)
    return transitions.call_rail(transaction, lambda: acquirer.resume(passed), cause=Cause.PAYER)


@database.atomic
def decline(*, challenge: Challenge, now: datetime) -> Transaction:
    """Fail the payment with 20151, because the payer declined it.

    :raises ChallengeClosed: the challenge was already answered, or its deadline has passed
    """
    transaction = _lock_open(challenge, now=now)
    transitions.finish(transaction, AUTHENTICATION_FAILED, cause=Cause.PAYER, now=now)
    return transaction


@database.atomic
def _pass(challenge: Challenge, *, now: datetime) -> Transaction:
    transaction = _lock_open(challenge, now=now)
    challenge.passed_at = now
    challenge.save(update_fields=["passed_at"])
    transaction.await_rail(query_at=now + FIRST_QUERY_AFTER, cause=Cause.PAYER, now=now)
    return transaction


def _count_wrong_code(challenge: Challenge, *, now: datetime) -> Transaction:
    with database.atomic():
        transaction = _lock_open(challenge, now=now)
        challenge.refresh_from_db(fields=["wrong_codes"])
        challenge.wrong_codes += 1
        challenge.save(update_fields=["wrong_codes"])
        if not challenge.tries_left:
            transitions.finish(transaction, AUTHENTICATION_FAILED, cause=Cause.PAYER, now=now)
            return transaction
    raise WrongCode  # after the commit, so that the try is counted


def _lock_open(challenge: Challenge, *, now: datetime) -> Transaction:
    transaction = lock(challenge.transaction_id)
    is_open = transaction.awaiting == Transaction.Awaiting.PAYER
    if not is_open or transaction.expires_at is None or transaction.expires_at <= now:
        raise ChallengeClosed
    return transaction
