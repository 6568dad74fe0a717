"""Balances of a business, with what they were before a day."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import date

from django.db.models import Subquery

from kit.time.time_zones import day_begins
from ledger.models import Account
from ledger.services import Kind
from ledger.statements import with_balance_before
from merchants.models import Business


def accounts_since(business: Business, day: date, *kinds: Kind, **more: Subquery) -> list[Account]:
    """Return accounts of a business in all currencies, with the `balance_before` a day, and `more`, in one query."""
    found = (
        Account.objects.filter(business=business, kind__in=kinds).order_by("currency", "pk").annotate(**more)
    )
    return list(with_balance_before(found, day_begins(day, business.zone)))


def balances_before(accounts: Iterable[Account], kind: Kind) -> dict[str, int]:
    """Return the balance of each currency before that day. Currencies without money before it are left out."""
    return {
        each.currency: each.balance_before
        for each in accounts
        if each.kind == kind and each.balance_before is not None
    }
