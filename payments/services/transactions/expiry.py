"""Expire challenges, authorisations and virtual account sessions."""

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import Enum
from uuid import UUID

import structlog
from django.db import OperationalError
from django.db import transaction as database
from django.db.models import Exists, OuterRef

from kit.db.clock import database_now
from kit.db.one_by_one import is_database_unavailable, one_by_one
from kit.text.exception_summaries import summary_of
from payments.models import CardOperation, Transaction
from payments.rails.protocol import Reverses
from payments.rules.outcomes import AUTHENTICATION_FAILED, AUTHORISATION_EXPIRED, TRANSFER_EXPIRED
from payments.services.rails.rail_choices import reverses_of
from payments.services.transactions import operations, payer_actions, transitions
from payments.services.transactions.intents import find, lock, lock_of_sessions, trace_fields
from payments.services.transactions.transitions import Cause
from virtual_accounts.models import Session
from virtual_accounts.services import sessions

SESSIONS_AT_ONCE = 250

log = structlog.get_logger("sluice.expiry")

OUTCOMES = {
    Transaction.Awaiting.PAYER: AUTHENTICATION_FAILED,
    Transaction.Awaiting.CAPTURE: AUTHORISATION_EXPIRED,
}


def overdue(*, now: datetime) -> list[UUID]:
    """Return the overdue transactions, longest overdue first."""
    return list(Transaction.objects.overdue(at=now).order_by("expires_at").values_list("pk", flat=True))


def expire(transaction_ids: list[UUID], *, clock: Callable[[], datetime] = database_now) -> Iterator[bool]:
    """Expire each of these transactions and yield whether this call expired it.

    The clock is read for each, so that a long run doesn't backdate the last ones.
    """
    expired = one_by_one(lambda each: expire_one(each, now=clock()), transaction_ids, failure="expiry failed")
    yield from map(bool, expired)


def overdue_sessions(*, now: datetime) -> int:
    """Return the number of overdue virtual account sessions."""
    return Session.objects.overdue(at=now).count()


def expire_sessions(*, clock: Callable[[], datetime] = database_now) -> Iterator[int]:
    """Expire overdue sessions and their payments, and yield the size of each batch.

    Each batch is one short transaction, so that opening a session meanwhile is hardly delayed.
    """
    failed: set[UUID] = set()
    size = SESSIONS_AT_ONCE
    while True:
        try:
            ended = _expire_batch(now=clock(), limit=size, without=failed)
        except SessionsNotExpired as refused:
            size = 1  # isolate the session that fails, so that the others expire
            if len(refused.session_ids) == 1:
                failed.update(refused.session_ids)
                size = SESSIONS_AT_ONCE
            continue
        if not ended:
            return
        yield ended


class SessionsNotExpired(Exception):
    """A batch with these sessions failed."""

    def __init__(self, session_ids: list[UUID]) -> None:
        super().__init__()
        self.session_ids = session_ids


def expire_session_of(account_id: UUID, *, now: datetime) -> bool:
    """Expire the overdue session of a static account, without waiting for the scheduler.

    It must be overdue by both the caller's clock and the database's, which decides about transfers.

    :raises OperationalError: the payment is locked
    """
    try:
        return _expire_batch(now=min(now, database_now()), limit=1, without=set(), account_id=account_id) > 0
    except SessionsNotExpired as refused:
        if isinstance(refused.__cause__, OperationalError):
            raise refused.__cause__ from None
        return False


@database.atomic
def _expire_batch(*, now: datetime, limit: int, without: set[UUID], account_id: UUID | None = None) -> int:
    expired = sessions.expire(now=now, limit=limit, without=without, account_id=account_id)
    try:
        payments = lock_of_sessions(expired)
        transitions.fail_all(payments, TRANSFER_EXPIRED, cause=Cause.EXPIRY, now=now)
    except Exception as error:
        if is_database_unavailable(error):
            raise
        which = [str(session.pk) for session in expired[:1]]
        log.error("expiry failed", sessions=which, **summary_of(error))  # noqa: TRY400  (the message may quote a row)
        raise SessionsNotExpired([session.pk for session in expired]) from error
    return len(expired)


def expire_one(transaction_id: UUID, *, now: datetime) -> bool:
    """Expire an overdue transaction. Returns False if another process has changed it or is about to.

    An authorisation is also released at the acquirer: its void is created in the same database transaction.

    :raises RailUnavailable: it is an authorisation, and all trace numbers of this hour are taken
    """
    is_authorised = Transaction.objects.filter(pk=transaction_id, awaiting=Transaction.Awaiting.CAPTURE)
    trace = trace_fields() if is_authorised.exists() else None
    return _expire_one(transaction_id, trace=trace, now=now)


