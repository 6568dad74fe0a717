"""Schedules of settlement payouts: what owners set, the days on which they pay, and pauses."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date, datetime, timedelta
from typing import Any

from django.db import transaction as database

from kit.db.rows.columns import save_columns
from kit.money.money import money
from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import Holiday, InvalidState, SettlementAccount
from payments.rules.settlement import business_days, payout_days
from payments.services.settlement.payouts.settlement_accounts import lock, lock_or_open, record

MADE_UP_WITHIN = timedelta(days=60)  # a closed weekday is made up on the next open day


@database.atomic
def change(
    *, business: Business, currency: str, actor: Actor, now: datetime, **values: Any
) -> SettlementAccount:
    """Change when and how much is paid out, by the names of the columns."""
    account = lock_or_open(business, currency, now=now)
    changed = {name: value for name, value in values.items() if value != getattr(account, name)}
    if changed:
        before = _in_words(account, changed)
        save_columns(account, **changed)
        after = _in_words(account, changed)
        record("settlement_payouts.changed", account, before=before, after=after, actor=actor, now=now)
    return account


def _in_words(account: SettlementAccount, names: Iterable[str]) -> dict[str, str]:
    """Return settings as the activity shows them."""
    words = {
        "pays": account.get_pays_display(),
        "weekday": account.weekday_name,
        "minimum": money(account.minimum, account.currency),
        "stays": money(account.stays, account.currency),
    }
    return {name: words[name] for name in names}


@database.atomic
def resume(account_id: int, *, actor: Actor, now: datetime) -> None:
    """End a pause. Earlier failures don't count any more.

    :raises InvalidState: payouts aren't paused
    """
    account = lock(account_id)
    if account.paused_at is None:
        raise InvalidState("Automatic payouts aren't paused.")
    before = {"reason": account.pause_reason}
    save_columns(account, paused_at=None, pause_reason="", failures_since=now, next_attempt_at=None)
    record("settlement_payouts.resumed", account, before=before, after={}, actor=actor, now=now)


def pause(account: SettlementAccount, reason: str, *, actor: Actor, now: datetime) -> None:
    """Pause the schedule of a locked account."""
    save_columns(account, paused_at=now, pause_reason=reason[:255], next_attempt_at=None)
    record("settlement_payouts.paused", account, before={}, after={"reason": reason}, actor=actor, now=now)


def try_again(account: SettlementAccount, *, at: datetime) -> None:
    """Have the schedule of a locked account try again, on whatever day that is."""
    save_columns(account, next_attempt_at=at)


def is_due(account: SettlementAccount, *, now: datetime) -> bool:
    """Return whether the schedule of an account pays on this day, or tries again."""
    if account.pays == SettlementAccount.Pays.NEVER or account.paused_at is not None:
        return False
    today = business_days.business_day(now)
    holidays = Holiday.days_of(account.currency, since=today - MADE_UP_WITHIN)
    if account.next_attempt_at is not None:
        return account.next_attempt_at <= now and payout_days.is_open(today, holidays)
    return payout_days.is_payout_day(today, account.weekday, holidays)


def next_day(account: SettlementAccount, *, now: datetime) -> date | None:
    """Return the next day on which the schedule pays, today included. None: it doesn't."""
    if account.pays == SettlementAccount.Pays.NEVER or account.paused_at is not None:
        return None
    today = business_days.business_day(now)
    return payout_days.next_payout_day(
        today, account.weekday, Holiday.days_of(account.currency, since=today - MADE_UP_WITHIN)
    )
