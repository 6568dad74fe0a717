"""Apply what a provider says about a static account that it was asked to open."""

from uuid import UUID

from django.db import transaction as database

from kit.db.clock import database_now
from payments.services.events import opt_in_events
from virtual_accounts.models import VirtualAccount
from virtual_accounts.providers.protocol import OpenedAccount, OpeningRefused, Pending
from virtual_accounts.services import account_openings, accounts
from virtual_accounts.services.provider_messages import Again


@database.atomic
def apply(account_id: UUID, answer: OpenedAccount | Pending | OpeningRefused) -> Again | None:
    """Store an account's number or its refusal, with the event. Return whether the provider must be asked again."""
    if isinstance(answer, Pending):
        return Again(answer.reason, is_answer=answer.is_answer)
    account = accounts.lock(account_id)
    if account.opening != VirtualAccount.Opening.PENDING:
        return None
    now = database_now()
    if isinstance(answer, OpeningRefused):
        account.fail_opening()
    elif why_not := account_openings.store(account, answer):
        return Again(why_not)
    if account.is_active or not account.is_opened:  # not if it was deactivated meanwhile
        opt_in_events.publish_opening(account, now=now)
    return None
