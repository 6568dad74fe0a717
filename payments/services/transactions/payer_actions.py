"""Have a payer do what the acquirer asks for: go to a page of the provider or bank, or enter something on ours."""

from datetime import datetime
from urllib.parse import urlsplit

import structlog
from django.conf import settings
from django.db import transaction as database

from payments.models import AlreadyTransitioned, Challenge, Transaction, Transition
from payments.models.challenges import LONGEST_URL, challenge_token
from payments.rails.protocol import ActionKind, PayerAction, RailAnswer
from payments.services.transactions.intents import challenge_ends, lock

log = structlog.get_logger("sluice.rails")


@database.atomic
def ask(
    transaction: Transaction,
    answer: RailAnswer,
    action: PayerAction,
    *,
    cause: Transition.Cause,
    now: datetime,
) -> None:
    """Wait for the payer, until the time that began with the first action is over.

    The transaction still awaits its rail if the action can't be shown, is the redirect from which the payer has come
    back, is the sixth in a row, or comes after the page was closed. Then queries decide.

    :raises AlreadyTransitioned: another caller was first, or this answers an earlier question
    """
    if not _can_be_shown(action):
        log.error("payer action can't be shown", id=str(transaction.pk), kind=action.kind)
        return
    first = {
        "token": challenge_token(transaction.pk),
        "kind": action.kind,
        "prompt": action.prompt,
        "url": action.url,
        "was_repeated": answer.was_repeated,
        "created_at": now,
    }
    challenge, is_first = Challenge.objects.get_or_create(transaction=transaction, defaults=first)
    if not is_first:
        require_current(transaction)
        challenge.refresh_from_db()
        has_come_back = action.kind == ActionKind.REDIRECT and challenge.is_same(action)
        if has_come_back or challenge.closed_at is not None:
            return
        challenge.ask(action)
        if challenge.has_made_every_action:
            return
    transaction.await_payer(answer, until=challenge_ends(challenge.created_at), cause=cause, now=now)


def has_open_page(transaction: Transaction, *, now: datetime) -> bool:
    """Return whether the payer may still act at the page of a provider. The time there ends with ours."""
    challenge = Challenge.objects.filter(transaction=transaction, closed_at=None).first()
    return challenge is not None and now < challenge_ends(challenge.created_at)


@database.atomic
def send_back(
    transaction: Transaction, answer: RailAnswer, *, cause: Transition.Cause, now: datetime
) -> None:
    """Wait for the payer again, who came back from the provider's page without having paid, and may go there again.

    :raises AlreadyTransitioned: another caller was first
    """
    require_current(transaction)
    Challenge.objects.filter(transaction=transaction).update(passed_at=None)
    challenge = Challenge.objects.get(transaction=transaction)
    transaction.await_payer(answer, until=challenge_ends(challenge.created_at), cause=cause, now=now)


def close(transaction: Transaction, *, now: datetime) -> None:
    """Ask the payer for nothing more, and have the acquirer queried at once. The caller holds the transaction's lock."""
    Challenge.objects.filter(transaction=transaction).update(closed_at=now)
    transaction.await_rail(query_at=now, cause=Transition.Cause.EXPIRY, now=now, is_leased=False)


def require_current(transaction: Transaction) -> None:
    """Lock a transaction, and check that it still waits for the answer to the caller's question.

    Only the lease says so: between two inputs of its payer, a transaction awaits its rail each time.

    :raises AlreadyTransitioned: another caller was first, or has asked since
    """
    stored, lease = lock(transaction.pk), transaction.query_leased_until
    is_current = stored.awaiting == Transaction.Awaiting.RAIL and stored.query_leased_until == lease
    if lease is None or not is_current:
        raise AlreadyTransitioned


def _can_be_shown(action: PayerAction) -> bool:
    return action.kind != ActionKind.REDIRECT or is_safe(action.url)


def is_safe(url: str) -> bool:
    """Return whether payers may be sent to an address: only by HTTPS, to a simulator on this machine also without."""
    if len(url) > LONGEST_URL or not (url.isascii() and url.isprintable()) or " " in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    may_be_simulated = settings.SANDBOX or settings.SIMULATED_PROVIDERS
    is_local = may_be_simulated and parts.scheme == "http" and parts.hostname == "127.0.0.1"
    return is_local or (parts.scheme == "https" and bool(parts.hostname) and parts.username is None)
