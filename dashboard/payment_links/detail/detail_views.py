"""The page of a payment link."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.memberships import Membership, members_page
from dashboard.payment_links.detail.facts import LinkFacts
from dashboard.payment_links.detail.link_detail import detail_of
from dashboard.payment_links.lookup import own_link
from dashboard.payment_links.sharing.shown_links import shown
from kit.db import clock


@members_page
def link_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Show a payment link.

    :raises Http404: there is none, or it is another business's
    """
    link, now = own_link(membership, link_id), clock.now()
    context = {
        "membership": membership,
        "link": link,
        "shown": shown(link, now=now),
        "facts": LinkFacts(link),
        "detail": detail_of(link, now=now),
    }
    return render(request, "dashboard/payment_links/link.html", context)
