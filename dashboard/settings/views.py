"""The settings of the business: pages of groups, each of which is saved for itself."""

from __future__ import annotations

from collections.abc import Mapping

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form
from dashboard.settings.forms import GENERAL, PAYMENTS, SettingForm
from kit.db import clock
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission


@members_form("change the settings of the business", may=Permission.MANAGE_SETTINGS, shown_to=Permission.VIEW)
def settings_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the look, contacts and permissions of the business, and save one group of them."""
    return _page(request, membership, "dashboard/settings/settings.html", GENERAL)


@members_form("change the settings of payments", may=Permission.MANAGE_SETTINGS, shown_to=Permission.VIEW)
def payment_settings_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show which payments the business takes, and save one group of these settings."""
    return _page(request, membership, "dashboard/settings/payments.html", PAYMENTS)


def _page(
    request: HttpRequest, membership: Membership, template: str, kinds: Mapping[str, type[SettingForm]]
) -> HttpResponse:
    forms = {name: kind.of(membership.business) for name, kind in kinds.items()}
    group = request.POST.get("group", "")
    if group in kinds:
        forms[group] = form = kinds[group].of(membership.business, request.POST, request.FILES)
        if form.is_valid():
            form.save(actor=person_acting(request), now=clock.now())
            messages.success(request, "Settings saved.")
            return redirect(request.path)
    return render(request, template, {"membership": membership, "forms": forms})
