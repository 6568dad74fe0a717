"""Links between objects and the API requests about them, and the members who requested them instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from dashboard.ui.related import RelatedObject
from merchants.models import ApiRequest, AuditEntry, Business

Kind = ApiRequest.ObjectKind

# The page of an object of each kind.
PAGES = {
    Kind.PAYMENT: "dashboard-payment",
    Kind.PAYOUT: "dashboard-payout",
    Kind.CARD_CHECK: "dashboard-payment",
    Kind.REFUND: "dashboard-refund",
    Kind.VIRTUAL_ACCOUNT: "dashboard-virtual-account",
    Kind.UNAPPLIED_TRANSFER: "dashboard-unapplied-item",
    Kind.SETTLEMENT: "dashboard-settlement",
    Kind.EVENT: "dashboard-delivery",
    Kind.DISPUTE: "dashboard-dispute",
}
SUCCEEDED, REFUSED, FAILED = 200, 400, 500  # the first status of each class


@dataclass(frozen=True, slots=True, kw_only=True)
class MembersAction:
    """The audit entry of what a member requested in the dashboard."""

    name: str
    target: str
    reference: str = ""  # in `after`, where several entries have the target


def page_of_object(call: ApiRequest) -> str:
    """Return the address of the object that a request made, changed or read; empty if it has none."""
    page = PAGES.get(Kind(call.object_kind)) if call.object_kind else None
    return reverse(page, args=[call.object_id]) if page else ""


def request_tone(status: int) -> str:
    """Return the badge of an HTTP status.

    >>> [request_tone(each) for each in (201, 404, 503)]
    ['success', 'pending', 'failed']
    """
    return "failed" if status >= FAILED else "pending" if status >= REFUSED else "success"


def origin_of(
    business: Business, object_id: UUID, *, action: MembersAction | None = None
) -> Iterator[RelatedObject]:
    """Yield the API request that made an object, or the first one about it, and the member who made it instead.

    Old requests are purged, and members make objects without one.
    """
    calls = ApiRequest.objects.filter(business=business, object_id=object_id)
    first = calls.order_by("id").first()
    if action is not None and not (first and first.method == "POST" and first.status < REFUSED):
        entry = _entry(business, action)
        if entry is not None:
            yield requested_by(entry.actor, kind=entry.action.partition(".")[0])
    if first is not None:
        yield request_link(first)


def request_link(call: ApiRequest) -> RelatedObject:
    return RelatedObject(
        icon="code-bracket",
        name="API request",
        text=f"{call.method} {call.target}",
        address=reverse("dashboard-request", args=[call.pk]),
        status=request_tone(call.status),
        status_name=str(call.status),
    )


def _entry(business: Business, action: MembersAction) -> AuditEntry | None:
    found = AuditEntry.objects.filter(business=business, target=action.target, action=action.name)
    if action.reference:
        found = found.filter(after__reference=action.reference)
    entry: AuditEntry | None = found.order_by("id").first()
    return entry


def requested_by(actor: str, *, kind: str) -> RelatedObject:
    """Return the member who requested an object in the dashboard. `kind` is that of the activity."""
    query = urlencode({"who": actor, "kind": kind})
    return RelatedObject(
        icon="user-circle",
        name="Requested by",
        text=actor,
        address=f"{reverse('dashboard-activity')}?{query}",
    )
