"""The file of a monthly statement: each account's movements between its opening and closing balance, in words and local time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from decimal import Decimal
from uuid import UUID
from zoneinfo import ZoneInfo

from django.db.models import Sum

from disputes.models import DisputeStep
from kit.files.tables import Column, Table
from kit.money.money import decimal_amount
from ledger.models import Account, Entry, Posting
from ledger.statements import AccountStatement, oldest_first
from merchants.models import Business
from payments.services.reporting.monthly_statement import FEES, PLACES, places_of
from payments.services.reporting.wallet_statement import MOVEMENT_KINDS, Cause, movements

Kind = Entry.Kind

TOGETHER = 1_000
# Entries whose fee and tax were posted with them.
CHARGED = frozenset(kind for kinds in FEES.values() for kind in kinds)
TITLES: Mapping[Entry.Kind, str] = {
    **MOVEMENT_KINDS,
    Kind.CARD: "Card payment",
    Kind.VIRTUAL_ACCOUNT: "Bank transfer payment",
    Kind.REFUND: "Refund",
    Kind.PAYOUT_SENT: "Payout sent",
    Kind.UNAPPLIED_IN: "Unapplied transfer received",
    Kind.UNAPPLIED_OUT: "Unapplied transfer decided",
    Kind.TAX: "Tax on payout",
    Kind.DISPUTE_OPENED: "Dispute opened",
    Kind.DISPUTE_FEE: "Dispute fee",
    Kind.DISPUTE_CLOSED: "Dispute ended",
    Kind.DISPUTE_CORRECTED: "Dispute corrected",
}
DISPUTES = frozenset({Kind.DISPUTE_OPENED, Kind.DISPUTE_FEE, Kind.DISPUTE_CLOSED, Kind.DISPUTE_CORRECTED})


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A movement of an account, or one of its two balances. Amounts are minor units."""

    account: Account
    title: str
    at: datetime | None = None
    name: str = ""
    reference: str = ""
    note: str = ""
    net: int | None = None
    fee: int | None = None
    tax: int | None = None
    balance: int

    @property
    def gross(self) -> int | None:
        return None if self.net is None else self.net + (self.fee or 0) + (self.tax or 0)

    def with_movement(self, row: Row) -> Row:
        """Return the closing row with a further movement added to its totals."""
        return replace(
            self,
            net=(self.net or 0) + (row.net or 0),
            fee=(self.fee or 0) + (row.fee or 0),
            tax=(self.tax or 0) + (row.tax or 0),
            balance=row.balance,
        )


def table_of(business: Business, *, since: datetime, before: datetime) -> Table[Row]:
    """Return the file of a period. Rows are read while it is written."""
    listed = places_of(business, since=since, before=before)
    return Table(columns=_columns(business.zone), rows=_rows(listed))


def _columns(zone: ZoneInfo) -> list[Column[Row]]:
    return [
        Column("Currency", lambda row: row.account.currency),
        Column("Account", lambda row: PLACES[Account.Kind(row.account.kind)]),
        Column(f"Time ({zone})", lambda row: row.at and f"{row.at.astimezone(zone):%Y-%m-%d %H:%M:%S}"),
        Column("Type", lambda row: row.title),
        Column("Name", lambda row: row.name),
        Column("Reference", lambda row: row.reference),
        Column("Amount", lambda row: _major(row.gross, row)),
        Column("Fee", lambda row: _major(row.fee, row)),
        Column("Tax", lambda row: _major(row.tax, row)),
        Column("Net", lambda row: _major(row.net, row)),
        Column("Balance after", lambda row: _major(row.balance, row)),
        Column("Note", lambda row: row.note),
    ]


def _major(amount: int | None, row: Row) -> Decimal | None:
    return None if amount is None else decimal_amount(amount, row.account.currency)


def _rows(statements: Iterable[AccountStatement]) -> Iterator[Row]:
    for each in statements:
        opening = Row(account=each.account, title="Opening balance", balance=each.opening_balance)
        closing = replace(opening, title="Closing balance, with totals", net=0, fee=0, tax=0)
        yield opening
        for chunk in oldest_first(each.postings, size=TOGETHER):
            for row in _movements(each.account, chunk):
                closing = closing.with_movement(row)
                yield row
        yield closing


def _movements(account: Account, postings: Sequence[Posting]) -> Iterator[Row]:
    charged = [each.entry_id for each in postings if each.entry.kind in CHARGED]
    fees, taxes = _charges(charged, Account.Kind.FEES), _charges(charged, Account.Kind.TAXES_PAYABLE)
    disputes = _disputes({each.entry.cause for each in postings if each.entry.kind in DISPUTES})
    for movement in movements(postings):
        posting = movement.posting
        cause = disputes.get(posting.entry.cause, movement.cause)
        yield Row(
            account=account,
            title=TITLES.get(Kind(posting.entry.kind), "Movement"),
            at=posting.entry.at,
            name=cause.about,
            reference=cause.reference,
            note=posting.entry.note,
            net=posting.amount,
            fee=fees.get(posting.entry_id, 0),
            tax=taxes.get(posting.entry_id, 0),
            balance=posting.balance_after,
        )


def _charges(entries: Iterable[int], kind: Account.Kind) -> dict[int, int]:
    """Return what was posted to an account of ours, by entry."""
    found = Posting.objects.filter(entry__in=entries, account__kind=kind).order_by()
    return dict(found.values_list("entry_id").annotate(sum=Sum("amount")))


def _disputes(steps: Iterable[UUID]) -> dict[UUID, Cause]:
    found = DisputeStep.objects.filter(pk__in=steps).values_list(
        "pk", "dispute_id", "dispute__transaction__reference", "dispute__transaction__customer_name"
    )
    return {step: Cause(reference, dispute, name) for step, dispute, reference, name in found}
