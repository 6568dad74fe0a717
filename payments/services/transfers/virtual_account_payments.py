"""Payments into virtual accounts: the payer gets an account number, and the payment awaits the transfer."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cache, partial
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction as database
from rest_framework.exceptions import ValidationError

from kit.api.fields.field_errors import error
from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from kit.connectors.connectors import ConnectorUnavailable
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from payments.models import InvalidState, Transaction
from payments.rails.protocol import AnswerLost
from payments.services.links.link_uses import Attempt
from payments.services.rails.required_capabilities import require_transfer_payment
from payments.services.transactions import expiry
from payments.services.transactions.intents import find_of, open_intent, order_fields
from virtual_accounts.models import Session, VirtualAccount
from virtual_accounts.providers import account_opener
from virtual_accounts.providers.protocol import OpenedSession, SessionOrder
from virtual_accounts.services import accounts, number_pool, sessions
from virtual_accounts.services.number_pool import NumberTaken

log = structlog.get_logger("sluice.provider_transfers")


class SessionOpen(InvalidState):
    """A static account has one number, so it can expect only one payment at a time."""

    default_detail = (
        "A payment into this static account is open. Wait until it has finished, or use a dynamic account."
    )


def start(
    *,
    business: Business,
    request: dict[str, Any],
    fingerprint: Fingerprint,
    now: datetime,
    attempt: Attempt | None = None,
) -> IdempotentResult[Transaction]:
    """Start a payment into a virtual account. It is pending until the transfer arrives or the session expires.

    `attempt` is the attempt at a payment link that it is, if any.

    :raises AttemptNotBegun: the attempt can't begin; nothing was stored
    :raises ValidationError: the business has no such account, or it can't accept the payment
    :raises SessionOpen: the account is static and already expects a payment
    :raises NotSupported: the hosting bank can never do what the request asks for; nothing was stored
    :raises RailUnavailable: no hosting bank is configured, or the provider of the account didn't open a session
    """
    account = cache(partial(_account, business, request))
    require_transfer_payment(request, is_dynamic=lambda: _is_dynamic(account()))
    opening = partial(
        _open,
        business=business,
        request=request,
        fingerprint=fingerprint,
        now=now,
        attempt=attempt,
        at_provider=_open_at_provider(account, request, now=now),
    )
    try:
        return number_pool.with_numbers(opening, now=now)
    except SessionOpen:
        if not expiry.expire_session_of(UUID(request["payment_method_id"]), now=now):
            raise
        return number_pool.with_numbers(opening, now=now)


@dataclass(frozen=True, slots=True)
class AtProvider:
    """A session that a provider has opened. If it isn't stored, its number is never shown, so no money arrives there."""

    id: UUID
    opened: OpenedSession
    provider_account: str


def _account(business: Business, request: dict[str, Any]) -> VirtualAccount | None:
    """Return the account that a request names, without a lock."""
    key = _key(request)
    return VirtualAccount.objects.of(business).filter(pk=key).first() if key else None


def _is_dynamic(account: VirtualAccount | None) -> bool:
    return account is not None and not account.is_static


def _open_at_provider(
    find_account: Callable[[], VirtualAccount | None], request: dict[str, Any], *, now: datetime
) -> AtProvider | None:
    """Have a provider open the session of a new payment into a dynamic account. None if the number is of the pool.

    :raises RailUnavailable: the provider didn't answer, or refuses
    """
    opener = account_opener()
    if opener is None:
        return None
    account = find_account()
    if account is None or account.is_static or not account.is_active:
        return None
    if account.currency != request["currency"] or find_of(account.business, request["reference"]):
        return None
    if not opener.is_available():
        raise ConnectorUnavailable
    session_id = new_id(now)
    order = SessionOrder(
        id=session_id,
        account_id=account.pk,
        amount=request["amount"],
        currency=request["currency"],
        expires_at=now + timedelta(seconds=request["expiry_duration"]),
    )
    try:
        opened = opener.open_session(order)
    except AnswerLost as lost:
        log.warning("session not opened", account=str(account.pk), error=type(lost).__name__)
        raise ConnectorUnavailable from None
    return AtProvider(session_id, opened, opener.account)


@database.atomic
def _open(
    *,
    business: Business,
    request: dict[str, Any],
    fingerprint: Fingerprint,
    now: datetime,
    attempt: Attempt | None,
    at_provider: AtProvider | None,
) -> IdempotentResult[Transaction]:
    """Create the payment and its session. Locks the account, so that a concurrent deactivation sees the session."""
    account = _usable_account(business, request)
    if account is None:
        return _replayed(business, request["reference"])
    session_id = at_provider.id if at_provider else new_id(now)
    intent = open_intent(
        business=business,
        fingerprint=fingerprint,
        now=now,
        attempt=attempt,
        request_type=Transaction.RequestType.PAYMENT,
        method=Transaction.Method.VIRTUAL_ACCOUNT,
        awaiting=Transaction.Awaiting.TRANSFER,
        next_query_at=None,
        session_id=session_id,
        **order_fields(request),
    )
    if not intent.is_replay:
        intent.resource.session = _session(session_id, account, request, at_provider, now=now)
    return intent


def _session(
    session_id: UUID,
    account: VirtualAccount,
    request: dict[str, Any],
    at_provider: AtProvider | None,
    *,
    now: datetime,
) -> Session:
    """Store the session of a new payment.

    :raises SessionOpen: the account is static and already expects a payment
    :raises ConnectorUnavailable: the provider names a number that another account holds
    """
    if at_provider is not None:
        try:
            return sessions.open_at_provider(
                session_id,
                account=account,
                amount=request["amount"],
                opened=at_provider.opened,
                provider_account=at_provider.provider_account,
                now=now,
            )
        except NumberTaken:
            log.error("number of another account", session=session_id.hex)  # noqa: TRY400  (the message is enough)
            raise ConnectorUnavailable from None
    session = sessions.open_session(
        session_id,
        account=account,
        amount=request["amount"],
        lifetime=timedelta(seconds=request["expiry_duration"]),
        now=now,
    )
    if session is None:
        raise SessionOpen
    return session


def _usable_account(business: Business, request: dict[str, Any]) -> VirtualAccount | None:
    key = _key(request)
    account = accounts.lock_shared(key) if key else None
    if account is None or account.business_id != business.pk or not account.is_active:
        return None
    return account if account.currency == request["currency"] else None


def _key(request: dict[str, Any]) -> UUID | None:
    try:
        return UUID(request["payment_method_id"])
    except ValueError:
        return None


def _replayed(business: Business, reference: str) -> IdempotentResult[Transaction]:
    """Return the payment with the reference, even if its account is no longer usable.

    :raises ValidationError: there is none, and a new payment needs a usable account
    """
    existing = find_of(business, reference)
    if existing is None:
        message = "This isn't one of your active virtual accounts, or it uses another currency."
        raise ValidationError({"payment_method_id": error(message, "invalid_payment_method")})
    return IdempotentResult(existing, is_replay=True)
