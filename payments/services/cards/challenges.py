"""What a payer does before the acquirer decides, such as entering a 3-D Secure code. The payer may also decline.

Before an input is sent, the transaction awaits its rail, committed and leased. So an input is sent once, and if its
answer is lost, the acquirer is queried. Three wrong inputs in a row fail the payment.
"""

from collections.abc import Mapping
from datetime import datetime

import structlog
from django.db import transaction as database

from kit.db import clock
from kit.text.exception_summaries import summary_of
from payments.models import AlreadyTransitioned, Challenge, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import ActionKind, AnswerLost, CardAcquirer, CardOrder, RailAnswer
from payments.rules.outcomes import AUTHENTICATION_FAILED
from payments.services.rails.rail_choices import acquirer_of
from payments.services.rails.rail_orders import card_order
from payments.services.rails.rail_queries import first_calls
from payments.services.transactions import payer_actions, transitions
from payments.services.transactions.intents import FIRST_QUERY_AFTER, challenge_ends, find, lock
from payments.services.transactions.transitions import Cause

log = structlog.get_logger("sluice.rails")


class WrongInput(Exception):
    """The input is wrong, and the payer has tries left."""


class NotSent(Exception):
    """The input was not sent, because the acquirer is unavailable. The try isn't counted."""


class ChallengeClosed(Exception):
    """The payment doesn't await this input of its payer, or no longer does."""


def answer(*, challenge: Challenge, kind: ActionKind, value: Mapping[str, str], now: datetime) -> Transaction:
    """Send the payer's input to the acquirer, and apply its answer. The third wrong input fails the payment.

    `value` is secret, and has the form that `CardAcquirer.answer_action` takes.

    :raises WrongInput: the input is wrong, and the payer may try again
    :raises ChallengeClosed: another input is awaited or none, or the deadline has passed
    :raises NotSent: the acquirer is unavailable
    """
    try:
        acquirer = acquirer_of(challenge.transaction)
    except RailUnavailable:
        raise NotSent from None
    transaction = _begin(challenge, kind, now=now)
    order = card_order(transaction)
    answered = first_calls.answer_to(
        lambda: _send(challenge, acquirer, order, kind, value, now=now), about=transaction
    )
    if answered is not None and answered.action is not None and challenge.is_same(answered.action):
        return _count_wrong_input(challenge, transaction, answered, now=now)
    if answered is None:
        return transaction
    return transitions.apply_answer(transaction, answered, cause=Cause.PAYER, now=clock.now())


@database.atomic
def come_back(*, challenge: Challenge, now: datetime) -> Transaction:
    """Note that the payer came back from a redirect. From then on, the acquirer decides, and may be queried at once.

    :raises ChallengeClosed: the payer had come back already or was not redirected, or the deadline has passed
    """
    transaction = _lock_open(challenge, now=now)
    challenge.refresh_from_db()
    challenge.transaction = transaction
    if challenge.kind != ActionKind.REDIRECT:
        raise ChallengeClosed
    challenge.passed_at = now
    challenge.save(update_fields=["passed_at"])
    transaction.await_rail(query_at=now + FIRST_QUERY_AFTER, cause=Cause.PAYER, now=now, is_leased=False)
    return transaction


@database.atomic
def decline(*, challenge: Challenge, now: datetime) -> Transaction:
    """Fail the payment with 20151, because the payer declined it.

    :raises ChallengeClosed: the payer has acted already or may be acting at the provider, or the deadline has passed
    """
    transaction = _lock_open(challenge, now=now)
    challenge.refresh_from_db(fields=["kind"])
    if challenge.kind == ActionKind.REDIRECT:
        raise ChallengeClosed
    transitions.finish(transaction, AUTHENTICATION_FAILED, cause=Cause.PAYER, now=now)
    return transaction


@database.atomic
def _begin(challenge: Challenge, kind: ActionKind, *, now: datetime) -> Transaction:
    """Commit that an input is about to be sent, so that no other one is.

    The conditional update is the lock: of two tabs, one changes the transaction. What is awaited is read afterwards.
    """
    transaction = challenge.transaction
    _require_open(transaction, now=now)
    try:
        transaction.await_rail(query_at=now + FIRST_QUERY_AFTER, cause=Cause.PAYER, now=now)
    except AlreadyTransitioned:
        raise ChallengeClosed from None
    challenge.refresh_from_db(fields=["kind", "prompt", "url", "actions_made", "wrong_codes"])
    if challenge.kind != kind:
        raise ChallengeClosed
    return transaction


def _send(
    challenge: Challenge,
    acquirer: CardAcquirer,
    order: CardOrder,
    kind: ActionKind,
    value: Mapping[str, str],
    *,
    now: datetime,
) -> RailAnswer:
    """Send an input, and store whether the payer has passed, while the transaction is leased still.

    A query that began before that would be answered as if nothing had been entered, and ask the payer again.

    :raises AnswerLost: the acquirer gave no definite answer, or the connector failed
    """
    answered = None
    try:
        answered = _answer_of(acquirer, order, kind, value)
        return answered
    finally:
        if answered is None or answered.action is None:
            _pass(challenge, answered, now=now)


def _answer_of(
    acquirer: CardAcquirer, order: CardOrder, kind: ActionKind, value: Mapping[str, str]
) -> RailAnswer:
    """Send an input. An unexpected error loses the answer, and its message isn't logged: it may hold the input.

    :raises AnswerLost: the acquirer gave no definite answer, or the connector failed
    """
    try:
        return acquirer.answer_action(order, kind=kind, value=value)
    except AnswerLost:
        raise
    except Exception as error:  # noqa: BLE001  (every failure means the same)
        summary = summary_of(error) | {"said": ""}
        log.error("input not answered", id=str(order.id), **summary)  # noqa: TRY400  (without its message)
        raise AnswerLost from None


def _pass(challenge: Challenge, answered: RailAnswer | None, *, now: datetime) -> None:
    """Store that the acquirer asks for nothing again, or that only a query can show the outcome."""
    if answered is None or answered.outcome.code != AUTHENTICATION_FAILED.code:
        challenge.passed_at = now
        challenge.save(update_fields=["passed_at"])


def _count_wrong_input(
    challenge: Challenge, transaction: Transaction, answered: RailAnswer, *, now: datetime
) -> Transaction:
    try:
        with database.atomic():
            payer_actions.require_current(transaction)
            challenge.wrong_codes += 1
            challenge.save(update_fields=["wrong_codes"])
            if not challenge.tries_left:
                transitions.finish(transaction, AUTHENTICATION_FAILED, cause=Cause.PAYER, now=now)
                return transaction
            until = challenge_ends(challenge.created_at)
            transaction.await_payer(answered, until=until, cause=Cause.PAYER, now=now)
    except AlreadyTransitioned:
        return find(transaction.pk)
    raise WrongInput  # after the commit, so that the try is counted


def _lock_open(challenge: Challenge, *, now: datetime) -> Transaction:
    transaction = lock(challenge.transaction_id)
    _require_open(transaction, now=now)
    return transaction


def _require_open(transaction: Transaction, *, now: datetime) -> None:
    is_open = transaction.awaiting == Transaction.Awaiting.PAYER
    if not is_open or transaction.expires_at is None or transaction.expires_at <= now:
        raise ChallengeClosed
