"""The request log of a business, and the page of one request."""

from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.utils import timezone

from dashboard.developers.request_detail import detail_of
from dashboard.developers.request_list import REQUESTS, RequestFilter
from dashboard.memberships import Membership, members_page
from dashboard.transactions.request_links import page_of_object, request_tone
from dashboard.ui.lists.lists import list_response
from merchants.api.request_log import failed_calls
from merchants.models import ApiKey, ApiRequest

FAILED_LISTED = 10  # keys and reasons


@dataclass(frozen=True, slots=True)
class Row:
    """A request, with the address of its object; empty if it has none. `key` is None for one of too many keys."""

    call: ApiRequest
    address: str
    key: ApiKey | None

    @property
    def tone(self) -> str:
        return request_tone(self.call.status)


@members_page
def requests_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = RequestFilter(request.GET, business=membership.business)

    def with_failures(context: dict[str, Any]) -> dict[str, Any]:
        failed = failed_calls(membership.business, since=timezone.now() - timedelta(days=1))
        return {
            "rows": [
                Row(call, page_of_object(call), form.keys.get(call.key)) for call in context["page"].rows
            ],
            "days": settings.REQUEST_LOG_DAYS,
            "has_reads": settings.REQUEST_LOG_READS,
            "failed_calls": [(each, form.keys.get(each.key)) for each in failed[:FAILED_LISTED]],
        }

    template = "dashboard/developers/requests.html"
    return list_response(
        request, template, REQUESTS, form, form, membership=membership, further=with_failures
    )


@members_page
def request_page(request: HttpRequest, membership: Membership, call_id: int) -> HttpResponse:
    call = get_object_or_404(ApiRequest, business=membership.business, pk=call_id)
    context = {"membership": membership, "detail": detail_of(call), "days": settings.REQUEST_LOG_DAYS}
    return render(request, "dashboard/developers/request.html", context)
