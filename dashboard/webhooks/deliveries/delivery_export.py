"""The export of deliveries."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter

from django.db.models import OuterRef, Subquery
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse

from dashboard.memberships import Membership, members_export
from dashboard.ui.lists import exports
from dashboard.ui.lists.pagination import BY_MOMENT
from dashboard.webhooks.deliveries.delivery_list import DeliveryFilter
from kit.files.tables import Column, Table
from merchants.exports import FileType
from payments.services.events.event_subjects import Subject, subjects_of
from webhooks.models import Attempt, Delivery, event_name


@dataclass(frozen=True, slots=True)
class Row:
    """A delivery with its subject. Test events have none."""

    delivery: Delivery
    subject: Subject | None


COLUMNS: list[Column[Row]] = [
    Column("id", lambda row: row.delivery.pk),
    Column("event", lambda row: event_name(row.delivery.event)),
    Column("subject_type", lambda row: row.subject.type if row.subject else "test"),
    Column("subject_id", lambda row: row.subject.id if row.subject else None),
    Column("reference", lambda row: row.subject.reference if row.subject else None),
    Column("state", lambda row: row.delivery.state),
    Column("automatic_attempts", lambda row: row.delivery.attempts_made),
    Column("manual_attempts", lambda row: row.delivery.manual_attempts),
    Column("last_response", attrgetter("delivery.last_response")),
    Column("last_error", attrgetter("delivery.last_error")),
    Column("created_at", lambda row: row.delivery.created_at),
    Column("next_attempt_at", lambda row: row.delivery.next_attempt_at),
    Column("delivered_at", lambda row: row.delivery.delivered_at),
]
LAST_ATTEMPT = Attempt.objects.filter(delivery=OuterRef("pk")).order_by("-number")


@members_export
def deliveries_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form, page = DeliveryFilter(request.GET, business=membership.business), reverse("dashboard-deliveries")
    if not form.is_valid():
        return exports.back_to_list(request, page)
    found = [
        each.annotate(
            last_response=Subquery(LAST_ATTEMPT.values("status")[:1]),
            last_error=Subquery(LAST_ATTEMPT.values("error")[:1]),
        )
        for each in form.sources()
    ]
    table = Table(columns=COLUMNS, rows=_rows(exports.rows_of(found, order=BY_MOMENT)))
    return exports.export(request, table, name="deliveries", file_type=file_type, page=page)


def _rows(deliveries: Iterator[Delivery]) -> Iterator[Row]:
    for chunk in exports.in_chunks(deliveries):
        subjects = subjects_of(chunk)
        for delivery in chunk:
            yield Row(delivery, subjects.get(delivery.pk))
