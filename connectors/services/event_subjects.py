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
    """Return what an event is about, or None. Only what was sent to this provider is found."""
    return _by_own_id(event) or _by_providers_id(event)


def _by_own_id(event: ProviderEvent) -> Subject | None:
    ids = list(_ids(event.references))
    operations = CardOperation.objects.filter(pk__in=ids).select_related("transaction")
    for operation in operations:
        if event.provider == (operation.connector or operation.transaction.connector):
            return Subject(operation.transaction, operation)
    found = Transaction.objects.filter(pk__in=ids, connector=event.provider).first()
    return Subject(found) if found else None


def _by_providers_id(event: ProviderEvent) -> Subject | None:  # noqa: ARG001
    """Return what has one of the event's references as the provider's own id. No column holds that id yet."""
    return None


def _ids(references: list[str]) -> Iterator[UUID]:
    """Yield the references that are UUIDs, as our own ids are stored."""
    for reference in references:
        try:
            yield UUID(reference)
        except ValueError:
            continue
