"""The state of a transaction in a sentence, for the detail of an error about that state."""

from payments.models import CardOperation, Transaction

Awaiting, Status = Transaction.Awaiting, Transaction.Status

KINDS = {
    Transaction.RequestType.PAYMENT: "payment",
    Transaction.RequestType.PAYOUT: "payout",
    Transaction.RequestType.CARD_CHECK: "card check",
}
PENDING = {
    Awaiting.RAIL: "its outcome is not known yet",
    Awaiting.REVERSAL: "it is being reversed",
    Awaiting.PAYER: "it waits for the payer's 3-D Secure challenge",
    Awaiting.TRANSFER: "it waits for the payer's transfer",
    Awaiting.APPROVAL: "it waits for approval by other members of the business",
    Awaiting.SERVER: "it waits for the business's server",
    Awaiting.CAPTURE: "it is authorised and waits for a capture or void",
}


def described(transaction: Transaction) -> str:
    """Return a transaction's state in a sentence. Reads its operations if it has succeeded."""
    kind = KINDS[Transaction.RequestType(transaction.request_type)]
    return f"This {kind} is {transaction.status}{_more(transaction)}."


def _more(transaction: Transaction) -> str:
    if transaction.has_unknown_card and transaction.awaiting == Awaiting.PAYER:
        return ": its payer is at the provider's page"
    if transaction.status == Status.PENDING:
        return f": {PENDING[Awaiting(transaction.awaiting)]}"
    if transaction.status == Status.FAILED:
        return f": {transaction.response_summary.rstrip('.')}"
    if transaction.operations.filter(
        kind=CardOperation.Kind.CAPTURE, status=CardOperation.Status.SUCCESS
    ).exists():
        return " and was captured"
    return ""
