"""Payments into virtual accounts: the payer gets an account number, and the payment awaits the transfer."""

from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction as database
from rest_framework.exceptions import ValidationError

from kit.api.fields.field_errors import error
from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from payments.models import InvalidState, Transaction
from payments.services import expiry
from payments.services.intents import find_of, open_intent, order_fields
from payments.services.links.link_uses import Attempt
from payments.services.rails.required_capabilities import require_transfer_payment
from virtual_accounts.models import VirtualAccount
from virtual_accounts.services import accounts, number_pool, sessions


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
    :raises RailUnavailable: no hosting bank is configured
    """
    require_transfer_payment(request)
    opening = partial(
        _open, business=business, request=request, fingerprint=fingerprint, now=now, attempt=attempt
    )
    try:
        return number_pool.with_numbers(opening, now=now)
    except SessionOpen:
        if not expiry.expire_session_of(UUID(request["payment_method_id"]), now=now):
            raise
        return number_pool.with_numbers(opening, now=now)


@database.atomic
def _open(
    *,
    business: Business,
    request: dict[str, Any],
    fingerprint: Fingerprint,
    now: datetime,
    attempt: Attempt | None,
) -> IdempotentResult[Transaction]:
    """Create the payment and its session. Locks the account, so that a concurrent deactivation sees the session."""
    account = _usable_account(business, request)
    if account is None:
        return _replayed(business, request["reference"])
    session_id = new_id(now)
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
        intent.resource.session = sessions.open_session(
            session_id,
            account=account,
            amount=request["amount"],
            lifetime=timedelta(seconds=request["expiry_duration"]),
            now=now,
        )
        if intent.resource.session is None:
            raise SessionOpen
    return intent


def _usable_account(business: Business, request: dict[str, Any]) -> VirtualAccount | None:
    try:
        account = accounts.lock_shared(UUID(request["payment_method_id"]))
    except ValueError:
        return None
    if account is None or account.business_id != business.pk or not account.is_active:
        return None
    return account if account.currency == request["currency"] else None


def _replayed(business: Business, reference: str) -> IdempotentResult[Transaction]:
    """Return the payment with the reference, even if its account is no longer usable.

    :raises ValidationError: there is none, and a new payment needs a usable account
    """
    existing = find_of(business, reference)
    if existing is None:
        message = "This isn't one of your active virtual accounts, or it uses another currency."
        raise ValidationError({"payment_method_id": error(message, "invalid_payment_method")})
    return IdempotentResult(existing, is_replay=True)
