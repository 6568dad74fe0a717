"""What happens because time passes: challenges and authorisations end."""

from collections.abc import Iterator
from datetime import datetime
from uuid import UUID

import structlog
from django.db import DatabaseError, InterfaceError, OperationalError
from django.db import transaction as database

from payments.models import Transaction
from payments.outcomes import AUTHENTICATION_FAILED, AUTHORISATION_EXPIRED
from payments.services import operations, settlement
from payments.services.intents import lock
from payments.services.settlement import Cause

log = structlog.get_logger("sluice.expiry")

OUTCOMES = {
    Transaction.Awaiting.PAYER: AUTHENTICATION_FAILED,
    Transaction.Awaiting.CAPTURE: AUTHORISATION_EXPIRED,
}


def overdue(*, now: datetime) -> list[UUID]:
    """Return the transactions whose time is over, longest overdue first."""
    return list(Transaction.objects.overdue(at=now).order_by("expires_at").values_list("pk", flat=True))


def expire(transaction_ids: list[UUID], *, now: datetime) -> Iterator[bool]:
    """End each of these transactions; yield for each whether it was still there to be ended."""
    for transaction_id in transaction_ids:
        try:
            yield expire_one(transaction_id, now=now)
        except (OperationalError, InterfaceError):
            raise  # the database is away: for all of them
        except Exception as error:
            # Whatever is wrong with this one, the others must end too. What a database error says stays out
            # of the log: it may quote a row's values.
            log.exception(
                "expiry failed", id=str(transaction_id), exc_info=not isinstance(error, DatabaseError)
            )
            yield False


@database.atomic
def expire_one(transaction_id: UUID, *, now: datetime) -> bool:
    """End a transaction whose time is over. False where somebody else has moved it, or is about to."""
    transaction = lock(transaction_id)
    if transaction.expires_at is None or transaction.expires_at > now:
        return False
    if operations.is_capture_or_void_under_way(transaction):
        return False  # the acquirer may have captured: its answer decides
    outcome = OUTCOMES[Transaction.Awaiting(transaction.awaiting)]
    settlement.finish(transaction, outcome, cause=Cause.EXPIRY, now=now)
    return True
