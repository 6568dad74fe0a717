"""The list of payment links."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.memberships import Membership, members_page
from dashboard.payment_links.link_list import LINKS, LinkFilter
from dashboard.payment_links.sharing.shown_links import shown
from dashboard.ui.lists.lists import list_context
from kit.db import clock


@members_page
def links_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    now = clock.now()
    form = LinkFilter(request.GET, business=membership.business, now=now)
    context = list_context(LINKS, form, form, membership=membership, query=request.GET)
    rows = [shown(each, now=now) for each in context["page"].rows]
    return render(request, "dashboard/payment_links/links.html", context | {"rows": rows})
