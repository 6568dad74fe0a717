"""Return the reserve of a settlement in the sandbox now."""

from django.db import transaction as database

from kit.db.clock import database_now
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, SettlementBatch
from payments.services.settlement import reserves

NOTHING = "Nothing is held of this settlement until a date, or you owe more than your balance has."


@database.atomic
def advance_reserve(batch: SettlementBatch, *, actor: Actor) -> None:
    """Return what is held of a batch by its rate, as if its days were over.

    :raises InvalidState: nothing of it is held until a date, or the business owes
    """
    now = database_now()
    if not reserves.return_now(batch, now=now):
        raise InvalidState(NOTHING)
    audit.record(
        action="sandbox.reserve_returned",
        actor=actor,
        business=batch.business,
        target=str(batch.pk),
        now=now,
    )
