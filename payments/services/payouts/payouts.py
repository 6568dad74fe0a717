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
from payments.rules.fees import Snapshot
from payments.rules.outcomes import WALLET_TOO_LOW
from payments.services import ledger_entries
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls import acceptance
from payments.services.payouts.controls.acceptance import ReleasedSet
from payments.services.payouts.controls.makers import NO_MAKER, Maker
from payments.services.rails.rail_choices import bank_for, columns
from payments.services.rails.rail_orders import payout_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.rails.required_capabilities import require_payout
from payments.services.refunds import refund_cover
from payments.services.transactions import transitions
from payments.services.transactions.intents import FIRST_QUERY_AFTER, open_intent, order_fields
from payments.services.transactions.transitions import Cause, call_rail


def start(
    *,
    business: Business,
    request: dict[str, Any],
    fingerprint: Fingerprint,
    now: datetime,
    maker: Maker = NO_MAKER,
    released: ReleasedSet | None = None,
) -> IdempotentResult[Transaction]:
    """Start a payout: store the intent, debit the wallet, call the bank, apply its answer.

    Without an answer it stays pending. If the wallet must cover payouts and doesn't, it fails with 20051 without a
    call to the bank. It may wait for approval or for the business's server before the call (`waiting_payouts`).
    `released` is the set of payouts that it belongs to.

    :raises UnknownReference: it names no beneficiary of the business; nothing was stored
    :raises BeneficiaryBlocked: the account is blocked; nothing was stored
    :raises NotSupported: the bank can never do what the request asks for; nothing was stored
    :raises PayoutLimitReached: it is over a limit of the business; nothing was stored
    :raises PayoutsFrozen: staff have frozen the payouts of the business; nothing was stored
    :raises RailUnavailable: no bank is configured, or it is unavailable or blocked
    """
    request = beneficiaries.with_account(business, request, now=now)
    require_payout(business, request)
    bank = bank_for(business)
    intent = accept(
        business=business,
        request=request,
        fingerprint=fingerprint,
        bank=bank,
        now=now,
        maker=maker,
        released=released,
    )
    if intent.is_replay or intent.resource.awaiting != Transaction.Awaiting.RAIL:
        return intent  # the wallet didn't cover it, it waits, or it is a replay
    send = partial(bank.send, payout_order(intent.resource))
    return replace(intent, resource=call_rail(intent.resource, send, cause=Cause.RAIL))


@database.atomic
def accept(
    *,
    business: Business,
    request: dict[str, Any],
    fingerprint: Fingerprint,
    bank: PayoutBank,
    now: datetime,
    maker: Maker = NO_MAKER,
    released: ReleasedSet | None = None,
    fails_uncovered: bool = True,
    settlement_rule: Snapshot | None = None,
) -> IdempotentResult[Transaction]:
    """Store a payout and debit the wallet, or return the stored one. The caller then calls the bank.

    `fails_uncovered`: a payout that the wallet must cover and doesn't is stored as failed. `settlement_rule`: it goes
    to the business's settlement account, without limits and approval, at this fee rule.

    :raises InsufficientFunds: the wallet doesn't cover it, and it doesn't fail for that; nothing was stored
    :raises BeneficiaryBlocked: the account is blocked; nothing was stored
    :raises RailUnavailable: the bank is blocked; nothing was stored
    """
    customer = request["customer"]
    verdict = acceptance.judge(
        business=business,
        request=request,
        maker=maker,
        now=now,
        released=released,
        is_settlement=settlement_rule is not None,
    )
    price: dict[str, Any] = {} if settlement_rule is None else {"fee_rule": settlement_rule}
    is_sent_now = verdict.awaiting == Transaction.Awaiting.RAIL
    intent = open_intent(
        business=business,
        fingerprint=fingerprint,
        **columns(bank),
        now=now,
        request_type=Transaction.RequestType.PAYOUT,
        method=Transaction.Method.BANK,
        account_number=customer["account_number"],
        bank_code=customer["bank_code"],
        purpose=request.get("purpose", ""),
        awaiting=verdict.awaiting,
        next_query_at=now + FIRST_QUERY_AFTER if is_sent_now else None,
        **order_fields(request),
        **price,
    )
    if not intent.is_replay:
        # If one raises, the intent is rolled back. A replay is answered whatever has changed since.
        if verdict.refusal is not None:
            raise verdict.refusal
        beneficiaries.require_open(
            business, account_number=customer["account_number"], bank_code=customer["bank_code"]
        )
        if is_sent_now:
            rail_blocks.require_open(bank, currency=request["currency"], amount=request["amount"], now=now)
        _take_from_wallet(intent.resource, fails_uncovered=fails_uncovered, now=now)
        acceptance.record(verdict, intent.resource, maker=maker, now=now)
    return intent


def _take_from_wallet(transaction: Transaction, *, fails_uncovered: bool, now: datetime) -> None:
    """Debit amount, fee and tax from the wallet, or fail the payout if the balance is required and too low.

    :raises InsufficientFunds: the balance is too low, and the payout doesn't fail for that
    """
    charge, is_covered = transitions.charge_of(transaction), settings.PAYOUT_REQUIRES_BALANCE
    accepted = ledger_entries.payout_accepted(transaction, fee=charge.fee, is_covered=is_covered, now=now)
    try:
        ledger.book(accepted, reserved=lambda: refund_cover.reserved(transaction), debited_next=charge.taxes)
    except ledger.InsufficientFunds:
        if not fails_uncovered:
            raise
        transitions.finish(transaction, WALLET_TOO_LOW, cause=Cause.FUNDING, now=now)
        return
    if charge.taxes:
        taxed = ledger_entries.payout_taxed(transaction, taxes=charge.taxes, is_covered=is_covered, now=now)
        ledger.book(taxed, reserved=lambda: refund_cover.reserved(transaction))
