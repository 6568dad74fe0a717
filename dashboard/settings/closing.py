"""Settings → Close business: exports of everything, and the request to close it."""

from __future__ import annotations

import structlog
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard.memberships import Membership, members_form
from kit import mail
from kit.db import clock
from kit.text.display_names import mailed, mailed_address
from merchants.businesses import closing_requests
from merchants.models import Business, Member
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission

log = structlog.get_logger("sluice.dashboard")

EXPORTS = {
    "Payments": "dashboard-payments-export",
    "Payouts": "dashboard-payouts-export",
    "Virtual accounts": "dashboard-virtual-accounts-export",
    "Unapplied transfers": "dashboard-unapplied-export",
    "Settlements": "dashboard-settlements-export",
    "Invoices": "dashboard-invoices-export",
    "Disputes": "dashboard-disputes-export",
    "Webhook deliveries": "dashboard-deliveries-export",
    "Activity": "dashboard-activity-export",
}


@members_form("request the closing of the business", may=Permission.MANAGE_SETTINGS)
def close_business_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show what can be exported and what closing changes, and request it or withdraw the request."""
    if request.method == "POST":
        _decide(request, membership.business)
        return redirect("dashboard-close-business")
    context = {
        "membership": membership,
        "business": membership.business,
        "exports": [
            (name, reverse(route, args=["csv"]), reverse(route, args=["xlsx"]))
            for name, route in EXPORTS.items()
        ],
    }
    return render(request, "dashboard/settings/close.html", context)


def _decide(request: HttpRequest, business: Business) -> None:
    actor, now = person_acting(request), clock.now()
    if "withdraw" in request.POST:
        if closing_requests.withdraw(business=business, actor=actor, now=now):
            messages.success(request, "Request withdrawn. The business stays open.")
    elif closing_requests.request_closing(business=business, actor=actor, now=now):
        _mail_owners(business, by=actor.name)
        messages.success(request, "Closing requested. Owners receive an email when the business is closed.")


def _mail_owners(business: Business, *, by: str) -> None:
    """Email the owners, so that each can withdraw the request. If that fails, the page still shows it."""
    name = mailed(business.name)
    mail.send(
        f"The closing of {name} was requested",
        "dashboard/settings/closing_requested.txt",
        {
            "business": name,
            "by": mailed_address(by),
            "link": settings.PUBLIC_URL + reverse("dashboard-close-business"),
        },
        Member.objects.active(business, [Member.Role.OWNER]).addresses(),
        log=log,
        failure="request to close a business not mailed",
    )
