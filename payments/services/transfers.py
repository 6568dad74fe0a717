"""Bank transfers that arrive: what they do to payments.

The session, the payment, the ledger and the event change in one database transaction. Locks are taken in this
order: session, transaction, ledger account.
"""

from collections.abc import Callable
from datetime import datetime

from django.db import transaction as database

from ledger import services as ledger
from ledger.services import Booking
from merchants.clock import database_now
from merchants.idempotency import keyed_hash
from merchants.models import Business
from payments.models import Transaction
from payments.outcomes import Outcome, amount_mismatch, transfer_received
from payments.services import bookings, finishing
from payments.services.finishing import Cause
from payments.services.intents import lock_of_session, open_intent
from virtual_accounts.models import Session, Transfer
from virtual_accounts.services import transfers
from virtual_accounts.services.transfers import Notice, Receipt

__all__ = ["Notice", "Receipt", "receive"]


@database.atomic
def receive(
    notice: Notice, *, owner: Business | None = None, clock: Callable[[], datetime] = database_now
) -> Receipt:
    """Take in a transfer: it ends a payment, makes a new one, or is kept as unapplied money.

    The same transfer told again changes nothing.

    :raises UnknownAccount: nobody has, or had, the number; with `owner`, nobody but that business counts
    :raises DuplicateReference: the bank's reference belongs to a different transfer
    """
    receipt = transfers.receive(notice, owner=owner, clock=clock)
    if receipt.is_new and receipt.session is not None:
        _settle(receipt.transfer, receipt.session)
    if receipt.is_new and receipt.transfer.is_unapplied:
        ledger.book(_unapplied(receipt.transfer))
    return receipt


def _settle(transfer: Transfer, session: Session) -> None:
    is_asked_for = transfer.applied != Transfer.Applied.NEW_PAYMENT
    payment = lock_of_session(session) if is_asked_for else _new_payment(transfer, session)
    outcome = _outcome(transfer, session)
    finishing.finish(payment, outcome, cause=Cause.TRANSFER, now=transfer.received_at)


def _outcome(transfer: Transfer, session: Session) -> Outcome:
    if transfer.amount == session.expected_amount:
        return transfer_received(
            amount=transfer.amount, currency=transfer.currency, sender=transfer.sender_name
        )
    return amount_mismatch(
        expected=session.expected_amount, received=transfer.amount, currency=transfer.currency
    )


def _unapplied(transfer: Transfer) -> Booking:
    return bookings.unapplied_in(
        transfer=transfer.pk,
        business_id=transfer.account.business_id,
        currency=transfer.currency,
        amount=transfer.amount,
        now=transfer.received_at,
    )


def _new_payment(transfer: Transfer, session: Session) -> Transaction:
    """Write the payment of money that came to a static account without being asked for."""
    account = session.account
    intent = open_intent(
        business=account.business,
        reference=f"va_{transfer.pk.hex}",
        fingerprint=keyed_hash({"transfer": str(transfer.pk)}),
        now=transfer.received_at,
        request_type=Transaction.RequestType.PAYMENT,
        method=Transaction.Method.VIRTUAL_ACCOUNT,
        awaiting=Transaction.Awaiting.TRANSFER,
        next_query_at=None,
        session_id=session.pk,
        amount=transfer.amount,
        currency=transfer.currency,
        customer_name=account.holder_name,
        customer_email=account.email,
        customer_reference=account.reference,
    )
    intent.transaction.session = session
    return intent.transaction
