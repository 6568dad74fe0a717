"""A bank gives a payout back after it had reported success: the wallet is credited, the status stays."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from ledger import services as ledger
from merchants import audit
from merchants.audit import Actor
from merchants.rows import insert_if_absent
from payments.models import InvalidState, Reversal, Transaction
from payments.services import bookings
from payments.services.intents import lock


@database.atomic
def reverse(*, transaction_id: UUID, reason: str, actor: Actor, now: datetime) -> bool:
    """Credit a successful payout's amount to the wallet; return False where that was done before.

    The fee is not given back: it was for the sending.

    :raises InvalidState: not a successful payout
    """
    transaction = lock(transaction_id)
    if not can_be_reversed(transaction):
        raise InvalidState("Only a successful payout can be reversed.")
    if not insert_if_absent(Reversal(transaction=transaction, reason=reason, actor=actor.name, at=now)):
        return False
    ledger.book(bookings.payout_reversed(transaction, reason=reason, now=now))
    audit.record(
        action="payout.reversed",
        actor=actor,
        business=transaction.business,
        target=str(transaction.pk),
        after={"amount": transaction.amount, "currency": transaction.currency, "reason": reason},
        now=now,
    )
    return True


def can_be_reversed(transaction: Transaction) -> bool:
    is_payout = transaction.request_type == Transaction.RequestType.PAYOUT
    return is_payout and transaction.status == Transaction.Status.SUCCESS
