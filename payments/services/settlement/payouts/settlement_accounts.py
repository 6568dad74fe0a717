"""Changes of a business's settlement account: each waits, and can be stopped meanwhile.

A stolen session could otherwise send the settlements elsewhere. So the first account waits like a change, and a
second owner confirms where there are two. Lock order: account, change.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction as database

from kit import banks
from kit.db.one_by_one import one_by_one
from kit.time.time_ordered_ids import new_id
from merchants.models import Business, Member, User
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, SettlementAccount, SettlementAccountChange
from payments.services.payouts import name_enquiries
from payments.services.settlement.payouts import settlement_notices

State = SettlementAccountChange.State
TIMER = Actor(name="timer")
ACCOUNT = ("bank_code", "account_number", "account_name")


class NotOpen(InvalidState):
    default_detail = "This change was already applied or stopped."


class NeedsAnotherOwner(InvalidState):
    default_detail = "Another owner must confirm this change."


def account_of(business: Business, currency: str) -> SettlementAccount:
    """Return the settlement account of a business in a currency, not stored if it has none."""
    found = SettlementAccount.objects.filter(business=business, currency=currency).first()
    return found or SettlementAccount(business=business, currency=currency)


def currencies_of(business: Business) -> list[str]:
    """Return the currencies of a business that payouts can be sent in."""
    return [each for each in business.currencies if each in banks.currencies()]


def open_change_of(account: SettlementAccount) -> SettlementAccountChange | None:
    """Return the change that waits."""
    return (
        SettlementAccountChange.objects.filter(account=account.pk, state=State.OPEN)
        .select_related("made_by", "confirmed_by")
        .first()
    )


def lock(account_id: int) -> SettlementAccount:
    """Return a settlement account, locked until the database transaction ends."""
    locked = SettlementAccount.objects.select_for_update(of=("self",)).select_related("business")
    return locked.get(pk=account_id)


def lock_or_open(business: Business, currency: str, *, now: datetime) -> SettlementAccount:
    """Return a business's row in a currency, locked until the database transaction ends. It may have no account yet."""
    row, _ = SettlementAccount.objects.get_or_create(
        business=business, currency=currency, defaults={"created_at": now}
    )
    return lock(row.pk)


def change(
    *, business: Business, bank_code: str, account_number: str, user: User, actor: Actor, now: datetime
) -> SettlementAccountChange:
    """Ask the bank for the holder's name, and store a change that waits. It replaces an earlier one.

    Calls the bank, so call it outside a database transaction.

    :raises UnknownBeneficiary: the bank has no such account; nothing was stored
    :raises RailUnavailable: the bank can't be asked now; nothing was stored
    :raises InvalidState: it is the settlement account already, or not in a currency of the business
    """
    currency, wanted = _asked(business, bank_code, account_number)
    return _open(business, currency, wanted, user=user, actor=actor, now=now)


def take_first(
    business: Business, *, bank_code: str, account_number: str, actor: Actor, now: datetime
) -> SettlementAccount:
    """Return the settlement account in a bank's currency. Without one, the given account becomes it at once, in the sandbox.

    Calls the bank, so call it outside a database transaction.

    :raises UnknownBeneficiary: the bank has no such account; nothing was stored
    :raises RailUnavailable: the bank can't be asked now; nothing was stored
    :raises InvalidState: it is not in a currency of the business, or a change waits for another owner
    """
    currency, wanted = _asked(business, bank_code, account_number)
    with database.atomic():
        account = lock_or_open(business, currency, now=now)
        if account.is_set:
            return account
        if open_change_of(account) is not None:
            raise NeedsAnotherOwner
        opened = SettlementAccountChange.objects.create(
            id=new_id(now),
            account=account,
            **wanted,
            state=State.APPLIED,
            needs_second_owner=False,
            created_at=now,
            applies_at=now,
            decided_at=now,
        )
        _apply(opened, account, actor=actor, now=now)
    return account


def _asked(business: Business, bank_code: str, account_number: str) -> tuple[str, dict[str, str]]:
    """Ask the bank for the holder's name of an account. Returns its currency, and its columns."""
    bank = banks.find(bank_code)
    if bank is None or bank.currency not in business.currencies:
        raise InvalidState("Choose a bank in a currency of your business.")
    name = name_enquiries.account_name(business=business, bank_code=bank.code, account_number=account_number)
    return bank.currency, {
        "bank_code": bank.code,
        "account_number": account_number,
        "account_name": name[:255],
    }


@database.atomic
def _open(
    business: Business, currency: str, wanted: dict[str, str], *, user: User, actor: Actor, now: datetime
) -> SettlementAccountChange:
    account = lock_or_open(business, currency, now=now)
    if (account.bank_code, account.account_number) == (wanted["bank_code"], wanted["account_number"]):
        raise InvalidState("This is your settlement account already.")
    earlier = SettlementAccountChange.objects.filter(account=account, state=State.OPEN)
    earlier.update(state=State.STOPPED, stopped_by=user, decided_at=now)
    opened = SettlementAccountChange.objects.create(
        id=new_id(now),
        account=account,
        **wanted,
        needs_second_owner=owners_of(business).exclude(user=user).exists(),
        made_by=user,
        created_at=now,
        applies_at=now + timedelta(hours=settings.SETTLEMENT_ACCOUNT_COOLING),
    )
    record(
        "settlement_account.change_asked", account, before=_shown(account), after=wanted, actor=actor, now=now
    )
    database.on_commit(partial(settlement_notices.mail_change, opened))
    return opened


