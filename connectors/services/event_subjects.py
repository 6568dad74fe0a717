"""Find what an event of a provider is about."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from connectors.models import ProviderEvent
from payments.models import CardOperation, Transaction
from virtual_accounts.models import Session, VirtualAccount


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
    return Subject(found) if found else _find_return(event, ids)


def _find_return(event: ProviderEvent, ids: list[UUID]) -> Subject | None:
    """Return the open refund or return of a transfer to the virtual account that an event names, or None."""
    returns = f"{event.provider}_returns"
    refund = (
        CardOperation.objects.unanswered()
        .filter(connector=returns, transaction__session__account__in=ids)
        .select_related("transaction")
        .first()
    )
    if refund is not None:
        return Subject(refund.transaction, refund)
    owners = VirtualAccount.objects.filter(pk__in=ids).values("business")
    payout = Transaction.objects.unanswered().filter(connector=returns, business__in=owners).first()
    return Subject(payout) if payout else None


def names_virtual_account(event: ProviderEvent) -> bool:
    """Return whether an event names a virtual account of ours."""
    return VirtualAccount.objects.filter(pk__in=list(_ids(event.references))).exists()


def find_session(event: ProviderEvent) -> Session | None:
    """Return the session at a provider that an event names, or None."""
    return Session.objects.filter(pk__in=list(_ids(event.references))).first()


def find_payment(event: ProviderEvent) -> Transaction | None:
    """Return the payment of the session that an event names, or None."""
    return Transaction.objects.filter(session__in=list(_ids(event.references))).first()


def _ids(references: list[str]) -> Iterator[UUID]:
    """Yield the references that are UUIDs, as our own ids are stored."""
    for reference in references:
        try:
            yield UUID(reference)
        except ValueError:
            continue
