"""Deactivate and reactivate virtual accounts. The account provider is notified later, from the outbox."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from merchants.people import audit
from merchants.people.audit import Actor
from payments.rules.outcomes import ACCOUNT_DEACTIVATED
from payments.services.transactions import transitions
from payments.services.transactions.intents import lock_of_sessions
from payments.services.transactions.transitions import Cause
from virtual_accounts.models import ProviderMessage, VirtualAccount
from virtual_accounts.services import accounts, provider_messages, sessions


@database.atomic
def deactivate(account_id: UUID, *, now: datetime, actor: Actor | None = None) -> VirtualAccount:
    """Deactivate an account and fail its open payments. Idempotent.

    A change by a person is audited. Calls with an API key are in the request log.
    """
    account = accounts.lock(account_id)
    if account.is_active or (account.is_opening and account.deactivated_at is None):
        account.deactivate(now=now)
        _record("virtual_account.deactivated", account, actor=actor, now=now)
        failed = sessions.fail_open(account, now=now)
        transitions.fail_all(lock_of_sessions(failed), ACCOUNT_DEACTIVATED, cause=Cause.MERCHANT, now=now)
        provider_messages.write(account, ProviderMessage.Kind.CLOSE, now=now)
    return account


@database.atomic
def activate(account_id: UUID, *, now: datetime, actor: Actor | None = None) -> VirtualAccount:
    """Reactivate an inactive account. Its failed payments stay failed."""
    account = accounts.lock(account_id)
    if not account.is_active:
        account.activate()
        _record("virtual_account.activated", account, actor=actor, now=now)
        provider_messages.write(account, ProviderMessage.Kind.REOPEN, now=now)
    return account


def _record(action: str, account: VirtualAccount, *, actor: Actor | None, now: datetime) -> None:
    if actor is not None:
        audit.record(action=action, actor=actor, business=account.business, target=account.reference, now=now)
