"""The fields of the requests that created transactions and refunds, as far as their rows keep them.

A repeated request with the same reference is compared with them, to name the fields that differ.
"""

from typing import Any

from payments.models import CardOperation, Transaction
from payments.rails.protocol import ThreeDSecure


def stored_request(transaction: Transaction) -> dict[str, Any]:
    """Return the stored fields, None for those that the request didn't have. The card isn't kept."""
    is_payment = transaction.request_type == Transaction.RequestType.PAYMENT
    is_card_payment = is_payment and transaction.method == Transaction.Method.CARD
    preference = transaction.challenge_preference
    session = transaction.session if transaction.session_id else None
    return {
        "request_type": transaction.request_type,
        "payment_method": transaction.method if is_payment else None,
        "amount": transaction.amount,
        "currency": transaction.currency,
        "narration": transaction.narration,
        "purpose": transaction.purpose,
        "metadata": transaction.metadata,
        "payment_ip": transaction.payment_ip,
        "redirect_url": transaction.redirect_url,
        "customer": _customer(transaction),
        "capture": transaction.captures_at_once if is_card_payment else None,
        "payment_method_id": str(session.account_id) if session else None,
        **({"three_ds": ThreeDSecure(enabled=True, challenge_preference=preference)} if preference else {}),
    }


def _customer(transaction: Transaction) -> dict[str, str] | None:
    fields = {
        "name": transaction.customer_name,
        "email": transaction.customer_email,
        "reference": transaction.customer_reference,
        "account_number": transaction.account_number,
        "bank_code": transaction.bank_code,
    }
    return {name: value for name, value in fields.items() if value} or None


def stored_refund(refund: CardOperation) -> dict[str, Any]:
    """Return the stored fields. The amount and the destination are kept also if the request didn't have them."""
    destination = {
        "name": refund.destination_name,
        "account_number": refund.destination_account_number,
        "bank_code": refund.destination_bank_code,
    }
    return {
        "payment": str(refund.transaction_id),
        "amount": refund.amount,
        "reason": refund.reason,
        "destination": destination if refund.pays_named_account else None,
    }
