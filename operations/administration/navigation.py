"""The navigation at the side of the administration: what staff open most. The first page lists the rest."""

from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any, cast

from django.db.models import IntegerField, QuerySet, Subquery
from django.http import HttpRequest

from cash.models import Break
from dashboard.ui.navigation import Area, Group, Link, LinkGroup
from merchants.models import User
from operations.administration.cash_page import OLD
from payments.models import Proposal, RailBlock, SettlementBatch, Transaction
from payments.rules.settlement.business_days import business_day

COUNTED = 1_000  # counting stops here

OVERVIEW = Area("Overview", "admin:index", "home")
GROUPS = (
    Group(
        "Money",
        (
            Area("Transactions", "admin:payments_transaction_changelist", "credit-card"),
            Area(
                "Settlements",
                "admin:payments_settlementbatch_changelist",
                "banknotes",
                counts="Batches awaiting approval",
            ),
            Area("Unapplied transfers", "admin:virtual_accounts_unappliedmoney_changelist", "inbox-stack"),
            Area("Disputes", "admin:disputes_dispute_changelist", "chat-bubble-left-right"),
            Area("Cash", "admin:cash", "scale", counts=f"Breaks older than {OLD} days"),
            Area("Statements", "admin:cash_statement_changelist", "document-text"),
            Area("Journals", "admin:payments_journal_changelist", "book-open"),
            Area("Taxes", "admin:taxes", "receipt-percent"),
        ),
    ),
    Group(
        "Rails",
        (
            Area("Connectors", "admin:connectors", "server-stack", counts="Blocked accounts"),
            Area("Provider webhooks", "admin:connectors_providerevent_changelist", "bolt"),
        ),
    ),
    Group(
        "Control",
        (
            Area(
                "Proposals",
                "admin:payments_proposal_changelist",
                "hand-raised",
                counts="Proposals awaiting a second person",
            ),
            Area("Businesses", "admin:merchants_business_changelist", "building-storefront"),
            Area("Staff", "admin:merchants_user_changelist", "users"),
            Area("Audit trail", "admin:merchants_auditentry_changelist", "clipboard-document-list"),
        ),
    ),
)
# The permissions that pages of our own ask for. Those of models ask for the one to view the model.
PERMISSIONS = {"admin:cash": "cash.view_break", "admin:taxes": "payments.view_feeinvoice"}
FOR_ALL_STAFF = {"admin:index", "admin:connectors"}


def groups(request: HttpRequest, *, now: datetime) -> list[LinkGroup]:
    """Return the areas that the user may open, with what awaits staff in each."""
    user = cast("User", request.user)
    allowed = {group.name: [area for area in group.areas if _may_open(user, area)] for group in GROUPS}
    waiting = _waiting(user, {area.page for areas in allowed.values() for area in areas}, now=now)
    here = _here(request.path)
    allowed = {"": [OVERVIEW], **allowed}
    return [
        LinkGroup(name, [_link(area, here, waiting) for area in areas])
        for name, areas in allowed.items()
        if areas
    ]


def _may_open(user: User, area: Area) -> bool:
    if area.page in FOR_ALL_STAFF:
        return True
    app, _, model = area.page.removeprefix("admin:").removesuffix("_changelist").rpartition("_")
    return user.has_perm(PERMISSIONS.get(area.page) or f"{app}.view_{model}")


def _here(path: str) -> str:
    """Return the address of the area of a page. The overview's begins all others."""
    if path == OVERVIEW.address:
        return path
    addresses = [area.address for group in GROUPS for area in group.areas]
    return max((each for each in addresses if path.startswith(each)), key=len, default="")


def _link(area: Area, here: str, waiting: Mapping[str, int]) -> Link:
    is_here = area.address == here
    return Link(area.name, area.address, area.icon, is_here, waiting.get(area.page, 0), area.counts)


class _Counted(Subquery):
    """The number of rows of a query, in the statement of another."""

    template = "(SELECT COUNT(*) FROM (%(subquery)s) AS counted)"
    output_field = IntegerField()


def _waiting(user: User, pages: set[str], *, now: datetime) -> Mapping[str, int]:
    """Return how much awaits staff, by page, with one statement."""
    counted = {page: rows for page, rows in _rows_that_wait(now) if page in pages}
    names = {f"waiting_{number}": page for number, page in enumerate(counted)}
    queries: dict[str, Any] = {
        name: _Counted(counted[page].order_by().values("pk")[:COUNTED]) for name, page in names.items()
    }
    found = User.objects.filter(pk=user.pk).values(**queries).first() if queries else None
    return {names[name]: count for name, count in (found or {}).items()}


def _rows_that_wait(now: datetime) -> Iterator[tuple[str, QuerySet[Any]]]:
    yield (
        "admin:payments_settlementbatch_changelist",
        SettlementBatch.objects.filter(state=Transaction.SettleStatus.PENDING),
    )
    overdue = business_day(now) - timedelta(days=OLD)
    yield "admin:cash", Break.objects.filter(ended_at=None, since__lt=overdue)
    yield "admin:connectors", RailBlock.objects.all()
    yield "admin:payments_proposal_changelist", Proposal.objects.open(at=now)
