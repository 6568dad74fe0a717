"""The request log of a business."""

from datetime import timedelta

from django.conf import settings
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.http import require_safe

from dashboard.developers.forms import RequestFilter
from dashboard.memberships import Membership, members_only
from dashboard.ui.pagination import BY_NUMBER, page_of
from merchants.models import ApiKey, ApiRequest, Business
from merchants.request_log import failed_calls

STATUS_CLASS = 100  # statuses in a class such as 4xx
FAILED_LISTED = 10  # keys and reasons


@require_safe
@members_only
def requests_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = RequestFilter(request.GET, keys=_keys(membership.business))
    calls = ApiRequest.objects.filter(business=membership.business)
    narrowed = _narrow(calls, form) if form.is_valid() else calls.none()
    context = {
        "membership": membership,
        "form": form,
        "page": page_of([narrowed], request.GET, order=BY_NUMBER),
        "days": settings.REQUEST_LOG_DAYS,
        "failed_calls": failed_calls(membership.business, since=timezone.now() - timedelta(days=1))[
            :FAILED_LISTED
        ],
    }
    return render(request, "dashboard/developers/requests.html", context)


def _narrow(calls: QuerySet[ApiRequest], form: RequestFilter) -> QuerySet[ApiRequest]:
    wanted = form.cleaned_data
    text = wanted["q"].strip()
    if text.startswith("/"):
        calls = calls.filter(target__startswith=text)
    elif text:
        calls = calls.filter(request_id=text)
    if wanted["status"]:
        first = int(wanted["status"]) * STATUS_CLASS
        calls = calls.filter(status__gte=first, status__lt=first + STATUS_CLASS)
        if first >= 4 * STATUS_CLASS:
            calls = calls.filter(Q(status__gte=400))  # the condition of the partial index
    if wanted["key"]:
        calls = calls.filter(key=wanted["key"])
    return calls


def _keys(business: Business) -> list[tuple[str, str]]:
    listed = ApiKey.objects.filter(business=business).order_by("-created_at").values_list("public_id", "name")
    return [(public_id, f"{name} ({public_id})" if name else public_id) for public_id, name in listed[:100]]
