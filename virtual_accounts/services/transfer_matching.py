"""Incoming bank transfers: record each one and apply it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from rest_framework import status

from kit.api.errors import Problem
from kit.api.replays import DuplicateReference, IdempotentResult
from kit.db.clock import database_now
from kit.db.prepared_statements import Lookup, insert, insert_if_absent
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from virtual_accounts.models import (
    SENDER_ACCOUNT,
    SENDER_BANK,
    AccountNumber,
    Session,
    Transfer,
    UnappliedMoney,
    VirtualAccount,
)
from virtual_accounts.services import accounts, sessions

Applied, Reason = Transfer.Applied, Transfer.Reason

SENDER_COLUMN = 10  # characters of the columns for the sender's account number and bank code


class UnknownAccount(Problem):
    """The account number was never assigned to an account, or not to one of this business."""

    status_code = status.HTTP_404_NOT_FOUND
    default_code = "unknown_account"
    default_detail = "No virtual account has, or ever had, this account number."


class NumberReassigned(Exception):
    """The number got another holder while its former holder was being locked. Roll back, and start over."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A transfer as notified by the bank. The amount is in minor units."""

    bank_reference: str
    account_number: str
    # The session that the provider opened for this transfer. Its number may have been given to another one since.
    session_id: UUID | None = None
    provider_account: str = ""  # our account at the provider that took it, and sends it back
    amount: int
    currency: str = ""  # empty means the account's currency
    sender_name: str
    sender_account_number: str = ""
    sender_bank_code: str = ""
    narration: str = ""
    extra_members: Mapping[str, str] = field(default_factory=dict)

    @property
    def all_members(self) -> dict[str, str]:
        """Return the unknown members together with the sender's account and bank."""
        known = {SENDER_ACCOUNT: self.sender_account_number, SENDER_BANK: self.sender_bank_code}
        return {name: value for name, value in known.items() if value} | dict(self.extra_members)


@dataclass(frozen=True, slots=True)
class Decision:
    """How a transfer is applied."""

    applied: Transfer.Applied
    reason: Transfer.Reason = Reason.NONE


def record(
    notice: Notice, *, owner: Business | None = None, clock: Callable[[], datetime] = database_now
) -> IdempotentResult[Transfer]:
    """Record a transfer and apply it, in the caller's transaction. Its `session` is the session that it ended, if any.

    The clock is read after locking the account and the open session of the number, so that a transfer and an expiry
    are processed one after the other. With `owner`, only that business's numbers are found.

    :raises UnknownAccount: the number is not and was never assigned to an account
    :raises DuplicateReference: the bank's reference belongs to a different transfer
    :raises NumberReassigned: the locks are of an account that no longer holds the number
    """
    if notice.session_id is not None:
        return _record(notice, *_of_session(notice.session_id), clock=clock)
    account = account_of(notice.account_number)
    if owner is not None and owner.pk != account.business_id:
        raise UnknownAccount
    # The account is locked first. PostgreSQL keeps the lock of a session that turns out to have ended, and waiting for
    # a concurrent deactivation of the account while holding that lock could deadlock.
    session = sessions.lock_open(notice.account_number)
    _require_unchanged(notice.account_number, account, session)
    return _record(notice, account, session, clock=clock)


def _of_session(session_id: UUID) -> tuple[VirtualAccount, Session]:
    """Return the account of a session with a shared lock, and the session, locked.

    :raises UnknownAccount: the session was never stored
    """
    account_id = Session.objects.values_list("account_id", flat=True).filter(pk=session_id).first()
    account = accounts.lock_shared(account_id) if account_id else None
    if account is None:
        raise UnknownAccount
    return account, sessions.lock(session_id)


def _record(
    notice: Notice, account: VirtualAccount, session: Session | None, *, clock: Callable[[], datetime]
) -> IdempotentResult[Transfer]:
    now = clock()
    decision = _decide(notice, account, session, now=now)
    ended = _session_to_end(notice, account, session, decision, now=now)
    transfer = _transfer(notice, account, decision, ended, now=now)
    if not insert_if_absent(transfer):
        return _first_of(notice)
    _apply(transfer, ended, now=now)
    return IdempotentResult(transfer, is_replay=False)


def assign(notice: Notice, *, owner: Business, received_at: datetime, now: datetime) -> Transfer:
    """Record a transfer that staff assigned to the holder of a number: unapplied money of its business.

    :raises UnknownAccount: no account of the owner has or had the number
    :raises DuplicateReference: the bank's reference belongs to another transfer
    """
    account = account_of(notice.account_number)
    if account.business_id != owner.pk:
        raise UnknownAccount
    transfer = _transfer(notice, account, Decision(Applied.UNAPPLIED, Reason.ASSIGNED), None, now=received_at)
    if not insert_if_absent(transfer):
        raise other_content()
    _apply(transfer, None, now=now)
    return transfer


def account_of(number: str) -> VirtualAccount:
    """Return the current or last holder of a number, with a shared lock.

    :raises UnknownAccount: no account has or had the number
    """
    found = _NUMBER.find(number)
    account = accounts.lock_shared(found.last_holder_id) if found and found.last_holder_id else None
    if account is None:
        raise UnknownAccount
    return account


