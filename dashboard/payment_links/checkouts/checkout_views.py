"""The checkouts of a payment link, and their export."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse

from dashboard.memberships import Membership, members_export, members_page
from dashboard.payment_links.checkouts.checkout_rows import rows_of, table_of
from dashboard.payment_links.lookup import own_link
from dashboard.ui.lists import exports
from dashboard.ui.lists.bounded_totals import count_each
from dashboard.ui.lists.pagination import page_of
from kit.db import clock
from kit.text.plurals import counted
from merchants.exports import FileType
from payments.models import Checkout

SIZE = 20


@members_page
def checkouts_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Show the checkouts of a link, newest first, with the payers' answers."""
    link = own_link(membership, link_id)
    found = [Checkout.objects.filter(link=link)]
    page, count = page_of(found, request.GET, size=SIZE), count_each({"all": found})["all"]
    context = {
        "membership": membership,
        "link": link,
        "page": page,
        "total": counted(count.number, "checkout") if count.is_exact else f"{count} checkouts",
        "rows": rows_of(page.rows, link=link, now=clock.now()),
    }
    return render(request, "dashboard/payment_links/checkouts.html", context)


@members_export
def checkouts_export(
    request: HttpRequest, membership: Membership, link_id: UUID, file_type: FileType
) -> HttpResponseBase:
    """Return all checkouts of a link, with the payers' answers."""
    link = own_link(membership, link_id)
    table = table_of(link, now=clock.now())
    page = reverse("dashboard-link-checkouts", args=[link.pk])
    return exports.export(request, table, name="checkouts", file_type=file_type, page=page)
