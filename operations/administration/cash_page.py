"""The administration's page Cash: what banks say, what the ledger says, and the breaks that explain the difference."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime
from itertools import accumulate, groupby

from cash.models import Break
from kit.money.money import figures, money, signed_money
from kit.text.plurals import counted
from ledger.models import Account
from payments.rules.settlement.business_days import business_day
from payments.services.reconciliation import report
from payments.services.reconciliation.report import Balances, OpenBreaks

AGES = {
    "0\u20131 days": 1,
    "2\u20133 days": 3,
    "4\u20137 days": 7,
    "Over 7 days": None,
}  # days, up to which breaks are added
HOUSE = ("acquirer", "provider", "suspense", "reserves", "costs", "write_offs")  # shown beside bank accounts
OWED_BY_US = ("suspense", "reserves")
GAP_BETWEEN_BANDS = 0.4  # percent of the bar of ages
OLD = 7  # days, after which a break is overdue


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """The accounts of a currency, added."""

    code: str
    accounts: str
    statements_to: date | None  # the earliest of the accounts' last days
    bank: str
    ledger: str
    difference: str
    is_equal: bool
    has_no_statement: bool  # of one of the accounts that need one
    breaks: int
    apart: str  # all open breaks, added without signs
    bands: list["Band"]


@dataclass(frozen=True, slots=True)
class Reason:
    """The breaks of one kind, or a gap, which explain a part of a difference."""

    name: str
    amount: str
    kind: str = ""  # of breaks


@dataclass(frozen=True, slots=True)
class AccountRow:
    balances: Balances
    bank: str
    ledger: str
    difference: str
    is_equal: bool
    reasons: list[Reason]
    unexplained: str  # empty if nothing is


@dataclass(frozen=True, slots=True)
class Band:
    """The open breaks of one age, added without signs: a part of a bar, in percent."""

    number: int
    name: str
    amount: str
    breaks: str
    start: str
    width: str


@dataclass(frozen=True, slots=True)
class AgeRow:
    """The breaks of one kind by age, added without signs."""

    kind: str
    meaning: str
    sums: list[str]
    total: str


@dataclass(frozen=True, slots=True)
class BreakRow:
    row: Break
    name: str
    age: str
    is_old: bool
    amount: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Currency:
    total: Total
    accounts: list[AccountRow]
    ages: list[AgeRow]
    breaks: list[BreakRow]
    house: list[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class Page:
    totals: list[Total]
    chosen: Currency | None


def shown(*, now: datetime, code: str = "") -> Page:
    """Return the page of a currency, or of the first if there is no account in it."""
    currencies = _by_currency()
    if not currencies:
        return Page([], None)
    chosen = code if code in currencies else next(iter(currencies))
    today = business_day(now)
    totals = {name: _total(name, balances, today) for name, balances in currencies.items()}
    return Page(list(totals.values()), _currency(totals[chosen], currencies[chosen], today))


def totals(*, now: datetime) -> list[Total]:
    """Return what banks and the ledger say of each currency."""
    return [_total(code, balances, business_day(now)) for code, balances in _by_currency().items()]


def _by_currency() -> dict[str, list[Balances]]:
    in_order = groupby(report.balances_now(), key=lambda each: each.account.currency)
    return {code: list(balances) for code, balances in in_order}


def _total(code: str, balances: list[Balances], today: date) -> Total:
    sums = [one for each in balances for one in each.sums]
    bank, ledger = (sum(getattr(each, side) for each in balances) for side in ("bank", "ledger"))
    return Total(
        code=code,
        accounts=counted(len(balances), "account"),
        statements_to=min((each.statement.last_day for each in balances if each.statement), default=None),
        bank=figures(bank, code),
        ledger=figures(ledger, code),
        difference=figures(bank - ledger, code),
        is_equal=all(each.bank == each.ledger for each in balances),
        has_no_statement=any(each.has_no_statement for each in balances),
        breaks=sum(one.count for one in sums),
        apart=money(sum(one.difference for one in sums), code),
        bands=list(_bands(sums, code, today)),
    )


def _currency(total: Total, balances: list[Balances], today: date) -> Currency:
    sums = [one for each in balances for one in each.sums]
    oldest = report.oldest_breaks(each.account for each in balances if each.sums)
    return Currency(
        total=total,
        accounts=[_row(each) for each in balances],
        ages=list(_ages(sums, total.code, today)),
        breaks=[_break(each, today) for each in oldest],
        house=list(_house(total.code)),
    )


def _row(each: Balances) -> AccountRow:
    currency, left = each.account.currency, each.difference - each.explained
    return AccountRow(
        balances=each,
        bank=figures(each.bank, currency),
        ledger=figures(each.ledger, currency),
        difference=signed_money(each.difference, currency),
        is_equal=not each.difference,
        reasons=[*_gaps(each), *_reasons(each)],
        unexplained=signed_money(left, currency) if left else "",
    )


def _gaps(each: Balances) -> list[Reason]:
    return [
        Reason(
            f"A statement is missing between {before.last_day:%-d %b %Y} and {after.first_day:%-d %b %Y}",
            signed_money(after.opening - before.closing, each.account.currency),
        )
        for before, after in each.gaps
    ]


def _reasons(each: Balances) -> Iterator[Reason]:
    for kind in Break.Kind:
        sums = [one for one in each.sums if one.kind == kind]
        if sums:
            name = f"{kind.label}: {counted(sum(one.count for one in sums), 'break')}"
            explained = sum(one.bank - one.ledger for one in sums)
            yield Reason(name, signed_money(explained, each.account.currency), kind)


def _break(row: Break, today: date) -> BreakRow:
    days = max((today - row.since).days, 0)
    return BreakRow(
        row,
        name=row.reference or row.item_kind or "No reference",
        age=counted(days, "day"),
        is_old=days > OLD,
        amount=signed_money(row.difference, row.account.currency),
    )


def _bands(sums: list[OpenBreaks], currency: str, today: date) -> Iterator[Band]:
    """Yield the parts of the bar of ages, with gaps between them."""
    aged = [[each for each in sums if _age(each, today) == place] for place in range(len(AGES))]
    amounts = [sum(each.difference for each in of_age) for of_age in aged]
    total = sum(amounts)
    widths = [100 * amount / total if total else 0 for amount in amounts]
    starts = accumulate(widths, initial=0.0)
    for number, (name, of_age, start) in enumerate(zip(AGES, aged, starts, strict=False)):
        yield Band(
            number + 1,
            name,
            money(amounts[number], currency),
            counted(sum(each.count for each in of_age), "break"),
            f"{start:.2f}%",
            f"{max(widths[number] - GAP_BETWEEN_BANDS, 0):.2f}%",
        )


def _ages(sums: list[OpenBreaks], currency: str, today: date) -> Iterator[AgeRow]:
    """Yield the open breaks by kind and age."""
    for kind in Break.Kind:
        of_kind = [each for each in sums if each.kind == kind]
        by_age = [
            sum(each.difference for each in of_kind if _age(each, today) == place)
            for place in range(len(AGES))
        ]
        if of_kind:
            cells = [figures(each, currency) if each else "" for each in by_age]
            yield AgeRow(kind.label, kind.meaning, cells, figures(sum(by_age), currency))


def _age(each: OpenBreaks, today: date) -> int:
    days = (today - each.since).days
    return next(place for place, limit in enumerate(AGES.values()) if limit is None or days <= limit)


def _house(currency: str) -> Iterator[tuple[str, str]]:
    """Yield the other house accounts with their balances. What we are owed is positive."""
    for account in Account.objects.filter(business=None, kind__in=HOUSE, currency=currency).order_by(
        "kind", "name"
    ):
        name = f"{account.kind}:{account.name}" if account.name else account.kind.replace("_", " ")
        owed = account.balance if account.kind in OWED_BY_US else -account.balance
        yield name.capitalize(), figures(owed, currency)
