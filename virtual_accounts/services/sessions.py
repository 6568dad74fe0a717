"""Sessions: open one for a payment, and end those that received no money.

Locks are taken in this order: account, session, transaction.
"""

from datetime import datetime, timedelta
from uuid import UUID

from kit.db.prepared_statements import Lookup, insert_if_absent
from kit.time.time_ordered_ids import new_id
from virtual_accounts.models import AccountNumber, Session, VirtualAccount
from virtual_accounts.providers.protocol import OpenedSession
from virtual_accounts.services import number_pool, provider_messages


def open_at_provider(
    session_id: UUID,
    *,
    account: VirtualAccount,
    amount: int,
    opened: OpenedSession,
    provider_account: str,
    now: datetime,
) -> Session:
    """Store the session that a provider has opened for a dynamic account, and have the provider asked when it ends.

    The caller has locked the account in its transaction.

    :raises NumberTaken: another account holds its number
    """
    number = AccountNumber(
        number=opened.number,
        bank_code=opened.bank_code,
        bank_name=opened.bank_name,
        holder=account,
        provider_account=provider_account,
    )
    number_pool.hold(number)
    session = Session(
        id=session_id,
        account=account,
        number=number,
        bank_name=opened.bank_name,
        account_name=opened.account_name,
        expected_amount=amount,
        currency=account.currency,
        opened_at=now,
        expires_at=opened.expires_at,
        provider_account=provider_account,
    )
    if not insert_if_absent(session):
        raise number_pool.NumberTaken(opened.number)  # this account's earlier session on it hasn't ended here
    ask_provider(session, at=session.expires_at, now=now)
    return session


def ask_provider(session: Session, *, at: datetime, now: datetime) -> None:
    """Have the provider of a session asked about its transfer at a time."""
    provider_messages.ask(session.pk.hex, provider_account=session.provider_account, at=at, now=now)


def open_session(
    session_id: UUID, *, account: VirtualAccount, amount: int, lifetime: timedelta, now: datetime
) -> Session | None:
    """Open a session for an amount; return None if a static account already has an open one.

    The caller has locked the account in its transaction.

    :raises PoolEmpty: no number is free for a dynamic account
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
    """Return a new, already paid session for an unrequested transfer to a static account. It isn't stored yet."""
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
    """Return the open session of a number, locked. It may have expired without being ended."""
    return _OPEN_ON_NUMBER.find(number, Session.Status.PENDING)


_OPEN_ON_NUMBER = Lookup(Session, "number", "status", joined=("account",), lock=True)


def lock(session_id: UUID) -> Session:
    """Return a session, locked until the transaction ends."""
    found = _LOCKED_BY_ID.find(session_id)
    if found is None:
        raise Session.DoesNotExist
    return found


_LOCKED_BY_ID = Lookup(Session, "id", joined=("account",), lock=True)


def reject(session: Session, *, now: datetime) -> None:
    """End an open session whose provider sent another amount back. The caller has locked it.

    :raises SessionEnded: it has ended already
    """
    _end([session], Session.Status.MISMATCH, now=now)


def expire_one(session: Session, *, now: datetime) -> None:
    """End an open session whose provider received nothing in time. The caller has locked it.

    :raises SessionEnded: it has ended already
    """
    _end([session], Session.Status.EXPIRED, now=now)


def fail(session: Session, *, now: datetime) -> None:
    """End an open session whose payment was cancelled. The caller has locked it.

    :raises SessionEnded: it has ended already
    """
    _end([session], Session.Status.FAILED, now=now)


def fail_open(account: VirtualAccount, *, now: datetime) -> list[Session]:
    """End and return the open sessions of an account, which the caller has locked."""
    opened = Session.objects.select_for_update(of=("self",)).filter(
        account=account, status=Session.Status.PENDING
    )
    return _end(list(opened.order_by("pk")), Session.Status.FAILED, now=now)


def expire(*, now: datetime, limit: int, without: set[UUID], account_id: UUID | None = None) -> list[Session]:
    """End up to `limit` expired sessions, longest overdue first, and return them.

    Locked sessions are skipped, because a transfer may be arriving. With an account's id, only sessions of that
    account are ended.
    """
    overdue = (
        Session.objects.overdue(at=now)
        .exclude(pk__in=without)
        .select_for_update(skip_locked=True, of=("self",))
    )
    if account_id is not None:
        overdue = overdue.filter(account=account_id)
    # Only the type of the account is read, not the customer's data such as the BVN.
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
    """Release the numbers of dynamic sessions. A static account keeps its number."""
    taken = [session.number_id for session in sessions if not session.account.is_static]
    number_pool.release(taken, now=now)


def _particulars(account: VirtualAccount) -> dict[str, str]:
    """Return the account data that a session copies."""
    return {
        "number_id": account.account_number,
        "bank_name": account.bank_name,
        "account_name": account.holder_name,
        "currency": account.currency,
    }
