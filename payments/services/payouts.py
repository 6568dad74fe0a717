"""Payouts: money from the merchant to a bank account."""

from datetime import datetime
from typing import Any

from merchants.models import Business
from payments.models import Transaction
from payments.rails import payout_bank
from payments.services.intents import Intent, open_intent, order_fields
from payments.services.orders import payout_order
from payments.services.settlement import ask_if_new


def start(*, business: Business, request: dict[str, Any], fingerprint: str, now: datetime) -> Intent:
    """Start a payout: intent, bank, answer. A lost answer leaves it pending.

    :raises DuplicateReference: the reference belongs to a different request
    :raises RailUnavailable: no bank is configured
    """
    bank = payout_bank()
    customer = request["customer"]
    intent = open_intent(
        business=business,
        fingerprint=fingerprint,
        now=now,
        request_type=Transaction.RequestType.PAYOUT,
        method=Transaction.Method.BANK,
        account_number=customer["account_number"],
        bank_code=customer["bank_code"],
        **order_fields(request),
    )
    return ask_if_new(intent, lambda new: bank.send(payout_order(new)))