@database.atomic
def _expire_one(transaction_id: UUID, *, trace: dict[str, str] | None, now: datetime) -> bool:
    transaction = lock(transaction_id)
    if transaction.expires_at is None or transaction.expires_at > now:
        return False
    if operations.is_capture_or_void_under_way(transaction):
        return False  # the acquirer may have captured it, so wait for its answer
    if transaction.awaiting == Transaction.Awaiting.PAYER and reverses_of(transaction) == Reverses.BY_REFUND:
        payer_actions.close(transaction, now=now)  # its payer may still pay at the provider
        return True
    outcome = OUTCOMES[Transaction.Awaiting(transaction.awaiting)]
    if outcome is AUTHORISATION_EXPIRED:
        if trace is None:
            return False  # it was authorised just now
        operations.open_release(transaction, trace=trace, now=now)
    transitions.finish(transaction, outcome, cause=Cause.EXPIRY, now=now)
    return True


def unreleased() -> list[UUID]:
    """Return the expired authorisations without a void. Earlier versions didn't create one."""
    voids = CardOperation.objects.filter(
        transaction=OuterRef("pk"), kind=CardOperation.Kind.VOID, created_at__gte=OuterRef("finished_at")
    )
    expired = Transaction.objects.filter(
        method=Transaction.Method.CARD, response_code=AUTHORISATION_EXPIRED.code
    )
    return list(expired.filter(~Exists(voids)).order_by("finished_at").values_list("pk", flat=True))


def release(transaction_ids: list[UUID], *, clock: Callable[[], datetime] = database_now) -> Iterator[bool]:
    """Create the void of each of these expired authorisations, and yield whether it was missing."""
    for transaction_id in transaction_ids:
        yield _release_one(transaction_id, trace=trace_fields(), now=clock())


@database.atomic
def _release_one(transaction_id: UUID, *, trace: dict[str, str], now: datetime) -> bool:
    transaction = lock(transaction_id)
    if operations.effective_capture_or_void(transaction) is not None:
        return False
    operations.open_release(transaction, trace=trace, now=now)
    return True


class Deadline(Enum):
    """The kinds of deadlines of a transaction."""

    CHALLENGE = Transaction.Awaiting.PAYER
    AUTHORISATION = Transaction.Awaiting.CAPTURE
    SESSION = Transaction.Awaiting.TRANSFER


def set_deadline(
    transaction_id: UUID, *, clock: Callable[[], datetime] = database_now
) -> tuple[Deadline, datetime] | None:
    """Move the deadline of a sandbox transaction to now, and return its kind with the time. None if it has passed.

    The clock is read under the lock, which is held until the caller's database transaction ends. Afterwards, call
    `end_session_of` inside that transaction, or `expire_one` after it: an authorisation needs trace numbers, which are
    never taken inside a transaction.
    """
    session_id = find(transaction_id).session_id
    if session_id is not None:  # don't lock its payment: incoming transfers lock the session first
        session = sessions.lock(session_id)
        is_open = session.status == Session.Status.PENDING
        return _move(session, Deadline.SESSION, clock=clock) if is_open else None
    transaction = lock(transaction_id)
    if transaction.awaiting not in OUTCOMES:
        return None
    return _move(transaction, Deadline(transaction.awaiting), clock=clock)


def _move(
    waiting: Transaction | Session, deadline: Deadline, *, clock: Callable[[], datetime]
) -> tuple[Deadline, datetime] | None:
    now = clock()
    if waiting.expires_at is None or waiting.expires_at <= now:
        return None
    type(waiting)._default_manager.filter(pk=waiting.pk).update(expires_at=now)
    return deadline, now


def end_session_of(transaction_id: UUID, *, now: datetime) -> None:
    """Expire the session whose deadline was moved, and its payment, in the same database transaction.

    A session that a provider opened ends once the provider has been asked.

    The caller must still hold the row's lock, because expiry skips sessions locked by other processes.
    """
    session = Session.objects.get(payment=transaction_id)
    if session.provider_account:
        sessions.ask_provider(session, at=now, now=now)
        return
    account_id = session.account_id
    _expire_batch(now=now, limit=SESSIONS_AT_ONCE, without=set(), account_id=account_id)
