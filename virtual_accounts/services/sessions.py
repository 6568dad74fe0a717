"""Sessions: opened for a payment, and ended where no money came.

Locks are taken in this order: account, session, transaction.
"""

from datetime import datetime, timedelta
from uuid import UUID

from kit.db.prepared_statements import Lookup, insert_if_absent
from kit.time_ordered_ids import new_id
from virtual_accounts.models import Session, VirtualAccount
from virtual_accounts.services import number_pool


def open_session(
    session_id: UUID, *, account: VirtualAccount, amount: int, lifetime: timedelta, now: datetime
) -> Session | None:
    """Expect an amount on a number of the account; None where a static account's session is open.

    Within the caller's transaction, who holds the account.

    :raises PoolEmpty: a dynamic account's number cannot be taken now
    """
    session = Session(
        id=session_id,
        account=account,
        expected_amount=amount,
        opened_at=now,
        expires_at=now + lifetime,
        **_particulars(account),
    )
    if not account.is_static:
        number = number_pool.take(account.pk, now=now)
        session.number_id, session.bank_name = number.number, number.bank_name
    return session if insert_if_absent(session) else None


def paid_at_once(*, account: VirtualAccount, amount: int, now: datetime) -> Session:
    """Return the session, yet to be written, of money that nobody asked a static account for: over and paid."""
    return Session(
        id=new_id(now),
        account=account,
        expected_amount=amount,
        amount_received=amount,
        status=Session.Status.SUCCESS,
        opened_at=now,
        expires_at=now,
        ended_at=now,
        **_particulars(account),
    )


def lock_open(number: str) -> Session | None:
    """Return the session that is open on a number, locked; one whose time is over may still be open."""
    return _OPEN_ON_NUMBER.find(number, Session.Status.PENDING)


_OPEN_ON_NUMBER = Lookup(Session, "number", "status", joined=("account",), lock=True)


def lock(session_id: UUID) -> Session:
    """Return a session as it is, locked until the transaction ends."""
    found = _LOCKED_BY_ID.find(session_id)
    if found is None:
        raise Session.DoesNotExist
    return found


_LOCKED_BY_ID = Lookup(Session, "id", joined=("account",), lock=True)


def fail(session: Session, *, now: datetime) -> None:
    """End an open session that the caller has locked: its payment was cancelled.

    :raises SessionEnded: it is over
    """
    _end([session], Session.Status.FAILED, now=now)


def fail_open(account: VirtualAccount, *, now: datetime) -> list[Session]:
    """End the open sessions of an account that the caller has locked, and return them."""
    opened = Session.objects.select_for_update(of=("self",)).filter(
        account=account, status=Session.Status.PENDING
    )
    return _end(list(opened.order_by("pk")), Session.Status.FAILED, now=now)


def expire(*, now: datetime, limit: int, without: set[UUID], account_id: UUID | None = None) -> list[Session]:
    """End up to so many sessions whose time is over, longest overdue first, and return them.

    Those that somebody else is working on are passed over: a transfer may be arriving. With an account's id,
    only that account's count.
    """
    overdue = (
        Session.objects.overdue(at=now)
        .exclude(pk__in=without)
        .select_for_update(skip_locked=True, of=("self",))
    )
    if account_id is not None:
        overdue = overdue.filter(account=account_id)
    # Of the account only its type is asked: a customer's data, the BVN among it, would be read for nothing.
    found = (
        overdue.select_related("account").only(*_OWN_FIELDS, "account__type").order_by("expires_at")[:limit]
    )
    return _end(list(found), Session.Status.EXPIRED, now=now)


_OWN_FIELDS = [field.name for field in Session._meta.concrete_fields]


def _end(sessions: list[Session], status: Session.Status, *, now: datetime) -> list[Session]:
    if sessions:
        Session.objects.end_all(sessions, status, now=now)
        release(sessions, now=now)
    return sessions


def release(sessions: list[Session], *, now: datetime) -> None:
    """Give back the numbers that were taken for these sessions; a static account keeps its own."""
    taken = [session.number_id for session in sessions if not session.account.is_static]
    number_pool.give_back(taken, now=now)


def _particulars(account: VirtualAccount) -> dict[str, str]:
    """Return what a session keeps of its account, as it is today."""
    return {
        "number_id": account.account_number,
        "bank_name": account.bank_name,
        "account_name": account.holder_name,
        "currency": account.currency,
    }
