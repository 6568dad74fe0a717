"""Take a file of an acquirer: every row has a dispute afterwards, or stands under "Unmatched disputes"."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import transaction as database

from disputes.models import DisputeReport
from disputes.rules.report_format import Row
from disputes.services.reports import intake
from disputes.services.reports.reports import ReportedCase
from payments import rails
from payments.rails import RailUnavailable

# The acquirers that send files instead of being queried. The sandbox takes files too, so that they can be tried.
SEND_FILES = ("sandbox", "iso8583") if settings.SANDBOX else ("iso8583",)


class SendsNoFiles(ValueError):
    """No acquirer of this name sends files, or it isn't configured."""


@dataclass(frozen=True, slots=True)
class Account:
    """The account at an acquirer that a file is about."""

    connector: str
    account: str


def account_of(name: str | None) -> Account:
    """Return the account of an acquirer that sends files: by default the only one, the sandbox's own in a sandbox.

    :raises SendsNoFiles: no acquirer of this name sends files, or it isn't configured
    """
    name = name or SEND_FILES[0]
    if name not in SEND_FILES:
        raise SendsNoFiles(f"No acquirer {name!r} sends files. Those that do: {', '.join(SEND_FILES)}.")
    try:
        acquirer = rails.configured_acquirer(name)
    except RailUnavailable:
        raise SendsNoFiles(f"The acquirer {name!r} is not configured.") from None
    return Account(acquirer.name, acquirer.account)


def take_rows(rows: list[Row], account: Account, *, source: str, now: datetime) -> Iterator[DisputeReport]:
    """Take the rows of a file, each in a database transaction of its own, and yield the report of each."""
    for row in rows:
        yield _take(row, account, source=source, now=now)


def rehearse(rows: list[Row], account: Account, *, source: str, now: datetime) -> Iterator[DisputeReport]:
    """Yield the report that each row would have, without storing anything.

    Each row is applied in a transaction of its own, so that no payment or ledger account stays locked while the others follow.
    """
    for row in rows:
        with database.atomic():
            report = _take(row, account, source=source, now=now)
            database.set_rollback(True)
        yield report


def count(reports: Iterator[DisputeReport]) -> Counter[str]:
    return Counter(report.why if report.is_open else "matched" for report in reports)


def _take(row: Row, account: Account, *, source: str, now: datetime) -> DisputeReport:
    where: dict[str, Any] = {
        "connector": account.connector,
        "account": account.account,
        "source": source,
        "line": row.line,
    }
    if row.errors:
        detail = "; ".join(row.errors)
        return intake.take_unreadable([*row.cells], detail=detail, now=now, **where)
    return intake.take(ReportedCase(**where, **row.values), now=now)
