"""Representation of transactions, refunds and unapplied transfers in API responses and webhooks.

Fields that don't apply to the flow or have no value yet are omitted.
"""

from operator import attrgetter
from typing import Any

from django.conf import settings

from kit import banks
from kit.timestamps import timestamp
from payments.models import CardOperation, PayoutReturn, SettlementBatch, Transaction
from payments.outcomes import COMPLETED
from virtual_accounts.models import Session, UnappliedMoney
from virtual_accounts.representation import represent_session

RETURNED_BY_BANK = "Returned by the bank"  # if the bank gives no reason


def represent(transaction: Transaction) -> dict[str, Any]:
    """Return the payment response of the interface document."""
    shown: dict[str, Any] = {
        "request_type": transaction.request_type,
        "id": str(transaction.pk),
        "reference": transaction.reference,
        "status": transaction.status,
        "response_code": transaction.response_code,
        "response_summary": transaction.response_summary,
        **_gateway_fields(transaction),
        **_known(transaction, RAIL_NUMBERS if transaction.acquirer_transaction_id else ()),
        "amount": transaction.amount,
        **_authorised_amount(transaction),
        "currency": transaction.currency,
        "payment_timestamp": timestamp(transaction.created_at),
    }
    shown |= _PARTS[transaction.request_type](transaction)
    if transaction.narration:
        shown["narration"] = transaction.narration
    if transaction.metadata is not None:
        shown["metadata"] = transaction.metadata
    if transaction.finished_at is not None:
        shown["completed_at"] = timestamp(transaction.finished_at)
    return shown


GATEWAY_FIELDS = (
    "gateway_code",
    "gateway_recommendation",
    "acquirer_transaction_id",
    "authorization_code",
)
# Assigned at creation, but shown only once the acquirer has received them.
RAIL_NUMBERS = ("retrieval_reference_number", "system_trace_audit_number")


def _gateway_fields(transaction: Transaction) -> dict[str, str]:
    """Return the gateway's fields. A failed payment hides the approval of its voided or expired authorisation."""
    shown = _known(transaction, GATEWAY_FIELDS)
    if transaction.status == Transaction.Status.FAILED:
        shown.pop("authorization_code", None)
        if shown.get("gateway_code") == COMPLETED.gateway_code:
            del shown["gateway_code"]
    return shown


def _authorised_amount(transaction: Transaction) -> dict[str, int]:
    """Return the authorised amount of a payment with a later capture that hasn't failed."""
    is_authorised = transaction.awaiting == Transaction.Awaiting.CAPTURE or (
        transaction.status == Transaction.Status.SUCCESS and transaction.is_card_payment
    )
    return (
        {"amount_authorized": transaction.amount}
        if is_authorised and not transaction.captures_at_once
        else {}
    )


def _known(transaction: Transaction, names: tuple[str, ...]) -> dict[str, str]:
    return {name: value for name in names if (value := getattr(transaction, name))}


def _payment(transaction: Transaction) -> dict[str, Any]:
    if transaction.session is not None:
        return _transfer_payment(transaction, transaction.session)
    shown: dict[str, Any] = {
        "payment_method": transaction.method,
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
    """Return the fields of a transfer payment. It has no captures, so `total_amount_captured` is omitted."""
    details = {"virtual_account_details": represent_session(session)}
    return {
        "payment_method": transaction.method,
        "fee": transaction.fee,
        "refund_status": transaction.refund_status,
        **_known(transaction, ("settle_status",)),
        **details,
        "total_amount_available_to_refund": transaction.amount_refundable,
        "total_amount_refunded": transaction.amount_refunded,
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
    shown: dict[str, Any] = {"fee": transaction.fee, "customer": customer}
    if transaction.amount_returned:
        shown["reversal"] = _reversal(transaction)
    return shown


def _reversal(payout: Transaction) -> dict[str, Any]:
    """Return the returned amount of a payout, with the time and reason of the last return."""
    returns = [each for each in payout.returns.all() if each.applied == PayoutReturn.Applied.REVERSED]
    last = max(returns, key=attrgetter("pk"))
    return {
        "amount": payout.amount_returned,
        "at": timestamp(last.at),
        "reason": last.reason or RETURNED_BY_BANK,
    }


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
    """Return a refund. It refers to its payment by the merchant's reference."""
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
    if refund.is_transfer_refund:
        shown["destination"] = {
            "name": refund.destination_name,
            "account_number": refund.destination_account_number,
            "bank_code": refund.destination_bank_code,
        }
    return shown


def represent_settlement(batch: SettlementBatch) -> dict[str, Any]:
    """Return a settlement batch without its items. Amounts are minor units.

    `net` is `gross - fees - refunds - brought_forward + carried_forward`. The last two are omitted if zero.
    """
    shown: dict[str, Any] = {
        "id": str(batch.pk),
        "number": batch.number,
        "currency": batch.currency,
        "day": batch.day.isoformat(),
        "status": batch.state,
        "gross": batch.gross,
        "fees": batch.fees,
        "refunds": batch.refunds,
        "net": batch.net,
        "count": batch.payments_count,
        "created_at": timestamp(batch.created_at),
    }
    for name in ("brought_forward", "carried_forward"):
        if amount := getattr(batch, name):
            shown[name] = amount
    if batch.released_at is not None:
        shown["released_at"] = timestamp(batch.released_at)
    return shown


def represent_unapplied_transfer(money: UnappliedMoney) -> dict[str, Any]:
    """Return an unapplied transfer loaded by `virtual_accounts.services.unapplied_queries.find`."""
    transfer = money.transfer
    shown: dict[str, Any] = {
        "id": str(money.pk),
        "account_number": transfer.number_id,
        "amount": money.amount,
        "currency": money.currency,
        "received_at": timestamp(transfer.received_at),
        "sender": transfer.sender,
        "why": transfer.reason,
        "state": money.state,
    }
    if money.payment_reference:
        shown["payment_reference"] = money.payment_reference
    if money.decided_at is not None:
        shown |= {"reason": money.reason, "decided_at": timestamp(money.decided_at)}
    if money.reference:
        shown["return_reference"] = money.reference
    return shown


def challenge_address(token: str) -> str:
    return f"{settings.PUBLIC_URL}/3ds/{token}"
