"""Monthly statements for members, and the links that they give to guests."""

from __future__ import annotations

from uuid import UUID

from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from dashboard.memberships import Membership, members_action, members_export, members_form, members_page
from dashboard.models import GuestLink
from dashboard.statements import guest_links
from dashboard.statements.forms import GuestLinkForm
from dashboard.statements.months import Month, months_of, usual
from dashboard.statements.statement_page import context_of, file_of
from dashboard.ui.lists import exports
from kit.db import clock
from merchants.exports import FileType
from merchants.models import Business
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission

LISTED = 100


@members_page
def statement_page(request: HttpRequest, membership: Membership, month: Month | None = None) -> HttpResponse:
    """Show a month, by default the latest one that is over, or the one that was chosen."""
    now = clock.now()
    months = _months_with(month, membership.business)
    shown = month or _chosen(request, months) or usual(months, membership.business.zone, now=now)
    context = context_of(membership.business, shown, months, now=now)
    return render(request, "dashboard/statements/statement.html", context | {"membership": membership})


@members_export
def statement_export(
    request: HttpRequest, membership: Membership, month: Month, file_type: FileType
) -> HttpResponseBase:
    _months_with(month, membership.business)
    return exports.export(
        request,
        file_of(membership.business, month),
        name=f"statement-{month}",
        file_type=file_type,
        page=reverse("dashboard-statement", args=[month]),
    )


@members_page
def guest_links_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    now, makers = clock.now(), guest_links.makers_of(membership.business)
    links = GuestLink.objects.filter(business=membership.business).select_related("made_by")
    listed = [
        {"link": each, "state": guest_links.state_of(each, makers, now=now), "months": _in_words(each)}
        for each in links.order_by("-created_at")[:LISTED]
    ]
    return render(request, "dashboard/statements/links.html", {"membership": membership, "links": listed})


@members_form("create a guest link", may=Permission.SHARE_STATEMENTS)
def new_guest_link_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Create a guest link. Its address is in this response only."""
    now = clock.now()
    months = months_of(membership.business, now=now)
    month = str(_chosen(request, months) or usual(months, membership.business.zone, now=now))
    form = GuestLinkForm(
        request.POST if request.method == "POST" else None,
        months=months,
        initial={"first": month, "last": month},
    )
    context = {"membership": membership, "form": form}
    if request.method == "POST" and form.is_valid():
        link, token = guest_links.create(
            business=membership.business,
            name=form.cleaned_data["name"],
            first=form.cleaned_data["first"],
            last=form.cleaned_data["last"],
            valid_days=form.cleaned_data["days"],
            maker=membership.member.user,
            actor=person_acting(request),
            now=now,
        )
        address = settings.PUBLIC_URL + reverse("guest-statement", args=[token])
        context |= {"made": link, "address": address, "months": _in_words(link)}
    return render(request, "dashboard/statements/new_link.html", context)


@members_action("revoke a guest link", may=Permission.SHARE_STATEMENTS)
def revoke_guest_link(request: HttpRequest, membership: Membership, guest_link_id: UUID) -> HttpResponse:
    link = get_object_or_404(GuestLink, business=membership.business, pk=guest_link_id)
    try:
        guest_links.revoke(link, actor=person_acting(request), now=clock.now())
        messages.success(request, "Guest link revoked. It no longer works.")
    except guest_links.HasEnded:
        messages.warning(request, "This link has already been revoked.")
    return redirect("dashboard-guest-links")


def _chosen(request: HttpRequest, months: list[Month]) -> Month | None:
    return next((each for each in months if str(each) == request.GET.get("month")), None)


def _months_with(month: Month | None, business: Business) -> list[Month]:
    """Return the months of a business.

    :raises Http404: the month isn't one of them
    """
    months = months_of(business, now=clock.now())
    if month is not None and month not in months:
        raise Http404
    return months


def _in_words(link: GuestLink) -> str:
    first, last = Month.of(link.first_month), Month.of(link.last_month)
    return first.name if first == last else f"{first.name} to {last.name}"
