"""Links between objects and the API requests about them, and the members who requested them instead."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from urllib.parse import urlencode
from uuid import UUID

from django.urls import reverse

from dashboard.ui.components.related import RelatedObject
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """The first API request about an object, and the entry of the member who made it instead."""

    call: ApiRequest | None
    entry: AuditEntry | None

    @property
    def maker(self) -> str:
        """Return who made the object: a member, or the public id of an API key. Empty if unknown."""
        if self.entry is not None:
            return self.entry.actor
        return f"API key {self.call.key}" if self.call is not None and _has_made(self.call) else ""

    def links(self) -> Iterator[RelatedObject]:
        if self.entry is not None:
            yield requested_by(self.entry.actor, kind=self.entry.action.partition(".")[0])
        if self.call is not None:
            yield request_link(self.call)


def find_origin(business: Business, object_id: UUID, *, action: MembersAction | None = None) -> Origin:
    """Return where an object comes from. Old requests are purged, and members make objects without one."""
    call = ApiRequest.objects.filter(business=business, object_id=object_id).order_by("id").first()
    is_members = action is not None and not (call and _has_made(call))
    return Origin(call=call, entry=_entry(business, action) if action and is_members else None)


def origin_of(
    business: Business, object_id: UUID, *, action: MembersAction | None = None
) -> Iterator[RelatedObject]:
    """Yield the API request that made an object, or the first one about it, and the member who made it instead."""
    yield from find_origin(business, object_id, action=action).links()


def _has_made(call: ApiRequest) -> bool:
    return call.method == "POST" and call.status < REFUSED


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
    return found.order_by("id").first()


def requested_by(actor: str, *, kind: str) -> RelatedObject:
    """Return the member who requested an object in the dashboard. `kind` is that of the activity."""
    query = urlencode({"who": actor, "kind": kind})
    return RelatedObject(
        icon="user-circle",
        name="Requested by",
        text=actor,
        address=f"{reverse('dashboard-activity')}?{query}",
    )
