"""Build the orders that are sent to rails from transactions and operations."""

from kit import banks
from payments.models import CardOperation, Transaction
from payments.models.challenges import challenge_token
from payments.rails import RETURNS
from payments.rails.protocol import CardOrder, OperationOrder, Payer, PayoutOrder, ThreeDSecure
from payments.representation.payments import return_page_address
from payments.services.refunds import refused_returns
from virtual_accounts.models import Transfer


def card_order(transaction: Transaction, *, has_passed_challenge: bool = False) -> CardOrder:
    return CardOrder(
        id=transaction.pk,
        amount=transaction.amount,
        currency=transaction.currency,
        captures_at_once=transaction.captures_at_once,
        three_ds=_three_ds(transaction),
        has_passed_challenge=has_passed_challenge,
        card_bin=transaction.card_bin,
        card_last4=transaction.card_last4,
        card_expiry_month=transaction.card_expiry_month,
        card_expiry_year=transaction.card_expiry_year,
        system_trace_audit_number=transaction.system_trace_audit_number,
        retrieval_reference_number=transaction.retrieval_reference_number,
        authorization_code=transaction.authorization_code,
        descriptor=transaction.business.statement_descriptor,
        is_partly_approved=transaction.is_partly_approved,
        acquirer_reference=transaction.acquirer_reference,
        payer=_payer(transaction),
        is_on_our_page=transaction.payment_link_id is not None,
        return_url=return_page_address(challenge_token(transaction.pk)),
        created_at=transaction.created_at,
    )


def _three_ds(transaction: Transaction) -> ThreeDSecure:
    preference = transaction.challenge_preference
    return ThreeDSecure(enabled=True, challenge_preference=preference) if preference else ThreeDSecure()


def _payer(transaction: Transaction) -> Payer:
    return Payer(
        name=transaction.customer_name,
        email=transaction.customer_email,
        ip_address=transaction.payment_ip or "",
    )


def operation_order(operation: CardOperation) -> OperationOrder:
    return OperationOrder(
        id=operation.pk,
        kind=operation.kind,
        amount=operation.amount,
        system_trace_audit_number=operation.system_trace_audit_number,
        retrieval_reference_number=operation.retrieval_reference_number,
        acquirer_reference=operation.acquirer_reference,
        must_wait=_must_wait(operation),
        created_at=operation.created_at,
    )


def _must_wait(operation: CardOperation) -> bool:
    """Return whether an earlier refund of the same payment is pending."""
    is_alone = operation.transaction.amount_being_refunded <= operation.amount
    if operation.kind != CardOperation.Kind.REFUND or is_alone:
        return False
    pending = CardOperation.objects.unanswered().filter(kind=CardOperation.Kind.REFUND, pk__lt=operation.pk)
    return pending.filter(transaction=operation.transaction_id).exists()


def payout_order(transaction: Transaction, *, may_be_repeated: bool = True) -> PayoutOrder:
    bank = banks.find(transaction.bank_code)
    return PayoutOrder(
        id=transaction.pk,
        amount=transaction.amount,
        currency=transaction.currency,
        beneficiary=transaction.customer_name,
        account_number=transaction.account_number,
        nip_code=bank.nip_code if bank else transaction.bank_code,
        narration=transaction.narration,
        merchant_reference=transaction.reference,
        may_be_repeated=may_be_repeated,
        received_as=_received_as(transaction),
        acquirer_reference=transaction.acquirer_reference,
        created_at=transaction.created_at,
        send_by=transaction.query_leased_until,
    )


def refund_order(refund: CardOperation, *, may_be_repeated: bool = True) -> PayoutOrder:
    """Return the bank transfer of a transfer payment's refund."""
    bank = banks.find(refund.destination_bank_code)
    return PayoutOrder(
        id=refund.pk,
        amount=refund.amount,
        currency=refund.transaction.currency,
        beneficiary=refund.destination_name,
        account_number=refund.destination_account_number,
        nip_code=bank.nip_code if bank else refund.destination_bank_code,
        narration=refund.reason,
        merchant_reference=refund.reference or "",
        may_be_repeated=may_be_repeated,
        received_as=_received_as(refund),
        acquirer_reference=refund.acquirer_reference,
        must_wait=_must_wait(refund),
        created_at=refund.created_at,
        send_by=refund.query_leased_until,
    )


def returned_order(payout: Transaction) -> OperationOrder:
    """Return a return of unapplied money as the refund that its provider makes of it."""
    return OperationOrder(
        id=payout.pk,
        kind=CardOperation.Kind.REFUND,
        amount=payout.amount,
        system_trace_audit_number="",
        retrieval_reference_number="",
        acquirer_reference=payout.acquirer_reference,
        created_at=payout.created_at,
    )


def _received_as(subject: Transaction | CardOperation) -> str:
    """Return the bank reference of the transfer that is sent back through its provider. Other orders cost no query."""
    if subject.connector not in RETURNS:
        return ""
    if isinstance(subject, CardOperation):
        found = Transfer.objects.filter(session=subject.transaction.session_id)
    else:
        found = Transfer.objects.filter(unapplied=refused_returns.money_of(subject.reference))
    return str(found.values_list("bank_reference", flat=True).get())
