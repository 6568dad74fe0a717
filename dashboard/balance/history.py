"""What the ledger knows of the moments that the balance page is about, read at once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from dashboard.balance.balance_chart import ChartPeriod
from dashboard.ui.components.charts import DAY
from kit.time.time_zones import day_begins
from ledger.models import Account
from ledger.statements import AccountStatement, Level, levels_before
from merchants.models import Business


@dataclass(frozen=True, slots=True, kw_only=True)
class History:
    """The wallet's statement of the filtered days, and balances of a chart's days."""

    statement: AccountStatement
    opening: int
    closing: int
    levels: Sequence[int]  # of the wallet, after each of the chart's spans
    past: Mapping[str, Level]  # of each account before the chart, by kind

    @property
    def change(self) -> int:
        return self.closing - self.opening


def history_of(
    business: Business,
    accounts: Mapping[str, Account],
    *,
    period: ChartPeriod,
    since: datetime | None,
    before: datetime | None,
) -> History:
    """Return the history of accounts in one currency, by kind, with two queries. One of them is the wallet."""
    wallet = accounts[Account.Kind.WALLET]
    now = Level(wallet.sequence, wallet.balance)
    begin = day_begins(period.first, business.zone)
    ends = [day_begins(last + DAY, business.zone) for _, last in period.spans]
    of_wallet = [moment for moment in (since, before, *ends) if moment]
    found = levels_before(
        [(wallet, moment) for moment in of_wallet] + [(account, begin) for account in accounts.values()]
    )
    at = dict(zip(of_wallet, found, strict=False))
    opening = at[since] if since else Level(0, 0)
    closing = at[before] if before else now
    return History(
        statement=AccountStatement(wallet, first=opening.position, last=closing.position),
        opening=opening.balance,
        closing=closing.balance,
        levels=[at[end].balance for end in ends],
        past=dict(zip(accounts, found[len(of_wallet) :], strict=True)),
    )
