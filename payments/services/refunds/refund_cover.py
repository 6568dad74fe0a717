"""Cover of refunds by bank transfer: they leave our bank account as payouts do, so they are covered like payouts.

A card refund is netted by the acquirer and needs no cover.
"""

from functools import cache
from uuid import UUID

from django.conf import settings
from django.db.models import Sum
from rest_framework import status

from kit.api.errors import Problem
from ledger import services as ledger
from payments.models import CardOperation, SettlementItem, Transaction


class InsufficientFunds(Problem):
    """The business's balance doesn't cover the refund. Nothing was stored."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "insufficient_funds"
    default_detail = "Your balance doesn't cover this refund by bank transfer. Refund it after the next settlement, or ask for a top-up."


def require(payment: Transaction, amount: int) -> None:
    """Check that a refund of a transfer payment is covered, where payouts must be, and reserve what it takes.

    What covers it is the wallet, less what the business owes, and what is unreleased of this very payment. That money
    covers no debt as well: a refund of another payment may have taken it. The caller holds the payment's lock and stores
    the pending refund in the same transaction: that is the reservation.

    :raises InsufficientFunds: it isn't covered
    """
    if not settings.PAYOUT_REQUIRES_BALANCE:
        return
    unreleased = cache(lambda: _unreleased(payment))  # read under the locks of the accounts
    covering = ledger.covering_now(
        payment.business_id,
        payment.currency,
        reserved=lambda: reserved(payment) + _in_pending_settlement(payment, unreleased()),
    )
    if covering + unreleased() < amount:
        raise InsufficientFunds


def columns(payment: Transaction) -> dict[str, int]:
    """Return the columns by which `check_ledger` computes again whether a refund was covered. Empty if it needn't be."""
    if not settings.PAYOUT_REQUIRES_BALANCE or not payment.is_transfer_payment:
        return {}
    last = ledger.last_sequences(payment.business_id, payment.currency)
    return {
        "wallet_sequence": last[ledger.Kind.WALLET],
        "pending_sequence": last[ledger.Kind.PENDING_SETTLEMENT],
    }


def reserved(transaction: Transaction) -> int:
    """Return the pending refunds by bank transfer of a business in the transaction's currency, in minor units."""
    return reserved_of(transaction.business_id, transaction.currency)


def reserved_of(business_id: UUID, currency: str) -> int:
    """Return the pending refunds by bank transfer of a business in a currency, in minor units."""
    pending = CardOperation.objects.unanswered().filter(
        business=business_id,
        transaction__currency=currency,
        kind=CardOperation.Kind.REFUND,
    )
    return pending.exclude(connector="").aggregate(sum=Sum("amount"))["sum"] or 0


def _unreleased(payment: Transaction) -> int:
    """Return what is left of a payment's money until its batch is released, in minor units.

    Its fee and tax count: otherwise no payment could be refunded in full before the business's first settlement.
    """
    items = SettlementItem.objects.filter(
        transaction=payment, operation=None, dispute_step=None, is_live=True
    )
    if items.filter(batch__state=Transaction.SettleStatus.RELEASED).exists():
        return 0
    return payment.amount_refundable


def _in_pending_settlement(payment: Transaction, unreleased: int) -> int:
    """Return what the unreleased rest of a payment is of pending settlement, where its fee and tax never were."""
    return unreleased - payment.charge.total if unreleased else 0
