"""Find what an event of a provider is about."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from connectors.models import ProviderEvent
from payments.models import CardOperation, Transaction


@dataclass(frozen=True, slots=True)
class Subject:
    """A payment, payout or card check, and the capture, void or refund of it that an event names."""

    transaction: Transaction
    operation: CardOperation | None = None


def find_subject(event: ProviderEvent) -> Subject | None:
    """Return what an event is about, by our own ids, or None. Only what was sent to this provider is found."""
    ids = list(_ids(event.references))
    operations = CardOperation.objects.filter(pk__in=ids).select_related("transaction")
    for operation in operations:
        if event.provider == (operation.connector or operation.transaction.connector):
            return Subject(operation.transaction, operation)
    found = Transaction.objects.filter(pk__in=ids, connector=event.provider).first()
    return Subject(found) if found else None


def _ids(references: list[str]) -> Iterator[UUID]:
    """Yield the references that are UUIDs, as our own ids are stored."""
    for reference in references:
        try:
            yield UUID(reference)
        except ValueError:
            continue
