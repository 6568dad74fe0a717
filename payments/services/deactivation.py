"""Virtual accounts switched off and on again."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from payments.outcomes import ACCOUNT_DEACTIVATED
from payments.services import finishing
from payments.services.finishing import Cause
from payments.services.intents import lock_of_sessions
from virtual_accounts.models import VirtualAccount
from virtual_accounts.services import accounts, numbers, sessions


def deactivate(account_id: UUID, *, now: datetime) -> VirtualAccount:
    """Let an account accept nothing more; payments that are open on it fail. Again is the same as once."""
    account, was_active = _switch_off(account_id, now=now)
    if was_active:
        numbers.close(account)
    return account


def activate(account_id: UUID) -> VirtualAccount:
    """Let an inactive account accept money again. Payments that failed stay failed."""
    with database.atomic():
        account = accounts.lock(account_id)
        was_active = account.is_active
        if not was_active:
            account.activate()
    if not was_active:
        numbers.reopen(account)
    return account


@database.atomic
def _switch_off(account_id: UUID, *, now: datetime) -> tuple[VirtualAccount, bool]:
    """Deactivate the account; return it, and whether it was active before."""
    account = accounts.lock(account_id)
    if not account.is_active:
        return account, False
    account.deactivate(now=now)
    failed = sessions.fail_open(account, now=now)
    finishing.fail_all(lock_of_sessions(failed), ACCOUNT_DEACTIVATED, cause=Cause.MERCHANT, now=now)
    return account, True
