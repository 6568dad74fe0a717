"""The overview of a business, and switching to another business."""

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone

from dashboard.memberships import Membership, members_action, members_page, switch_to
from dashboard.overview.summary import RANGES, overview_of
from merchants.people.roles import Permission


@members_action(
    "choose a business",
    may=Permission.VIEW,
    in_any_business=True,
    never_asks="it only chooses which business is shown",
)
def switch_business(request: HttpRequest, membership: Membership) -> HttpResponse:
    if not switch_to(request, membership, request.POST.get("business", "")):
        raise Http404
    return redirect("overview")


@members_page
def overview(request: HttpRequest, membership: Membership) -> HttpResponse:
    days = next((each for each in RANGES if str(each) == request.GET.get("days")), 30)
    found = overview_of(membership.business, days=days, now=timezone.now())
    context = {
        "membership": membership,
        "overview": found,
        "attention": found.attention,
        "is_sandbox": settings.SANDBOX,
        "days": days,
        "ranges": RANGES,
    }
    return render(request, "dashboard/overview.html", context)
