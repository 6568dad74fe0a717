"""Settings → Notifications: which e-mails a member receives."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form
from dashboard.ui.forms.forms import PageForm
from merchants.models import Member
from merchants.people import notifications
from merchants.people.access import HARMLESS
from merchants.people.roles import Permission


class NotificationsForm(PageForm):
    """A switch for each kind of e-mail that the member's role receives."""

    def __init__(self, data: Any = None, *, member: Member) -> None:
        muted = notifications.muted_by(member)
        kinds = notifications.kinds_for(member.role)
        super().__init__(data, initial={kind.value: kind not in muted for kind in kinds})
        for kind in kinds:
            text = notifications.NOTIFICATIONS[kind].text
            self.fields[kind.value] = forms.BooleanField(label=text, required=False)

    @property
    def wanted(self) -> set[str]:
        """Return the kinds that are on. The form must be valid."""
        return {name for name, is_on in self.cleaned_data.items() if is_on}


@members_form("choose e-mails", may=Permission.VIEW, never_asks=HARMLESS)
def notifications_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show which e-mails the member receives, and save a choice."""
    form = NotificationsForm(request.POST if request.method == "POST" else None, member=membership.member)
    if request.method == "POST" and form.is_valid():
        notifications.choose(membership.member, form.wanted)
        messages.success(request, "Notifications saved.")
        return redirect("dashboard-notifications")
    context = {"membership": membership, "form": form}
    return render(request, "dashboard/settings/notifications.html", context)
