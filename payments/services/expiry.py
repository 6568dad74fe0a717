"""What happens because time passes: challenges, authorisations and sessions of virtual accounts end."""

from collections.abc import Callable, Iterator
from datetime import datetime
from enum import Enum
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db import transaction as database
from django.db.models import Exists, OuterRef

from kit.db import locks
from kit.db.clock import database_now
from payments.models import CardOperation, Transaction
from payments.outcomes import AUTHENTICATION_FAILED, AUTHORISATION_EXPIRED, TRANSFER_EXPIRED
from payments.services import operations, transitions
from payments.services.intents import find, lock, lock_of_sessions, trace_fields
from payments.services.transitions import Cause
from virtual_accounts.models import Session
from virtual_accounts.services import sessions

SESSIONS_AT_ONCE = 250

log = structlog.get_logger("sluice.expiry")

OUTCOMES = {
    Transaction.Awaiting.PAYER: AUTHENTICATION_FAILED,
    Transaction.Awaiting.CAPTURE: AUTHORISATION_EXPIRED,
}


def overdue(*, now: datetime) -> list[UUID]:
    """Return the transactions whose time is over, longest overdue first."""
    return list(Transaction.objects.overdue(at=now).order_by("expires_at").values_list("pk", flat=True))


def expire(transaction_ids: list[UUID], *, clock: Callable[[], datetime] = database_now) -> Iterator[bool]:
    """End each of these transactions; yield for each whether this call ended it.

    The time is read for each of them: a long run must not date the last ones to its beginning.
    """
    for transaction_id in transaction_ids:
        try:
            yield expire_one(transaction_id, now=clock())
        except Exception as error:
            # Whatever is wrong with this one, the others must end too.
            if _is_database_away(error):
                raise
            _log_failure(error, id=str(transaction_id))
            yield False


def overdue_sessions(*, now: datetime) -> int:
    """Return how many sessions of virtual accounts are over and have not been ended."""
    count: int = Session.objects.overdue(at=now).count()
    return count


def expire_sessions(*, clock: Callable[[], datetime] = database_now) -> Iterator[int]:
    """End the sessions whose time is over, and their payments; yield how many, batch by batch.

    A batch is one short transaction, so that those who open sessions meanwhile wait for little.
    """
    failed: set[UUID] = set()
    size = SESSIONS_AT_ONCE
    while True:
        try:
            ended = _expire_batch(now=clock(), limit=size, without=failed)
        except SessionsNotExpired as refused:
            size = 1  # whatever is wrong with one of them, the others must end too
            if len(refused.session_ids) == 1:
                failed.update(refused.session_ids)
                size = SESSIONS_AT_ONCE
            continue
        if not ended:
            return
        yield ended


class SessionsNotExpired(Exception):
    """Something is wrong with one of these sessions."""

    def __init__(self, session_ids: list[UUID]) -> None:
        super().__init__()
        self.session_ids = session_ids


def expire_session_of(account_id: UUID, *, now: datetime) -> bool:
    """End the session of a static account if its time is over, should the schedule be behind.

    Over by the caller's clock and by the database's, which decides about transfers.

    :raises OperationalError: somebody keeps its payment locked
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
        if _is_database_away(error):
            raise
        _log_failure(error, sessions=[str(session.pk) for session in expired[:1]])
        raise SessionsNotExpired([session.pk for session in expired]) from error
    return len(expired)


def _is_database_away(error: Exception) -> bool:
    """Return whether an error concerns all that is due; a row that somebody keeps locked is one row's matter."""
    return isinstance(error, OperationalError | InterfaceError) and not locks.is_about_a_lock(error)


def _log_failure(error: Exception, **which: object) -> None:
    """Log what happened. What a database error says stays out of the log: it may quote a row's values."""
    told = None if isinstance(error, DatabaseError) else error
    log.error("expiry failed", error=type(error).__name__, exc_info=told, **which)


def expire_one(transaction_id: UUID, *, now: datetime) -> bool:
    """End a transaction whose time is over. False where another process has moved it, or is about to.

    An authorisation is also released at the acquirer: its void commits together with the failure.

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
        return False  # the acquirer may have captured: its answer decides
    outcome = OUTCOMES[Transaction.Awaiting(transaction.awaiting)]
    if outcome is AUTHORISATION_EXPIRED:
        if trace is None:
            return False  # it was authorised this moment
        operations.open_release(transaction, trace=trace, now=now)
    transitions.finish(transaction, outcome, cause=Cause.EXPIRY, now=now)
    return True


def unreleased() -> list[UUID]:
    """Return the expired authorisations without a void: earlier releases did not open one."""
    voids = CardOperation.objects.filter(
        transaction=OuterRef("pk"), kind=CardOperation.Kind.VOID, created_at__gte=OuterRef("finished_at")
    )
    expired = Transaction.objects.filter(
        method=Transaction.Method.CARD, response_code=AUTHORISATION_EXPIRED.code
    )
    return list(expired.filter(~Exists(voids)).order_by("finished_at").values_list("pk", flat=True))


def release(transaction_ids: list[UUID], *, clock: Callable[[], datetime] = database_now) -> Iterator[bool]:
    """Open the void of each of these expired authorisations; yield whether it still lacked one."""
    for transaction_id in transaction_ids:
        yield _release_one(transaction_id, trace=trace_fields(), now=clock())


@database.atomic
def _release_one(transaction_id: UUID, *, trace: dict[str, str], now: datetime) -> bool:
    transaction = lock(transaction_id)
    if operations.standing(transaction) is not None:
        return False
    operations.open_release(transaction, trace=trace, now=now)
    return True


class Deadline(Enum):
    """What a transaction may wait for until a moment."""

    CHALLENGE = Transaction.Awaiting.PAYER
    AUTHORISATION = Transaction.Awaiting.CAPTURE
    SESSION = Transaction.Awaiting.TRANSFER


def move_deadline(
    transaction_id: UUID, *, clock: Callable[[], datetime] = database_now
) -> tuple[Deadline, datetime] | None:
    """Move the deadline that a transaction waits for to this moment, as a sandbox may; return both.

    The clock is read under the lock: a caller that has waited for it sees that the deadline is over, and gets None. The
    row stays locked until the caller's transaction ends. What follows is `end_session_of` before that, or
    `expire_one` after it: an authorisation needs trace numbers, which are never taken inside a transaction.
    """
    session_id = find(transaction_id).session_id
    if session_id is not None:  # its payment is not locked: arriving transfers lock the session first
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
    """End the session whose deadline was moved, and its payment, in the same transaction.

    The row's lock must be held still: expiry skips sessions that another process has locked.
    """
    account_id = Session.objects.values_list("account", flat=True).get(payment=transaction_id)
    _expire_batch(now=now, limit=SESSIONS_AT_ONCE, without=set(), account_id=account_id)
