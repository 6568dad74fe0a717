"""A list of transactions, and its export."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from operator import attrgetter
from typing import Any

from django.db.models import OuterRef, Subquery, UUIDField
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone

from dashboard.memberships import Membership, members_export, members_page
from dashboard.transactions.filters import TransactionFilter, form_of, sources
from dashboard.transactions.rows import TransactionRows
from dashboard.ui.components.chips import ChipSpec
from dashboard.ui.components.figures import Figure
from dashboard.ui.components.todo import Item
from dashboard.ui.lists import exports
from dashboard.ui.lists.lists import ListSpec, list_response
from dashboard.ui.lists.tabs import Tab
from kit.files.tables import Column, Table, amounts, attributes
from merchants.exports import FileType
from payments.models import SettlementItem

ROWS = 20  # per page; with their second lines, more would make the page too heavy

CODE = ChipSpec("Response code", ("code",))


@dataclass(frozen=True, slots=True, kw_only=True)
class Beside:
    """What a list has besides its rows: what a member has to do about them, and tabs that are other lists."""

    attention: Sequence[Item] = ()
    tabs: Sequence[Tab] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class TransactionList(ListSpec):
    """What differs between the lists of payments and payouts."""

    filter: type[TransactionFilter]
    template: str
    rows: type[TransactionRows] = TransactionRows
    size: int = ROWS
    has_news: bool = True
    figures: Callable[..., list[Figure]] | None = None  # above the list: of a business, at a time
    beside: Callable[..., Beside] | None = None  # its rows: for a member, of the page's rows, at a time

    @property
    def page(self) -> str:
        """Return the name of the list's URL."""
        return f"dashboard-{self.name}"


@members_page
def list_page(request: HttpRequest, membership: Membership, listed: TransactionList) -> HttpResponse:
    form = form_of(listed.filter, request.GET, business=membership.business)
    rows = listed.rows(form, membership.business)
    further = partial(_with_figures, listed, membership)
    return list_response(request, listed.template, listed, form, rows, membership=membership, further=further)


def _with_figures(listed: TransactionList, membership: Membership, context: dict[str, Any]) -> dict[str, Any]:
    now = timezone.now()
    beside = listed.beside(membership, context["page"].rows, now=now) if listed.beside else Beside()
    return {
        "figures": listed.figures(membership.business, now=now) if listed.figures else [],
        "attention": beside.attention,
        "tabs": [*context["tabs"], *beside.tabs],
    }


@members_export
def export(
    request: HttpRequest, membership: Membership, listed: TransactionList, file_type: FileType
) -> HttpResponseBase:
    form = form_of(listed.filter, request.GET, business=membership.business)
    page = reverse(listed.page)
    if not form.is_valid():
        return exports.back_to_list(request, page)
    found = [
        each.only(*FIELDS).annotate(settlement_id=Subquery(SETTLEMENT, output_field=UUIDField()))
        for each in sources(form, business=membership.business)
    ]
    table = Table(columns=COLUMNS, rows=exports.rows_of(found))
    return exports.export(request, table, name=listed.name, file_type=file_type, page=page)


# The batch of a payment. A rejected batch releases its payments.
SETTLEMENT = SettlementItem.objects.filter(
    transaction=OuterRef("pk"), operation=None, dispute_step=None, is_live=True
).values("batch_id")
COLUMNS = [
    *attributes("id", "reference", "request_type", "method", "status", "response_code", "response_summary"),
    *amounts("amount"),
    *attributes("currency"),
    *amounts("fee", "fee_tax", "stamp_duty", "amount_captured", "amount_refunded", "amount_returned"),
    *attributes(
        "refund_status",
        "customer_name",
        "customer_email",
        "customer_reference",
        "card_brand",
        "card_last4",
        "account_number",
        "bank_code",
        "retrieval_reference_number",
        "system_trace_audit_number",
        "authorization_code",
    ),
    Column("gateway_code", attrgetter("full_gateway_code")),
    *attributes(
        "narration",
        "created_at",
        "finished_at",
        "settle_status",
        "settlement_id",
        "payment_link_id",
        "purpose",
    ),
]
FIELDS = [column.name for column in COLUMNS if column.name != "settlement_id"] + ["long_gateway_code"]
