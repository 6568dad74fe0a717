"""Transfers that a provider notifies: it is asked about each, and only its answer changes something.

The same question ends a session that the provider opened: it is asked when the session expires by our clock, so that
money which has arrived counts. Wrong and late amounts are sent back by the provider itself.
"""

from datetime import datetime
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction as database

from kit.api.replays import DuplicateReference
from kit.db.clock import database_now
from kit.text.ids import read_id
from payments.rules.outcomes import TRANSFER_EXPIRED, another_amount
from payments.services.transactions import transitions
from payments.services.transactions.intents import lock_of_session
from payments.services.transactions.transitions import Cause
from payments.services.transfers import incoming
from virtual_accounts.models import UNKNOWN_SENDER, Session, VirtualAccount
from virtual_accounts.providers import RailUnavailable, account_opener
from virtual_accounts.providers.protocol import ProviderTransfer
from virtual_accounts.services import sessions
from virtual_accounts.services.account_openings import OTHER_ACCOUNT
from virtual_accounts.services.provider_messages import Again
from virtual_accounts.services.transfer_matching import Notice, number_exists

log = structlog.get_logger("sluice.provider_transfers")

NOT_FOUND = "The provider doesn't find the transfer."
NOT_ARRIVED_YET = "The provider says that the transfer has not arrived yet."
NO_NUMBER_YET = "The account has no number yet."
SENDER_BANK_NAME = "sender_bank"


class AnotherAccount(RailUnavailable):
    """The settings name another account of the provider than the one that took the transfer."""

    default_detail = OTHER_ACCOUNT


def ask(subject: str, *, provider_account: str) -> ProviderTransfer | None:
    """Ask the provider what became of a transfer. Needs no database.

    :raises RailUnavailable: no provider is configured, or for another account
    """
    opener = account_opener()
    if opener is None or opener.account != provider_account:
        raise AnotherAccount
    return opener.find_transfer(subject)


def apply(subject: str, told: ProviderTransfer | None, *, was_rejected: bool) -> Again | None:
    """Apply what the provider says, and return whether it must be asked again. Idempotent."""
    session_id = told.session_id if told else read_id(subject)
    session = Session.objects.filter(pk=session_id).select_related("number").first() if session_id else None
    if told is not None and told.has_arrived:
        return _receive(told, session)
    if session is not None:
        return _end(session.pk, was_rejected=was_rejected)
    if told is None:
        return Again(NOT_FOUND)
    return None if told.has_failed or was_rejected else Again(NOT_ARRIVED_YET)


def _receive(told: ProviderTransfer, session: Session | None) -> Again | None:
    """Record a transfer that has arrived: for its session, or for the static account that has the number.

    For a session that was never stored, such as one whose opening wasn't answered, it is unclaimed.
    """
    number = session.number_id if session else told.account_number
    is_known = session is not None or (told.session_id is None and number_exists(number))
    if not is_known:
        opened_for = VirtualAccount.objects.filter(pk=told.opened_for).first() if told.opened_for else None
        if opened_for is None:
            return None  # another program uses the same account at the provider
        if opened_for.opening == VirtualAccount.Opening.PENDING:
            return Again(NO_NUMBER_YET)
        number = number or opened_for.account_number
    if told.session_id is not None and session is None:
        log.error("transfer to a session that was never shown", transfer=told.bank_reference)
    try:
        incoming.receive_notification(_notice(told, number))
    except DuplicateReference:
        log.error("a transfer differs from what was told before", transfer=told.bank_reference)  # noqa: TRY400
    return None


def _notice(told: ProviderTransfer, number: str) -> Notice:
    opener: Any = account_opener()
    return Notice(
        bank_reference=told.bank_reference,
        account_number=number,
        session_id=told.session_id,
        provider_account=opener.account if opener else "",
        amount=told.amount,
        currency=told.currency,
        sender_name=told.sender_name or UNKNOWN_SENDER,
        sender_account_number=told.sender_account_number,
        narration=told.narration,
        extra_members={SENDER_BANK_NAME: told.sender_bank} if told.sender_bank else {},
    )


@database.atomic
def _end(session_id: UUID, *, was_rejected: bool) -> Again | None:
    """End a session without money: another amount was sent back, or its time is over. Otherwise it goes on."""
    session = sessions.lock(session_id)
    if session.status != Session.Status.PENDING:
        return None
    now = database_now()
    if was_rejected:
        _reject(session, now=now)
    elif session.expires_at <= now:
        _expire(session, now=now)
    else:
        return Again(at=session.expires_at)
    return None


def _reject(session: Session, *, now: datetime) -> None:
    payment = lock_of_session(session)
    sessions.reject(session, now=now)
    outcome = another_amount(expected=session.expected_amount, currency=session.currency)
    transitions.finish(payment, outcome, cause=Cause.TRANSFER, now=now)


def _expire(session: Session, *, now: datetime) -> None:
    payment = lock_of_session(session)
    sessions.expire_one(session, now=now)
    transitions.fail_all([payment], TRANSFER_EXPIRED, cause=Cause.EXPIRY, now=now)
