"""What banks say and what the ledger says of a period, per account, with the breaks that explain the difference."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import date, timedelta
from heapq import merge
from itertools import islice
from uuid import UUID

from django.db.models import Count, F, Sum
from django.db.models.functions import Abs

from cash.models import IN_ORDER, BankAccount, Break, MatchedLine, Statement
from cash.services import imports
from ledger.models import Account

SHOWN = 20  # breaks on a page


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountReport:
    """A bank account in a period. Balances are None without a statement."""

    account: BankAccount
    opening: int | None
    closing: int | None
    matched: int  # lines
    matched_amount: int
    has_no_statement: bool  # of the period or later, and needs one
    breaks: list[Break] = field(default_factory=list)
    gaps: list[tuple[Statement, Statement]] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not self.breaks and not self.gaps and not self.has_no_statement


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenBreaks:
    """The open breaks of one account, kind and day, added. `difference` is added without signs."""

    account: UUID
    kind: str
    since: date
    bank: int
    ledger: int
    difference: int
    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Balances:
    """What the bank says and what the ledger says of an account now. Open breaks and gaps explain the difference."""

    account: BankAccount
    statement: Statement | None
    bank: int
    ledger: int
    sums: list[OpenBreaks]  # of all open breaks
    gaps: list[tuple[Statement, Statement]]

    @property
    def difference(self) -> int:
        return self.bank - self.ledger

    @property
    def has_no_statement(self) -> bool:
        """Return whether it needs a statement, and has none."""
        return self.account.needs_statements and self.statement is None

    @property
    def explained(self) -> int:
        of_gaps = sum(after.opening - before.closing for before, after in self.gaps)
        return of_gaps + sum(each.bank - each.ledger for each in self.sums)


def accounts(*, name: str = "", currency: str = "", connector: str = "") -> list[BankAccount]:
    """Return the bank accounts with a name, a currency and a tied connector."""
    found = BankAccount.objects.order_by("currency", "name")
    found = found.filter(name=name) if name else found
    found = found.filter(currency=currency) if currency else found
    return [each for each in found if not connector or connector in {*each.pays_out, *each.receives}]


def of_period(account: BankAccount, first: date, last: date) -> AccountReport:
    """Return the report of a period, which the caller has brought up to date."""
    opening, closing = _balance_before(first, account), _balance_before(last + timedelta(days=1), account)
    if opening is None and closing is not None:  # the first statement begins within the period
        opening = account.statements.order_by("last_day", "pk")[0].opening
    matched = MatchedLine.objects.filter(match__account=account, line__booked_on__range=(first, last))
    return AccountReport(
        account=account,
        opening=opening,
        closing=closing,
        matched=matched.count(),
        matched_amount=matched.aggregate(sum=Sum("line__amount"))["sum"] or 0,
        breaks=list(account.breaks.filter(ended_at=None, since__range=(first, last)).order_by("since", "pk")),
        gaps=[gap for gap in imports.gaps(account) if gap[0].last_day <= last and gap[1].first_day >= first],
        # A later one says by its opening balance what happened before.
        has_no_statement=account.needs_statements
        and not account.statements.filter(last_day__gte=first).exists(),
    )


def _balance_before(day: date, account: BankAccount) -> int | None:
    """Return what the bank says an account held when a day began, which may be within a statement. None before the first one."""
    begun = account.statements.filter(first_day__lt=day).order_by(*IN_ORDER).last()
    if begun is None:
        return None
    if begun.last_day < day:
        return begun.closing
    lines = begun.lines.filter(booked_on__lt=day).aggregate(sum=Sum("amount", default=0))
    return begun.opening + int(lines["sum"])


def open_breaks() -> list[OpenBreaks]:
    """Return the sums of all open breaks, with one statement: there may be very many."""
    sums = (
        Break.objects.filter(ended_at=None)
        .order_by()
        .values_list("account_id", "kind", "since")
        .annotate(
            bank=Sum("bank_amount"),
            ledger=Sum("ledger_amount"),
            apart=Sum(Abs(F("bank_amount") - F("ledger_amount"))),
            count=Count("*"),
        )
    )
    return [
        OpenBreaks(
            account=account,
            kind=kind,
            since=since,
            bank=bank,
            ledger=ledger,
            difference=difference,
            count=count,
        )
        for account, kind, since, bank, ledger, difference, count in sums
    ]


def balances_now() -> Iterator[Balances]:
    """Yield every account by currency and name.

    The ledger has booked what was matched. It also says what it expects of breaks; the bank says what they have on a line.
    """
    houses = Account.objects.filter(business=None, kind__in=BankAccount.Kind.values)
    booked = {tuple(key): held for *key, held in houses.values_list("kind", "name", "currency", "balance")}
    found = open_breaks()
    for account in accounts():
        of_account = [each for each in found if each.account == account.pk]
        expected = sum(each.ledger for each in of_account)
        statement = imports.last_statement(account)
        yield Balances(
            account=account,
            statement=statement,
            bank=statement.closing if statement else 0,
            ledger=expected - booked.get((*account.house_account, account.currency), 0),
            sums=of_account,
            gaps=imports.gaps(account),
        )


def oldest_breaks(accounts: Iterable[BankAccount]) -> list[Break]:
    """Return the oldest open breaks of accounts: of each a few rows of an index, as there may be very many."""
    of_each = (
        account.breaks.filter(ended_at=None)
        .select_related("account", "owner")
        .order_by("since", "pk")[:SHOWN]
        for account in accounts
    )
    return list(islice(merge(*of_each, key=lambda each: (each.since, each.pk)), SHOWN))
