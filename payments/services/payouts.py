"""Payouts: money from the merchant to a bank account."""

from dataclasses import replace
from datetime import datetime
from typing import Any

from merchants.models import Business
from payments.models import Transaction
from payments.rails import payout_bank
from payments.services.intents import Intent, open_intent
from payments.services.orders import payout_order
from payments.services.settlement import Cause, ask


def start(*, business: Business, request: dict[str, Any], fingerprint: str, now: datetime) -> Intent:
    """Start a payout: intent, bank, answer. A lost answer leaves it pending.

    :raises DuplicateReference: the reference belongs to a different request
    :raises RailUnavailable: no bank is configured
    """
    bank = payout_bank()
    customer = request["customer"]
    intent = open_intent(
        business=business,
        reference=request["reference"],
        fingerprint=fingerprint,
        now=now,
        request_type=Transaction.RequestType.PAYOUT,
        method=Transaction.Method.BANK,
        amount=request["amount"],
        currency=request["currency"],
        narration=request.get("narration", ""),
        payment_ip=request.get("payment_ip"),
        customer_name=customer["name"],
        customer_email=customer.get("email", ""),
        customer_reference=customer.get("reference", ""),
        account_number=customer["account_number"],
        bank_code=customer["bank_code"],
    )
    if intent.is_new:
        order = payout_order(intent.transaction)
        return replace(
            intent, transaction=ask(intent.transaction, lambda: bank.send(order), cause=Cause.RAIL)
        )
    return intent
