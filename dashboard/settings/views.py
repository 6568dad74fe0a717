"""The settings of the business."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form
from dashboard.settings.forms import FORMS
from kit.db import clock
from merchants import business_settings
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission


@members_form("change the settings of the business", may=Permission.MANAGE_SETTINGS, shown_to=Permission.VIEW)
def settings_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the settings, and save one group of them."""
    forms = {name: form.of(membership.business) for name, form in FORMS.items()}
    group = request.POST.get("group", "")
    if group in FORMS:
        forms[group] = form = FORMS[group].of(membership.business, request.POST)
        if form.is_valid():
            business_settings.change(
                business=membership.business,
                actor=person_acting(request),
                now=clock.now(),
                **form.cleaned_data,
            )
            messages.success(request, "Settings saved.")
            return redirect("dashboard-settings")
    return render(request, "dashboard/settings/settings.html", {"membership": membership, "forms": forms})
