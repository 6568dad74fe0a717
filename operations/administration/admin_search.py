"""Global search of the administration: one term in the models that staff look for, grouped by model.

It uses the search rules of the lists, which read an index each and a limited number of rows.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

from django.contrib import admin
from django.db.models import Model
from django.http import HttpRequest
from django.urls import reverse
from django.utils.http import urlencode

from disputes.models import Dispute, DisputeReport
from merchants.models import Business, User
from payments.models import CardOperation, PaymentLink, SettlementBatch, Transaction
from virtual_accounts.models import Transfer, UnappliedMoney, UnclaimedTransfer, VirtualAccount
from webhooks.models import Delivery

MODELS: tuple[type[Model], ...] = (
    Business, User, Transaction, PaymentLink, CardOperation, VirtualAccount, Transfer, UnappliedMoney, UnclaimedTransfer,
    SettlementBatch, Dispute, DisputeReport, Delivery,
)  # fmt: skip
SHOWN = 5  # rows of a group
LONGEST = 100  # characters of a term


@dataclass(frozen=True, slots=True)
class Hit:
    """A row that was found, and its page."""

    label: str
    address: str


@dataclass(frozen=True, slots=True)
class Group:
    """The rows of one model, and the list that shows all of them."""

    name: str
    hits: list[Hit]
    address: str


def search(request: HttpRequest, site: admin.AdminSite, term: str) -> Iterator[Group]:
    """Yield the groups with a match, of the models that the user may view."""
    for model in MODELS:
        pages: Any = site.get_model_admin(model)
        if pages.has_view_permission(request):
            hits = [_hit(row) for row in islice(_rows(pages, request, term), SHOWN)]
            if hits:
                address = reverse(f"admin:{_name(model)}_changelist")
                yield Group(
                    str(model._meta.verbose_name_plural).capitalize(),
                    hits,
                    f"{address}?{urlencode({'q': term})}",
                )


def _rows(pages: Any, request: HttpRequest, term: str) -> Iterator[Model]:
    found, _ = pages.get_search_results(request, pages.get_queryset(request), term)
    yield from found.order_by("-pk")[:SHOWN]


def _hit(row: Model) -> Hit:
    return Hit(str(row), reverse(f"admin:{_name(type(row))}_change", args=[row.pk]))


def _name(model: type[Model]) -> str:
    return f"{model._meta.app_label}_{model._meta.model_name}"
