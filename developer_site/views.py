"""Public pages: the front page, the guides, the test data, the API's errors, and error pages.

Error pages are rendered without a request: no context processor, no session, no database. Members see those of missing and
forbidden pages of the dashboard in its frame, and staff those of the administration.
"""

import json
import sys
from dataclasses import dataclass
from http import HTTPStatus
from itertools import groupby, pairwise
from typing import Any

from django.conf import settings
from django.contrib.admin import site
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils.cache import add_never_cache_headers

from config.errors.error_codes import ERROR_CODES
from config.errors.error_details import DETAILS
from config.errors.problems import RETRY_AFTER, is_database_away, problem_response
from dashboard.memberships import Membership, NotInThisRole, membership_of_frame
from dashboard.mfa_policy import must_set_up
from developer_site.guides.event_catalogue import catalogue
from developer_site.guides.guides import GUIDES, page_of, samples
from developer_site.openapi.answer_schemas import members_of
from developer_site.openapi.problem_examples import problem_example
from developer_site.openapi.views import no_such_path
from developer_site.reference.pages import OF_MOST_CALLS, pages_with_error
from kit.api.fields.field_codes import FIELD_CODES
from merchants.api.signed_headers import HEADERS
from merchants.models import User
from merchants.people.access import public_page
from payments.sandbox import sandbox_guide

IN_THE_FRAME = (HTTPStatus.FORBIDDEN, HTTPStatus.NOT_FOUND)  # for members, in the dashboard, and for staff
MOST_SEARCHED = 100  # characters of an address


@public_page
def front_page(request: HttpRequest) -> HttpResponse:
    """Show the front page."""
    tables = [sandbox_guide.cards(), sandbox_guide.card_amounts()] if settings.SANDBOX else []
    return render(request, "front.html", {"is_sandbox": settings.SANDBOX, "tables": tables})


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of the documentation's navigation."""

    name: str
    address: str
    title: str
    summary: str


def navigation() -> list[tuple[str, list[Entry]]]:
    """Return the documentation's pages in reading order, grouped by heading."""
    test_data = _page("test-data", "Test data", "Cards and amounts that trigger each outcome in the sandbox.")
    events = _page("event-catalogue", "Events", "Each event with its schema, examples and sandbox scenarios.")
    errors = _page("errors", "Errors", "The meaning of each error code, and what to do.")
    reference = _page("api-docs", "API reference", "Every endpoint with its fields, responses and examples.")
    return [
        ("Get started", [_entry("quickstart"), _entry("signing"), *_clients(), test_data]),
        ("Payments and payouts", [_entry(slug) for slug in ("hosted-checkout", "card-payments", "disputes", "card-checks", "payouts", "payout-batches", "virtual-accounts", "payment-links", "settlement")]),
        ("Webhooks", [_entry("webhooks"), events, errors, _entry("limits")]),
        ("Reference", [reference, _entry("changelog")]),
        ("Operations", [_entry(slug) for slug in ("going-live", "operations", "cash", "scaling", "security", "addresses", "rails", "checkout-com", "paystack", "bank-transfers")]),
    ]  # fmt: skip


def _page(name: str, title: str, summary: str) -> Entry:
    return Entry(name, reverse(name), title, summary)


def _clients() -> list[Entry]:
    return [_entry(slug) for slug in ("python-client", "node-client") if slug in GUIDES]


def _entry(slug: str) -> Entry:
    guide = GUIDES[slug]
    return Entry(slug, reverse("guide", args=[slug]), guide.title, guide.summary)


def render_docs(request: HttpRequest, template: str, *, here: str, **context: Any) -> HttpResponse:
    """Render a page of the documentation with its navigation and links to the previous and next page."""
    groups = navigation()
    pages = [entry for _, entries in groups for entry in entries]
    for before, after in pairwise(pages):
        context |= {"previous": before} if after.name == here else {}
        context |= {"next": after} if before.name == here else {}
    return render(request, template, context | {"navigation": groups, "here": here})


@public_page
def docs_page(request: HttpRequest) -> HttpResponse:
    """List every page of the documentation."""
    return render_docs(request, "docs/index.html", here="docs")


@public_page
def guide_page(request: HttpRequest, slug: str) -> HttpResponse:
    """Show a guide."""
    guide = GUIDES.get(slug)
    if guide is None:
        raise Http404
    return render_docs(request, "docs/guide.html", here=slug, guide=guide, page=page_of(guide))


@public_page
def sample_file(_request: HttpRequest, name: str) -> HttpResponse:
    """Return a sample as a plain text file."""
    path = samples().get(name)
    if path is None:
        raise Http404
    return HttpResponse(path.read_bytes(), content_type="text/plain; charset=utf-8")


@public_page
def data_page(request: HttpRequest) -> HttpResponse:
    """Show the sandbox's test data."""
    return render_docs(request, "docs/test_data.html", here="test-data", tables=sandbox_guide.tables())


@public_page
def events_page(request: HttpRequest) -> HttpResponse:
    """Show the catalogue of events."""
    return render_docs(
        request,
        "docs/events.html",
        here="event-catalogue",
        catalogue=catalogue(),
        is_sandbox=settings.SANDBOX,
    )


