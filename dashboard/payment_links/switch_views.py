"""The pages that deactivate a payment link and activate it again. Each says what that means."""

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form
from dashboard.payment_links.lookup import own_link
from dashboard.payment_links.sharing.shown_links import shown
from kit.db import clock
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import InvalidState, PaymentLink, Transaction
from payments.services.links import links


@members_form("deactivate a payment link", may=Permission.MANAGE_LINKS)
def deactivate_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Explain deactivation, and deactivate the link.

    :raises Http404: there is no such link, or it is another business's
    """
    link = own_link(membership, link_id)
    if request.method == "POST":
        links.deactivate(link_id=link.pk, actor=person_acting(request), now=clock.now())
        messages.success(request, "Payment link deactivated.")
        return redirect("dashboard-payment-link", link.pk)
    return _page(request, membership, link, "dashboard/payment_links/deactivate.html")


@members_form("activate a payment link", may=Permission.MANAGE_LINKS)
def activate_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Explain activation, and activate the link. The page of a blocked link only shows the operator's reason.

    :raises Http404: there is no such link, or it is another business's
    """
    link = own_link(membership, link_id)
    if request.method == "POST":
        try:
            links.activate(link_id=link.pk, actor=person_acting(request), now=clock.now())
        except InvalidState:
            link.refresh_from_db()  # blocked; the page shows the reason
        else:
            messages.success(request, "Payment link activated.")
            return redirect("dashboard-payment-link", link.pk)
    return _page(request, membership, link, "dashboard/payment_links/activate.html")


def _page(request: HttpRequest, membership: Membership, link: PaymentLink, template: str) -> HttpResponse:
    context = {
        "membership": membership,
        "link": link,
        "shown": shown(link, now=clock.now()),
        "last_payment": Transaction.objects.filter(payment_link=link).order_by("-id").first(),
    }
    return render(request, template, context)
