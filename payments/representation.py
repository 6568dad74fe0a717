"""Transactions and refunds as merchants see them, in answers and in webhooks.

Fields that do not belong to the flow, or are not known yet, are left out.
"""

from typing import Any

from django.conf import settings

from merchants.timestamps import timestamp
from payments import banks
from payments.models import CardOperation, Transaction
from virtual_accounts.models import Session
from virtual_accounts.representation import represent_session


def represent(transaction: Transaction) -> dict[str, Any]:
    """Return the payment response of the interface document."""
    shown: dict[str, Any] = {
        "request_type": transaction.request_type,
        "id": str(transaction.pk),
        "reference": transaction.reference,
        "status": transaction.status,
        "response_code": transaction.response_code,
        "response_summary": transaction.response_summary,
        **_known(transaction, GATEWAY_FIELDS),
        **_known(transaction, RAIL_NUMBERS if transaction.acquirer_transaction_id else ()),
        "amount": transaction.amount,
        "currency": transaction.currency,
        "payment_timestamp": timestamp(transaction.created_at),
    }
    shown |= _PARTS[transaction.request_type](transaction)
    return shown


GATEWAY_FIELDS = (
    "gateway_code",
    "gateway_recommendation",
    "acquirer_transaction_id",
    "authorization_code",
)
# Ours from the beginning, but of use to nobody before the acquirer has seen them.
RAIL_NUMBERS = ("retrieval_reference_number", "system_trace_audit_number")


def _known(transaction: Transaction, names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name in names if (value := getattr(transaction, name))}


def _payment(transaction: Transaction) -> dict[str, Any]:
    if transaction.session is not None:
        return _transfer_payment(transaction, transaction.session)
    shown: dict[str, Any] = {
        "fee": transaction.fee,
        "refund_status": transaction.refund_status,
        **_known(transaction, ("settle_status", "merchant_descriptor")),
        "source": _source(transaction),
        "total_amount_captured": transaction.amount_captured,
        "total_amount_available_to_refund": transaction.amount_refundable,
        "total_amount_refunded": transaction.amount_refunded,
    }
    if transaction.awaiting == Transaction.Awaiting.PAYER:
        shown["redirect_link"] = challenge_address(transaction.challenge.token)
    return shown | _payer(transaction)


def _transfer_payment(transaction: Transaction, session: Session) -> dict[str, Any]:
    """Nothing of it can be captured or refunded by the API: those fields do not belong to it."""
    details = {"virtual_account_details": represent_session(session)}
    return {
        "fee": transaction.fee,
        **_known(transaction, ("settle_status",)),
        **details,
        **_payer(transaction),
    }


def _payer(transaction: Transaction) -> dict[str, Any]:
    if not transaction.customer_reference:
        return {}
    customer = {"name": transaction.customer_name, "merchant_reference": transaction.customer_reference}
    return {"customer": {name: value for name, value in customer.items() if value}}


def _payout(transaction: Transaction) -> dict[str, Any]:
    bank = banks.find(transaction.bank_code)
    customer = {
        "name": transaction.customer_name,
        "account_number": transaction.account_number,
        "bank_code": transaction.bank_code,
        "bank_name": bank.name if bank else "",
    }
    if transaction.customer_reference:
        customer["merchant_reference"] = transaction.customer_reference
    return {"fee": transaction.fee, "customer": customer}


def _card_check(transaction: Transaction) -> dict[str, Any]:
    return {"source": _source(transaction)}


_PARTS = {"payment": _payment, "payout": _payout, "card_check": _card_check}


def _source(transaction: Transaction) -> dict[str, str]:
    return {
        "type": "card",
        "card_type": transaction.card_brand,
        "card_bin": transaction.card_bin,
        "card_last4": transaction.card_last4,
        "expiry_month": transaction.card_expiry_month,
        "expiry_year": transaction.card_expiry_year,
    }


def represent_refund(refund: CardOperation) -> dict[str, Any]:
    """Return a refund; the payment it belongs to is named by reference."""
    shown: dict[str, Any] = {
        "id": str(refund.pk),
        "reference": refund.reference,
        "payment_reference": refund.transaction.reference,
        "status": refund.status,
        "response_code": refund.response_code,
        "response_summary": refund.response_summary,
        "amount": refund.amount,
        "currency": refund.transaction.currency,
        "created_at": timestamp(refund.created_at),
    }
    if refund.gateway_code:
        shown["gateway_code"] = refund.gateway_code
    if refund.reason:
        shown["reason"] = refund.reason
    return shown


def challenge_address(token: str) -> str:
    return f"{settings.PUBLIC_URL}/3ds/{token}"
