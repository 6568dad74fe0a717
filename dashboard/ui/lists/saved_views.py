"""The saved views of a list, drawn by `components/saved_views.html`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.http import QueryDict
from django.urls import reverse

from dashboard.models import SavedView
from dashboard.ui.addresses import encoded
from dashboard.ui.components.chips import OF_A_PAGE
from merchants.models import Member

# The lists that have saved views, and the names of their URLs.
LISTS = {
    "payments": "dashboard-payments",
    "disputes": "dashboard-disputes",
    "payment-links": "dashboard-payment-links",
    "payouts": "dashboard-payouts",
    "beneficiaries": "dashboard-beneficiaries",
    "virtual-accounts": "dashboard-virtual-accounts",
    "unapplied": "dashboard-unapplied",
    "deliveries": "dashboard-deliveries",
    "settlements": "dashboard-settlements",
    "invoices": "dashboard-invoices",
    "balance": "dashboard-balance",
    "requests": "dashboard-requests",
    "activity": "dashboard-activity",
}


@dataclass(frozen=True, slots=True)
class Views:
    """A member's saved views of a list. `query` are the filters that the page shows now."""

    list: str
    query: str
    saved: Sequence[SavedView]
    here: SavedView | None


def views_of(member: Member, listed: str, query: QueryDict) -> Views:
    """Return the views of a list, by name."""
    shown = query.copy()
    for name in [name for name in shown if not shown[name] or name in OF_A_PAGE]:
        del shown[name]
    saved = list(SavedView.objects.filter(member=member, list=listed).order_by("name"))
    here = next((each for each in saved if QueryDict(each.query) == shown), None)
    return Views(listed, encoded(shown), saved, here)


def address_of(view: SavedView) -> str:
    return f"{reverse(LISTS[view.list])}?{view.query}"
