"""The checkouts of a payment link, and their export."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard.memberships import Membership, members_only
from dashboard.payment_links.checkout_rows import rows_of, table_of
from dashboard.payment_links.lookup import own_link
from dashboard.ui import exports
from dashboard.ui.pagination import page_of
from kit.db import clock
from merchants.exports import FileType
from payments.models import Checkout

SIZE = 20


@require_safe
@members_only
def checkouts_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Show the checkouts of a link, newest first, with the payers' answers."""
    link = own_link(membership, link_id)
    page = page_of([Checkout.objects.filter(link=link)], request.GET, size=SIZE)
    context = {
        "membership": membership,
        "link": link,
        "page": page,
        "rows": rows_of(page.rows, link=link, now=clock.now()),
    }
    return render(request, "dashboard/payment_links/checkouts.html", context)


@require_safe
@members_only
def checkouts_export(
    request: HttpRequest, membership: Membership, link_id: UUID, file_type: FileType
) -> HttpResponseBase:
    """Return all checkouts of a link, with the payers' answers."""
    link = own_link(membership, link_id)
    table = table_of(link, now=clock.now())
    page = reverse("dashboard-link-checkouts", args=[link.pk])
    return exports.export(request, table, name="checkouts", file_type=file_type, page=page)
