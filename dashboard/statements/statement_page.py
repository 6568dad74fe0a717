"""What members and guests see of a month."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from dashboard.statements.ledger_rows import Row, table_of
from dashboard.statements.months import Month
from kit.files.tables import Table
from kit.time.time_zones import labelled
from merchants.models import Business
from payments.services.reporting.monthly_statement import statements_of


def context_of(business: Business, month: Month, months: Sequence[Month], *, now: datetime) -> dict[str, Any]:
    """Return the context of the page. `months`: those that can be opened, newest first."""
    zone = business.zone
    begins, ends = month.begins(zone), month.ends(zone)
    return {
        "business": business,
        "month": month,
        "months": months,
        "earlier": month.previous if month.previous in months else None,
        "later": month.next if month.next in months else None,
        "is_over": month.is_over(zone, now=now),
        "now": now,
        "zone": labelled(business.time_zone, at=begins),
        "statements": statements_of(business, since=begins, before=ends),
    }


def file_of(business: Business, month: Month) -> Table[Row]:
    return table_of(business, since=month.begins(business.zone), before=month.ends(business.zone))
