"""What a period did to all money of a business, by currency: each part adds up, and to the wallet's statement.

Everything is derived from the postings of the business's own accounts. Fees and taxes are what was posted to ours, so
payments are shown before them.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import groupby

from django.db.models import Min, Sum

from ledger.models import Account, Entry, Posting
from ledger.statement_totals import StatementTotals, totals_of
from ledger.statements import AccountStatement, account_statements
from merchants.models import Business
from payments.services.reporting.remittances import is_remittance

Kind = Entry.Kind

# The accounts whose money is the business's, in the order of the page.
PLACES = {
    Account.Kind.PENDING_SETTLEMENT: "Earned, not settled yet",
    Account.Kind.WALLET: "Balance",
    Account.Kind.PAYOUTS_IN_FLIGHT: "Payouts on their way",
    Account.Kind.RESERVE: "Reserve",
    Account.Kind.DISPUTES_HELD: "Held for disputes",
    Account.Kind.UNAPPLIED: "Unapplied transfers",
}
CHARGES = (Account.Kind.FEES, Account.Kind.TAXES_PAYABLE)

# What changes the sum of these accounts, other than fees and taxes.
CAUSES: Mapping[str, tuple[Entry.Kind, ...]] = {
    "Payments": (Kind.CARD, Kind.VIRTUAL_ACCOUNT),
    "Refunds": (Kind.REFUND,),
    "Disputes": (Kind.DISPUTE_OPENED, Kind.DISPUTE_FEE, Kind.DISPUTE_CLOSED, Kind.DISPUTE_CORRECTED),
    "Unapplied transfers": (Kind.UNAPPLIED_IN, Kind.UNAPPLIED_OUT),
    "Payouts": (Kind.PAYOUT_ACCEPTED, Kind.PAYOUT_SENT, Kind.PAYOUT_FAILED),
    "Returned payouts": (Kind.PAYOUT_REVERSED,),
    "Top-ups": (Kind.TOP_UP,),
    "Corrections": (Kind.JOURNAL,),
}
FEES: Mapping[str, tuple[Entry.Kind, ...]] = {
    "Fees on payments": (Kind.CARD, Kind.VIRTUAL_ACCOUNT),
    "Fees on payouts": (Kind.PAYOUT_SENT,),
    "Dispute fees": (Kind.DISPUTE_FEE,),
}
ALWAYS_SHOWN = frozenset({"Payments", "Refunds", "Fees on payments", "Payouts"})
WALLET_LINES: Mapping[str, str] = {
    Kind.SETTLEMENT_RELEASED: "Settlements",
    Kind.RESERVE_HELD: "Held in reserve",
    Kind.RESERVE_RETURNED: "Returned from reserve",
    Kind.UNAPPLIED_OUT: "From unapplied transfers, credited or to return",  # a return is a payout
    Kind.TOP_UP: "Top-ups",
    Kind.PAYOUT_ACCEPTED: "Payouts, with their fees",
    Kind.TAX: "Taxes on payouts",
    Kind.PAYOUT_FAILED: "Failed payouts, with their fees",
    Kind.PAYOUT_REVERSED: "Returned payouts",
    Kind.JOURNAL: "Corrections",
}


@dataclass(frozen=True, slots=True)
class Line:
    """A named amount in minor units; negative if it was deducted."""

    name: str
    amount: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """Something with a balance at the start and at the end, and what lies between."""

    name: str
    opening: int
    closing: int
    lines: Sequence[Line] = ()

    @property
    def change(self) -> int:
        return self.closing - self.opening


@dataclass(frozen=True, slots=True, kw_only=True)
class CurrencyStatement:
    """A period of a business in one currency."""

    currency: str
    total: Part  # over all accounts
    wallet: Part  # the balance, as its statement has it
    places: Sequence[Part]  # where the money was


def statements_of(business: Business, *, since: datetime, before: datetime) -> list[CurrencyStatement]:
    """Return the statements of `since` ≤ time < `before` of every currency with money or movements in it."""
    listed = account_statements(business, kinds=[*PLACES, *CHARGES], since=since, before=before)
    totals = totals_of([each for each in listed if each.last])
    charged = map(_without_remittances, totals)
    by_currency = groupby(charged, key=lambda each: each.statement.account.currency)
    return [_of_currency(currency, {_kind(each): each for each in found}) for currency, found in by_currency]


def _without_remittances(totals: StatementTotals) -> StatementTotals:
    """Return taxes without what was remitted of them, which changes nothing for the business. Others stay."""
    if _kind(totals) != Account.Kind.TAXES_PAYABLE or Kind.JOURNAL not in totals.by_kind:
        return totals
    remitted = totals.statement.postings.filter(is_remittance()).aggregate(sum=Sum("amount", default=0))
    left = totals.by_kind[Kind.JOURNAL] - int(remitted["sum"])
    return replace(totals, by_kind={**totals.by_kind, Kind.JOURNAL: left})


def places_of(business: Business, *, since: datetime, before: datetime) -> list[AccountStatement]:
    """Return the statements of the accounts in the order of the page, without those that never had money."""
    listed = account_statements(business, kinds=PLACES, since=since, before=before)
    order = list(PLACES)
    return sorted(
        (each for each in listed if each.last),
        key=lambda each: (each.account.currency, order.index(Account.Kind(each.account.kind))),
    )


def first_booking(business: Business) -> datetime | None:
    """Return when the first money of a business was booked."""
    firsts = Posting.objects.filter(account__business=business, sequence=1)
    moment: datetime | None = firsts.aggregate(first=Min("entry__at"))["first"]
    return moment


def _kind(totals: StatementTotals) -> str:
    return totals.statement.account.kind


def _of_currency(currency: str, totals: Mapping[str, StatementTotals]) -> CurrencyStatement:
    places = [totals[kind] for kind in PLACES if kind in totals]
    opening, closing = sum(each.opening for each in places), sum(each.closing for each in places)
    return CurrencyStatement(
        currency=currency,
        total=Part(
            name="Total",
            opening=opening,
            closing=closing,
            lines=_complete(_lines(places, totals), change=closing - opening),
        ),
        wallet=_wallet(totals.get(Account.Kind.WALLET)),
        places=[
            Part(name=PLACES[Account.Kind(_kind(each))], opening=each.opening, closing=each.closing)
            for each in places
        ],
    )


def _lines(places: Collection[StatementTotals], totals: Mapping[str, StatementTotals]) -> Iterator[Line]:
    fees, taxes = ((totals[kind].by_kind if kind in totals else {}) for kind in CHARGES)
    for name, kinds in CAUSES.items():
        own = sum(_sum(each.by_kind, kinds) for each in places)
        yield Line(name, own + _sum(fees, kinds) + _sum(taxes, kinds))
    for name, kinds in FEES.items():
        yield Line(name, -_sum(fees, kinds))
    yield Line(
        "Other fees", _sum(fees, [kind for kinds in FEES.values() for kind in kinds]) - sum(fees.values())
    )
    yield Line("Taxes on fees", -sum(taxes.values()))


def _wallet(totals: StatementTotals | None) -> Part:
    if totals is None:
        return Part(name="Balance", opening=0, closing=0)
    lines = (Line(name, totals.by_kind.get(kind, 0)) for kind, name in WALLET_LINES.items())
    return Part(
        name="Balance",
        opening=totals.opening,
        closing=totals.closing,
        lines=_complete(lines, change=totals.change),
    )


def _complete(lines: Iterable[Line], *, change: int) -> list[Line]:
    """Return the lines to show. They add up to the change.

    Two transactions at the end of a period may commit in the opposite order of their times. An entry is then in the period
    of one account, and in the next period of another one, which the last line evens out.
    """
    shown = [each for each in lines if each.amount or each.name in ALWAYS_SHOWN]
    rest = change - sum(each.amount for each in shown)
    return [*shown, Line("Booked at the turn of the period", rest)] if rest else shown


def _sum(by_kind: Mapping[str, int], kinds: Iterable[str]) -> int:
    return sum(by_kind.get(kind, 0) for kind in kinds)