@database.atomic
def confirm(change_id: UUID, *, user: User, actor: Actor, now: datetime) -> SettlementAccountChange:
    """Confirm a change as a second owner. It applies when its wait is over.

    :raises NotOpen: it was applied or stopped
    :raises NeedsAnotherOwner: the user has made it, or is no owner
    """
    found, account = _lock_open(change_id)
    if found.made_by_id == user.pk or not owners_of(account.business).filter(user=user).exists():
        raise NeedsAnotherOwner
    if found.confirmed_by_id is None:
        found.confirmed_by = user
        found.save(update_fields=["confirmed_by"])
        after = _shown(found)
        record("settlement_account.change_confirmed", account, after=after, actor=actor, now=now)
    if found.applies_at <= now:
        _apply(found, account, actor=actor, now=now)
    return found


@database.atomic
def stop(change_id: UUID, *, user: User, actor: Actor, now: datetime) -> None:
    """Stop a change that waits.

    :raises NotOpen: it was applied or stopped
    """
    found, account = _lock_open(change_id)
    found.state, found.stopped_by, found.decided_at = State.STOPPED, user, now
    found.save(update_fields=["state", "stopped_by", "decided_at"])
    record("settlement_account.change_stopped", account, before=_shown(found), actor=actor, now=now)


def due(*, now: datetime) -> list[UUID]:
    """Return the changes whose wait is over, without those that another owner must confirm."""
    waiting = SettlementAccountChange.objects.filter(state=State.OPEN, applies_at__lte=now)
    unconfirmed = waiting.filter(needs_second_owner=True, confirmed_by=None)
    return list(waiting.exclude(pk__in=unconfirmed.values("pk")).values_list("pk", flat=True))


def apply_due(*, now: datetime) -> int:
    """Apply the changes whose wait is over. Returns how many this call has applied."""
    applied = one_by_one(partial(_apply_one, now=now), due(now=now), failure="settlement account not changed")
    return sum(filter(None, applied))


@database.atomic
def _apply_one(change_id: UUID, *, now: datetime) -> bool:
    try:
        found, account = _lock_open(change_id)
    except NotOpen:
        return False  # another process was first
    if found.applies_at > now or found.awaits_owner:
        return False
    _apply(found, account, actor=TIMER, now=now)
    return True


@database.atomic
def end_wait(account: SettlementAccount, *, actor: Actor, now: datetime) -> bool:
    """End the wait of an account's open change now, in the sandbox. Returns whether there was one."""
    found = open_change_of(account)
    if found is None:
        return False
    locked, account = _lock_open(found.pk)
    locked.applies_at = min(locked.applies_at, now)
    locked.save(update_fields=["applies_at"])
    if not locked.awaits_owner:
        _apply(locked, account, actor=actor, now=now)
    return True


def _lock_open(change_id: UUID) -> tuple[SettlementAccountChange, SettlementAccount]:
    """:raises NotOpen: it was applied or stopped"""
    account = lock(SettlementAccountChange.objects.values_list("account", flat=True).get(pk=change_id))
    found = SettlementAccountChange.objects.select_for_update().get(pk=change_id)
    if found.state != State.OPEN:
        raise NotOpen
    return found, account


def _apply(
    found: SettlementAccountChange, account: SettlementAccount, *, actor: Actor, now: datetime
) -> None:
    """Make the account of a change the settlement account. A pause ends, because it was about the account before."""
    before, after = _shown(account), _shown(found)
    for name, value in after.items():
        setattr(account, name, value)
    account.since, account.failures_since, account.next_attempt_at = now, now, None
    account.paused_at, account.pause_reason = None, ""
    account.save()
    found.state, found.decided_at = State.APPLIED, now
    found.save(update_fields=["state", "decided_at"])
    record("settlement_account.changed", account, before=before, after=after, actor=actor, now=now)


def owners_of(business: Business) -> Any:
    """Return the owners whose accounts aren't closed."""
    return Member.objects.active(business, [Member.Role.OWNER])


def _shown(row: SettlementAccount | SettlementAccountChange) -> dict[str, Any]:
    return {name: getattr(row, name) for name in ACCOUNT}


def record(
    action: str,
    account: SettlementAccount,
    *,
    actor: Actor,
    now: datetime,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Add an action on a settlement account to the audit trail."""
    audit.record(
        action=action,
        actor=actor,
        business=account.business,
        target=account.currency,
        before=_in_words(before or {}),
        after=_in_words(after or {}),
        now=now,
    )


def _in_words(values: dict[str, Any]) -> dict[str, Any]:
    """Return an account as the activity shows it: with its bank instead of the bank's code."""
    rest = {name: value for name, value in values.items() if name != "bank_code"}
    return {"bank": banks.name_of(values["bank_code"]), **rest} if "bank_code" in values else rest
