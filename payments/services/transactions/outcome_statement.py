"""The statement that stores the outcome of a transaction on PostgreSQL: everything that `finish` stores, in one round trip.

`transitions` has the plain version, for SQLite and for payments of links; a test compares what both store. A separate
statement for each part takes five to seven round trips (decision 0001).
"""

from datetime import datetime
from typing import Any

from django.db import connection

from ledger import services as ledger
from ledger.services import Booking
from payments.models import AlreadyTransitioned, Transaction, Transition
from payments.models.transactions.transactions import OUTCOME_FIELDS
from webhooks import delivery_statement
from webhooks.publishing import NewEvent

# Every part reads `moved`, which is empty if another caller was first: then the statement stores nothing. psycopg parses
# a statement of more than 4,096 characters or 50 parameters anew each time.
_MOVE = f"""WITH moved AS (
    UPDATE payments_transaction SET {", ".join(f"{name} = %({name})s" for name in OUTCOME_FIELDS)}
    WHERE id = %(id)s AND awaiting = %(awaited)s
    RETURNING id
),
transition AS (
    INSERT INTO payments_transition (transaction_id, attribute, before, after, cause, at)
    SELECT id, %(attribute)s, %(before)s, %(after)s, %(cause)s, %(at)s FROM moved
)"""  # noqa: S608  (our own column names)

_PARTS = (_MOVE, delivery_statement.delivery_if("moved"))
_RESULT = f"SELECT EXISTS (SELECT FROM moved), {delivery_statement.RESULT}"  # noqa: S608


def _short(statement: str) -> str:
    """Return a statement without its indentation, which counts towards psycopg's limit."""
    return " ".join(statement.split())


WITHOUT_ENTRY = _short(f"{', '.join(_PARTS)} {_RESULT}")
WITH_ENTRY = _short(f"{', '.join((*_PARTS, ledger.entry_if('moved')))} {_RESULT}")


def stores_outcome_of(transaction: Transaction) -> bool:
    """Return whether this statement stores the outcome. An attempt at a payment link has more to store."""
    return connection.vendor == "postgresql" and transaction.payment_link_id is None


def store(
    finished: Transaction,
    transition: Transition,
    *,
    awaited: str,
    event: NewEvent | None,
    entry: Booking | None,
    now: datetime,
) -> None:
    """Store an outcome, if the transaction still awaits what it awaited.

    :raises AlreadyTransitioned: another caller was first
    """
    if awaited == Transaction.Awaiting.NOTHING:
        raise AlreadyTransitioned
    parameters = {name: _plain(getattr(finished, name)) for name in OUTCOME_FIELDS}
    parameters |= _parameters_of(transition) | delivery_statement.parameters(event, now=now)
    parameters |= {"awaited": awaited, "business_id": finished.business_id, "now": now}
    if entry is not None:
        parameters |= entry.parameters
    with connection.cursor() as cursor:
        cursor.execute(WITHOUT_ENTRY if entry is None else WITH_ENTRY, parameters)
        is_moved, *result = cursor.fetchone()
    if not is_moved:
        raise AlreadyTransitioned
    delivery_statement.published(*result)


def _parameters_of(transition: Transition) -> dict[str, Any]:
    return {
        "id": transition.transaction_id,
        "attribute": transition.attribute,
        "before": _plain(transition.before),
        "after": _plain(transition.after),
        "cause": _plain(transition.cause),
        "at": transition.at,
    }


def _plain(value: Any) -> Any:
    """Return a choice as the text that the driver stores."""
    return str(value) if isinstance(value, str) else value
