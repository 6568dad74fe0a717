"""The list of payment links."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.memberships import Membership, members_only
from dashboard.payment_links.link_list import LINKS, LinkFilter
from dashboard.payment_links.shown_links import shown
from dashboard.ui.lists import list_context
from kit.db import clock


@require_safe
@members_only
def links_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    now = clock.now()
    form = LinkFilter(request.GET, business=membership.business, now=now)
    context = list_context(LINKS, form, form, membership=membership, query=request.GET)
    rows = [shown(each, now=now) for each in context["page"].rows]
    return render(request, "dashboard/payment_links/links.html", context | {"rows": rows})
