"""Reject refunds of transactions that can't be refunded."""

from payments.models import InvalidState, Transaction

RequestType = Transaction.RequestType

REASONS = {
    RequestType.CARD_CHECK: "A card check moves no money, so there is nothing to refund.",
    RequestType.PAYOUT: (
        "A payout can't be refunded, because the beneficiary has received the money. If the bank returns it, the "
        "amount is credited to your wallet."
    ),
}


class NotRefundable(InvalidState):
    """Transactions of this kind can't be refunded."""

    default_code = "not_refundable"
    default_detail = "This can't be refunded."


def require_refundable(transaction: Transaction) -> None:
    """Check that a transaction is a payment.

    :raises NotRefundable: it is a card check or a payout
    """
    reason = REASONS.get(RequestType(transaction.request_type))
    if reason is not None:
        raise NotRefundable(reason)
