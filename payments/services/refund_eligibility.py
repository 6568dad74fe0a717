"""What can't be refunded at all, and why."""

from payments.models import InvalidState, Transaction

RequestType = Transaction.RequestType

REASONS = {
    RequestType.CARD_CHECK: "A card check moves no money: there is nothing to refund.",
    RequestType.PAYOUT: (
        "A payout can't be refunded: its money went to the beneficiary. If the bank returns it, the amount is "
        "credited to your wallet."
    ),
}


class NotRefundable(InvalidState):
    """No refund of this is possible, whatever its state."""

    default_code = "not_refundable"
    default_detail = "This can't be refunded."


def require_refundable(transaction: Transaction) -> None:
    """Refuse whatever is no payment.

    :raises NotRefundable: it is a card check or a payout
    """
    reason = REASONS.get(RequestType(transaction.request_type))
    if reason is not None:
        raise NotRefundable(reason)