@public_page
def errors_page(request: HttpRequest) -> HttpResponse:
    """List every code of the API's errors by its HTTP status, and every code of a field."""
    by_status = groupby(
        sorted(ERROR_CODES.items(), key=lambda item: item[1].status), lambda item: item[1].status
    )
    groups = [{"status": HTTPStatus(status), "problems": list(problems)} for status, problems in by_status]
    fields = [(code, each, code in ERROR_CODES) for code, each in FIELD_CODES.items()]
    return render_docs(request, "docs/errors.html", here="errors", groups=groups, fields=fields)


@public_page
def error_page(request: HttpRequest, code: str) -> HttpResponse:
    """Explain one code. The `type` of every problem is the URL of this page."""
    if code not in ERROR_CODES:
        raise Http404
    kind = ERROR_CODES[code]
    context = {
        "code": code,
        "kind": kind,
        "status": HTTPStatus(kind.status),
        "members": members_of(code),
        "example": json.dumps(problem_example(code), indent=2, ensure_ascii=False),
        "details": DETAILS.get(code, ()),
        "is_of_most_calls": code in OF_MOST_CALLS,
        "returned_by": pages_with_error(code),
    }
    return render_docs(request, "docs/error.html", here="error", **context)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    if request.path.startswith("/api/"):
        return problem_response(request, "invalid_request")
    return _failure_page(request, HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) if isinstance(exception, NotInThisRole) else ""
    return _failure_page(request, HTTPStatus.FORBIDDEN, reason=reason)


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Reject a form with a missing or expired CSRF token."""
    return _failure_page(request, HTTPStatus.FORBIDDEN, template="403_csrf.html")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    if request.path.startswith("/api/") and not request.path.startswith("/api/docs/"):
        return problem_response(request, "not_found")
    if _is_from_program(request):
        return problem_response(request, "not_found", detail=str(no_such_path(request.path).detail))
    return _failure_page(request, HTTPStatus.NOT_FOUND)


def _is_from_program(request: HttpRequest) -> bool:
    """Return whether a request asks for the API rather than a page: by its headers, body or accepted format."""
    accepted = request.headers.get("Accept", "")
    return (
        any(name in request.headers for name in HEADERS)
        or request.content_type == "application/json"
        or ("application/json" in accepted and "text/html" not in accepted)
    )


def too_many_requests(request: HttpRequest, exception: Exception | None = None) -> HttpResponse:  # noqa: ARG001
    """Answer 429. The sign-in pages call this when an attempt limit is reached."""
    return _failure_page(request, HTTPStatus.TOO_MANY_REQUESTS)


def server_error(request: HttpRequest) -> HttpResponse:
    """Answer an exception that nothing else handled: 503 if the database is unavailable, otherwise 500."""
    is_away = is_database_away(sys.exception())
    if request.path.startswith("/api/"):
        answer = problem_response(request, "temporarily_unavailable" if is_away else "internal_error")
    else:
        status = HTTPStatus.SERVICE_UNAVAILABLE if is_away else HTTPStatus.INTERNAL_SERVER_ERROR
        answer = _failure_page(request, status)
    if is_away:
        answer["Retry-After"] = str(RETRY_AFTER)
    return answer


def _failure_page(
    request: HttpRequest, status: HTTPStatus, *, template: str = "", **context: str
) -> HttpResponse:
    context |= {"request_id": getattr(request, "id", "")}
    if status in IN_THE_FRAME and not template:
        if _is_of_staff(request):
            return _page_for_staff(request, status, context)
        membership = membership_of_frame(request)
        if membership is not None:
            return _page_in_the_frame(request, membership, status, context)
    return HttpResponse(render_to_string(template or f"{status.value}.html", context), status=status)


def _page_in_the_frame(
    request: HttpRequest, membership: Membership, status: HTTPStatus, context: dict[str, str]
) -> HttpResponse:
    """Return an error page with the dashboard's navigation and search."""
    request.membership = membership  # type: ignore[attr-defined]
    shown = {"membership": membership} | _about(request, status)
    response = render(request, "dashboard/lost.html", {**context, **shown}, status=status)
    add_never_cache_headers(response)
    return response


def _is_of_staff(request: HttpRequest) -> bool:
    """Return whether a page of the administration was opened by a user who may open it."""
    user = getattr(request, "user", None)
    is_here = request.path.startswith(reverse("admin:index"))
    return (
        is_here and isinstance(user, User) and site.has_permission(request) and not must_set_up(request, user)
    )


def _page_for_staff(request: HttpRequest, status: HTTPStatus, context: dict[str, str]) -> HttpResponse:
    """Return an error page with the administration's navigation and search."""
    titles = {
        HTTPStatus.NOT_FOUND: "Page not found",
        HTTPStatus.FORBIDDEN: "You don't have permission to do this",
    }
    shown = {**site.each_context(request), "title": titles[status], **context, **_about(request, status)}
    response = render(request, "admin/lost.html", shown, status=status)
    add_never_cache_headers(response)
    return response


def _about(request: HttpRequest, status: HTTPStatus) -> dict[str, object]:
    last = request.path.rstrip("/").rpartition("/")[2][:MOST_SEARCHED]
    return {"is_missing": status == HTTPStatus.NOT_FOUND, "searched": last}
