"""What the ledger expects of an acquirer: card payments and their refunds, charges of failed payments, and disputes."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.utils.module_loading import import_string

from cash.models import MatchedItem
from payments import rails
from payments.models import CardOperation, Transaction, WatchedAuthorisation
from payments.rules.settlement.business_days import business_day
from payments.services.reconciliation.ledger_line import (
    CARD_REFUND,
    LATE_CHARGE,
    LATE_CHARGE_BACK,
    PAYMENT,
    LedgerLine,
)

SUCCESS = Transaction.Status.SUCCESS


@dataclass(frozen=True, slots=True, kw_only=True)
class Acquired:
    """Whose lines are expected: an acquirer's in a currency, from a moment on."""

    connector: str
    accounts: frozenset[str] = frozenset()  # of the connector, under all its addresses; empty: all
    currency: str
    first: datetime
    in_sums: bool  # a bank has the sum of a day, not each payment

    @property
    def sum_of(self) -> str:
        return self.connector if self.in_sums else ""

    @property
    def settles_after(self) -> int:
        """Return the business days until a statement must have it: an acquirer's own is read when its day is over."""
        return rails.SETTLES_AFTER.get(self.connector, 1) + (not self.in_sums)


# Of apps above this one, by name: what they expect of an acquirer.
SOURCES = ("disputes.services.acquirer_lines.expected",)


def expected(acquired: Acquired) -> Iterator[LedgerLine]:
    """Yield what isn't matched yet."""
    yield from _payments(acquired)
    yield from _refunds(acquired)
    yield from _late_charges(acquired)
    for source in SOURCES:
        yield from import_string(source)(acquired)


def unmatched(kind: str, rows: QuerySet[Any]) -> QuerySet[Any]:
    """Return the rows that aren't matched as this kind yet."""
    return rows.filter(~Exists(MatchedItem.objects.filter(kind=kind, item=OuterRef("pk"))))


def _payments(acquired: Acquired) -> Iterator[LedgerLine]:
    payments = Transaction.objects.filter(
        request_type=Transaction.RequestType.PAYMENT,
        method=Transaction.Method.CARD,
        status=SUCCESS,
        amount_captured__gt=0,
        connector=acquired.connector,
        currency=acquired.currency,
        finished_at__gte=acquired.first,
    )
    if acquired.accounts:
        payments = payments.filter(account__in=acquired.accounts)
    names = ("retrieval_reference_number", "acquirer_transaction_id", "acquirer_reference")
    rows = unmatched(PAYMENT, payments).values_list(
        "pk", "amount_captured", "finished_at", "rail_cost", *names
    )
    for key, amount, finished_at, cost, *references in rows.iterator():
        yield LedgerLine(
            kind=PAYMENT,
            id=key,
            references=tuple(filter(None, references)),
            amount=amount,
            day=business_day(finished_at),
            settles_after=acquired.settles_after,
            sum_of=acquired.sum_of,
            told_cost=cost or 0,
        )


def _refunds(acquired: Acquired) -> Iterator[LedgerLine]:
    refunds = CardOperation.objects.filter(
        kind=CardOperation.Kind.REFUND,
        status=SUCCESS,
        connector="",  # others are of bank transfers
        transaction__connector=acquired.connector,
        transaction__currency=acquired.currency,
        finished_at__gte=acquired.first,
    )
    if acquired.accounts:
        refunds = refunds.filter(transaction__account__in=acquired.accounts)
    for refund in unmatched(CARD_REFUND, refunds).iterator():
        references = (
            refund.retrieval_reference_number, refund.acquirer_transaction_id, refund.acquirer_reference,
        )  # fmt: skip
        yield LedgerLine(
            kind=CARD_REFUND,
            id=refund.pk,
            references=tuple(filter(None, references)),
            amount=-refund.amount,
            day=business_day(refund.finished_at),
            settles_after=acquired.settles_after,
            sum_of=acquired.sum_of,
        )


def _late_charges(acquired: Acquired) -> Iterator[LedgerLine]:
    """Charges of failed payments and their return. A void leaves neither on a statement, a refund both."""
    watches = WatchedAuthorisation.objects.filter(
        transaction__connector=acquired.connector,
        transaction__currency=acquired.currency,
        found_at__gte=acquired.first,
        amount__isnull=False,
    ).select_related("transaction")
    if acquired.accounts:
        watches = watches.filter(transaction__account__in=acquired.accounts)
    for kind, sign, other, rows in (
        (LATE_CHARGE, 1, LATE_CHARGE_BACK, watches),
        (LATE_CHARGE_BACK, -1, LATE_CHARGE, watches.filter(returned_at__isnull=False)),
    ):
        of_other = MatchedItem.objects.filter(kind=other, item=OuterRef("pk"))
        for watch in unmatched(kind, rows.annotate(other_is_there=Exists(of_other))):
            first = watch.transaction.acquirer_reference  # of a charge whose own isn't known
            yield LedgerLine(
                kind=kind,
                id=watch.pk,
                references=tuple(filter(None, [watch.transaction_id, watch.acquirer_reference or first])),
                amount=sign * (watch.amount or 0),
                day=business_day((watch.returned_at if sign < 0 else watch.found_at) or acquired.first),
                may_be_missing=not watch.other_is_there,
                settles_after=acquired.settles_after,
                sum_of=acquired.sum_of,
            )
