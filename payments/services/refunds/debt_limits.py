"""The limit of what card refunds may make a business owe. Without risk terms, debts are unlimited."""

from django.db.models import Sum

from ledger import services as ledger
from ledger.services import Kind
from payments.models import CardOperation, Transaction
from payments.services.refunds.refund_cover import InsufficientFunds
from payments.services.settlement import risk_terms

REFUSAL = "This refund would make you owe more than is agreed. Refund it after the next settlement, or ask for a top-up."


def require_within(payment: Transaction, amount: int) -> None:
    """Check that a card refund keeps wallet, pending settlement and reserve together above the agreed limit.

    Refunds without an outcome count. The caller holds the payment's lock and stores the refund in the same transaction;
    another refund waits for the locks of the accounts.

    :raises InsufficientFunds: it would make the business owe more
    """
    terms = risk_terms.current(payment.business_id, payment.currency)
    if terms is None or terms.negative_limit is None:
        return
    kinds = (Kind.WALLET, Kind.PENDING_SETTLEMENT, Kind.RESERVE)
    held = sum(ledger.lock_balances(payment.business_id, payment.currency, *kinds).values())
    if held - _pending(payment) - amount < -terms.negative_limit:
        raise InsufficientFunds(REFUSAL)


def _pending(payment: Transaction) -> int:
    """Return the refunds of a business without an outcome, in the payment's currency, in minor units."""
    pending = CardOperation.objects.unanswered().filter(
        business=payment.business_id,
        transaction__currency=payment.currency,
        kind=CardOperation.Kind.REFUND,
    )
    return pending.aggregate(sum=Sum("amount"))["sum"] or 0
