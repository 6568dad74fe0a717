"""Payouts from a merchant's wallet to a bank account."""

from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any

from django.conf import settings
from django.db import transaction as database

from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from ledger import services as ledger
from merchants.models import Business
from payments.models import Transaction
from payments.rails.protocol import PayoutBank
from payments.rules.outcomes import WALLET_TOO_LOW
from payments.services import ledger_entries, transitions
from payments.services.intents import open_intent, order_fields
from payments.services.rails.rail_choices import bank_for, columns
from payments.services.rails.rail_orders import payout_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import require_payout
from payments.services.refunds import refund_cover
from payments.services.transitions import Cause, call_rail


def start(
    *, business: Business, request: dict[str, Any], fingerprint: Fingerprint, now: datetime
) -> IdempotentResult[Transaction]:
    """Start a payout: store the intent, debit the wallet, call the bank, apply its answer.

    Without an answer it stays pending. If the wallet must cover payouts and doesn't, it fails with 20051 without a
    call to the bank.

    :raises NotSupported: the bank can never do what the request asks for; nothing was stored
    :raises RailUnavailable: no bank is configured, or it is unavailable or blocked
    """
    require_payout(business, request)
    bank = bank_for(business)
    intent = _accept(business=business, request=request, fingerprint=fingerprint, bank=bank, now=now)
    if intent.is_replay or intent.resource.awaiting != Transaction.Awaiting.RAIL:
        return intent  # the wallet didn't cover it, or it is a replay
    send = partial(bank.send, payout_order(intent.resource))
    return replace(intent, resource=call_rail(intent.resource, send, cause=Cause.RAIL))


@database.atomic
def _accept(
    *,
    business: Business,
    request: dict[str, Any],
    fingerprint: Fingerprint,
    bank: PayoutBank,
    now: datetime,
) -> IdempotentResult[Transaction]:
    customer = request["customer"]
    intent = open_intent(
        business=business,
        fingerprint=fingerprint,
        **columns(bank),
        now=now,
        request_type=Transaction.RequestType.PAYOUT,
        method=Transaction.Method.BANK,
        account_number=customer["account_number"],
        bank_code=customer["bank_code"],
        **order_fields(request),
    )
    if not intent.is_replay:
        # If it raises, the intent is rolled back. A replay is answered even while the bank is blocked.
        rail_blocks.require_open(bank, currency=request["currency"], amount=request["amount"], now=now)
        _take_from_wallet(intent.resource, now=now)
    return intent


def _take_from_wallet(transaction: Transaction, *, now: datetime) -> None:
    """Debit amount and fee from the wallet, or fail the payout if the balance is required and too low."""
    fee = transitions.fee_of(transaction, captured=0)
    booking = ledger_entries.payout_accepted(
        transaction, fee=fee, is_covered=settings.PAYOUT_REQUIRES_BALANCE, now=now
    )
    try:
        ledger.book(booking, reserved=lambda: refund_cover.reserved(transaction))
    except ledger.InsufficientFunds:
        transitions.finish(transaction, WALLET_TOO_LOW, cause=Cause.FUNDING, now=now)