def _require_unchanged(number: str, account: VirtualAccount, session: Session | None) -> None:
    """Check that the account still is the number's last holder. An open session holds its number while it is locked.

    :raises NumberReassigned: it is another account by now
    """
    if session is not None:
        is_unchanged = session.account_id == account.pk
    else:
        found = _NUMBER.find(number)
        is_unchanged = found is not None and found.last_holder_id == account.pk
    if not is_unchanged:
        raise NumberReassigned


def _session_to_end(
    notice: Notice, account: VirtualAccount, session: Session | None, decision: Decision, *, now: datetime
) -> Session | None:
    """Return the session that the transfer ends: the open one, or a new one that isn't stored yet."""
    if decision.applied == Applied.NEW_PAYMENT:
        return sessions.paid_at_once(account=account, amount=notice.amount, now=now)
    expected = decision.applied == Applied.SESSION or decision.reason == Reason.MISMATCH
    return session if expected else None


def _decide(notice: Notice, account: VirtualAccount, session: Session | None, *, now: datetime) -> Decision:
    if notice.currency not in {"", account.currency}:
        return Decision(Applied.UNAPPLIED, Reason.OTHER_CURRENCY)
    if session is not None and _is_in_time(session, now=now):
        is_exact = notice.amount == session.expected_amount
        return Decision(Applied.SESSION) if is_exact else Decision(Applied.UNAPPLIED, Reason.MISMATCH)
    if not account.is_static:
        return Decision(Applied.UNAPPLIED, _why_too_late(notice, account))
    if not account.is_active or not account.business.is_active:
        return Decision(Applied.UNAPPLIED, Reason.INACTIVE)
    return Decision(Applied.NEW_PAYMENT)


def _is_in_time(session: Session, *, now: datetime) -> bool:
    """Return whether an open session takes a transfer. A provider accepts none after its own expiry."""
    is_open = session.status == Session.Status.PENDING
    return is_open and (now < session.expires_at or session.provider_account != "")


def _why_too_late(notice: Notice, account: VirtualAccount) -> Transfer.Reason:
    meant_for = {"pk": notice.session_id} if notice.session_id else {"number": notice.account_number}
    last = Session.objects.filter(**meant_for).order_by("-opened_at").first()
    if last is not None and last.status == Session.Status.FAILED and account.is_active:
        return Reason.LATE  # the payment was cancelled
    return Reason.LATE if last is None else _AFTER[Session.Status(last.status)]


_AFTER = {
    Session.Status.PENDING: Reason.LATE,  # expired but not ended yet
    Session.Status.EXPIRED: Reason.LATE,
    Session.Status.SUCCESS: Reason.SECOND,
    Session.Status.MISMATCH: Reason.SECOND,
    Session.Status.FAILED: Reason.INACTIVE,
}


def _transfer(
    notice: Notice, account: VirtualAccount, decision: Decision, ended: Session | None, *, now: datetime
) -> Transfer:
    return Transfer(
        id=new_id(now),
        bank_reference=notice.bank_reference,
        number_id=notice.account_number,
        account=account,
        amount=notice.amount,
        currency=notice.currency or account.currency,
        sender_name=notice.sender_name,
        **_sender_fields(notice),
        narration=notice.narration,
        provider_account=notice.provider_account,
        provider_session=notice.session_id,
        received_at=now,
        applied=decision.applied,
        session=ended,
        reason=decision.reason,
    )


def _sender_fields(notice: Notice) -> dict[str, Any]:
    """Return the sender's account and bank for their columns. Values that are too long become extra members."""
    given = {SENDER_ACCOUNT: notice.sender_account_number, SENDER_BANK: notice.sender_bank_code}
    too_long = {name: value for name, value in given.items() if len(value) > SENDER_COLUMN}
    return {name: "" if name in too_long else value for name, value in given.items()} | {
        "extra_members": too_long | dict(notice.extra_members)
    }


def _apply(transfer: Transfer, ended: Session | None, *, now: datetime) -> None:
    """Apply the transfer as decided."""
    if transfer.applied == Applied.NEW_PAYMENT and ended is not None:
        insert(ended)
    elif ended is not None:
        ended.receive(transfer.amount, now=now)
        sessions.release([ended], now=now)
    if transfer.is_unapplied:
        insert(_unapplied(transfer, now=now))


def _unapplied(transfer: Transfer, *, now: datetime) -> UnappliedMoney:
    return UnappliedMoney(
        id=new_id(now),
        business_id=transfer.account.business_id,
        transfer=transfer,
        amount=transfer.amount,
        currency=transfer.currency,
        created_at=now,
    )


def _first_of(notice: Notice) -> IdempotentResult[Transfer]:
    """Return the transfer that this notice repeats. The first notice decides how it is applied."""
    first = Transfer.objects.select_related("session").get(bank_reference=notice.bank_reference)
    if (first.number_id, first.amount) != (notice.account_number, notice.amount) or notice.currency not in {
        "",
        first.currency,
    }:
        raise other_content()
    return IdempotentResult(first, is_replay=True)


def number_exists(number: str) -> bool:
    """Return whether this is, or ever was, a number of ours."""
    return _NUMBER.find(number) is not None


def is_recorded(bank_reference: str) -> bool:
    """Return whether a transfer with this bank reference has arrived."""
    return bool(Transfer.objects.filter(bank_reference=bank_reference).exists())


def other_content() -> DuplicateReference:
    """Return the error for a bank reference repeated with another account, amount or currency."""
    return DuplicateReference(
        "This bank reference belongs to a transfer with another account number, amount or currency."
    )


_NUMBER = Lookup(AccountNumber, "number")
