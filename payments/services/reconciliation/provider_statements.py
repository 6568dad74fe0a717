"""Statements that acquirers and providers offer through their interfaces, read for each day that is over, oldest first."""

import io
from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from typing import NamedTuple

import structlog

from cash import statement_files
from cash.models import BankAccount
from cash.services import imports
from cash.services.imports import Imported, Source
from cash.statement_files import InvalidFile, NotYet
from kit.connectors.connectors import RailUnavailable
from kit.db.one_by_one import one_by_one
from merchants.people.audit import Actor
from payments import rails
from payments.rails.protocol import AnswerLost, RailBlocked, RateLimited
from payments.rules.settlement.business_days import business_day
from payments.services.rails.declared_accounts import same_as
from payments.services.reconciliation import breaks

log = structlog.get_logger("sluice.reconciliation")

ACTOR = Actor(name="schedule")
LONGEST_BACK = timedelta(days=30)  # older days are imported manually
NOT_ANSWERED = (AnswerLost, RateLimited, RailBlocked, RailUnavailable)
NOT_YET = "the provider hasn't paid it out yet."
UNAVAILABLE = "the provider is unavailable. Try again later."


class Unread(NamedTuple):
    """A day whose statement was requested and not imported, and why."""

    day: date
    reason: str


def import_due(*, now: datetime) -> None:
    """Import every day that is over and not imported. A day that can't be read yet keeps later ones waiting."""
    accounts = BankAccount.objects.exclude(kind=BankAccount.Kind.BANK).order_by("name")
    for _ in one_by_one(partial(_import_due_of, now=now), accounts, failure="statements not imported"):
        pass


def _import_due_of(account: BankAccount, *, now: datetime) -> None:
    if offers_statements(account):
        import_days(account, _due(account, now=now), actor=ACTOR, now=now)


def offers_statements(account: BankAccount) -> bool:
    """Return whether the connector of an account is configured, and offers statements.

    Of accounts under a former and the present address, only the one that receives from the connector has them.
    """
    provider, own = statement_files.provider_of(account), account.connector_account
    addresses = same_as(provider, own) if provider in account.receives else {own}
    return bool(provider) and not addresses.isdisjoint(rails.accounts(provider))


def import_day(
    account: BankAccount, day: date, *, actor: Actor, now: datetime, dry_run: bool = False
) -> tuple[list[Imported], int]:
    """Import what a provider reports of a day, as `breaks.import_file` does. Nothing, if it paid nothing.

    With `dry_run`, it is only checked.

    :raises InvalidFile: it contradicts itself
    :raises NotYet: the day isn't complete
    :raises AnswerLost: the provider doesn't answer, and the other errors of its client
    """
    provider = statement_files.provider_of(account)
    content = statement_files.provider(provider).fetch(account, day)
    if content is None:
        return [], 0
    source = Source(file=io.BytesIO(content), name=f"{provider} {day}", format=provider)
    if dry_run:
        return imports.import_file(account, source, actor=actor, now=now, dry_run=True), 0
    return breaks.import_file(account, source, actor=actor, now=now)


def import_days(account: BankAccount, days: Iterable[date], *, actor: Actor, now: datetime) -> Unread | None:
    """Import days in their order, up to the first that can't be read, and return that one."""
    for day in days:
        try:
            import_day(account, day, actor=actor, now=now)
        except NotYet:
            return Unread(day, NOT_YET)
        except NOT_ANSWERED as reason:
            log.warning(
                "statement not read", account=account.name, day=str(day), reason=type(reason).__name__
            )
            return Unread(day, UNAVAILABLE)
        except InvalidFile as refused:
            log.error("statement refused", account=account.name, day=str(day), reason=str(refused))  # noqa: TRY400  (logged)
            return Unread(day, str(refused))
    return None


def import_missing(
    account: BankAccount, first: date, last: date, *, actor: Actor, now: datetime
) -> Unread | None:
    """Import the days of a period that are over and have no statement, as `import_days` does. None is before the first one."""
    stored = list(account.statements.values_list("first_day", "last_day"))
    first = max(first, min((begins for begins, _ in stored), default=first))
    period = (first + timedelta(days=each) for each in range((last - first).days + 1))
    over = (day for day in period if day < business_day(now))
    missing = (day for day in over if not any(begins <= day <= ends for begins, ends in stored))
    return import_days(account, missing, actor=actor, now=now)


def _due(account: BankAccount, *, now: datetime) -> Iterator[date]:
    last, today = imports.last_statement(account), business_day(now)
    first = last.last_day + timedelta(days=1) if last else business_day(account.created_at)
    first = max(first, today - LONGEST_BACK)
    return (first + timedelta(days=each) for each in range((today - first).days))
