"""Pages that explain: the front page, the test data, the API's errors, and what is not there.

The pages of failures are rendered without a request: no context processor, no session, no database.
"""

from http import HTTPStatus
from itertools import groupby

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.template.loader import render_to_string

from config.problems import PROBLEMS, problem_response
from dashboard.access import NotInThisRole
from payments import sandbox_tables


def front_page(request: HttpRequest) -> HttpResponse:
    """Say what this is and where to go."""
    tables = [sandbox_tables.cards(), sandbox_tables.card_amounts()] if settings.SANDBOX else []
    return render(request, "front.html", {"is_sandbox": settings.SANDBOX, "tables": tables})


def data_page(request: HttpRequest) -> HttpResponse:
    """Show what triggers which outcome in the sandbox."""
    return render(request, "docs/test_data.html", {"tables": sandbox_tables.tables()})


def errors_page(request: HttpRequest) -> HttpResponse:
    """List every code of the API's errors by its HTTP status."""
    by_status = groupby(
        sorted(PROBLEMS.items(), key=lambda item: item[1].status), lambda item: item[1].status
    )
    groups = [{"status": HTTPStatus(status), "problems": list(problems)} for status, problems in by_status]
    return render(request, "docs/errors.html", {"groups": groups})


def error_page(request: HttpRequest, code: str) -> HttpResponse:
    """Explain one code; the `type` of every problem leads here."""
    if code not in PROBLEMS:
        raise Http404
    kind = PROBLEMS[code]
    address = f"{settings.PUBLIC_URL}/docs/errors/{code}"
    context = {"code": code, "kind": kind, "status": HTTPStatus(kind.status), "address": address}
    return render(request, "docs/error.html", context)


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    if request.path.startswith("/api/"):
        return problem_response(request, "invalid_request")
    return _failure_page(request, HTTPStatus.BAD_REQUEST)


def forbidden(request: HttpRequest, exception: Exception) -> HttpResponse:
    reason = str(exception) if isinstance(exception, NotInThisRole) else ""
    return _failure_page(request, HTTPStatus.FORBIDDEN, reason=reason)


def forged(request: HttpRequest, reason: str = "") -> HttpResponse:  # noqa: ARG001
    """Refuse a form that no page of ours has sent, or one that is too old."""
    return _failure_page(request, HTTPStatus.FORBIDDEN)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    if request.path.startswith("/api/"):
        return problem_response(request, "not_found")
    return _failure_page(request, HTTPStatus.NOT_FOUND)


def server_error(request: HttpRequest) -> HttpResponse:
    if request.path.startswith("/api/"):
        return problem_response(request, "internal_error")
    return _failure_page(request, HTTPStatus.INTERNAL_SERVER_ERROR)


def _failure_page(request: HttpRequest, status: HTTPStatus, **context: str) -> HttpResponse:
    context |= {"request_id": getattr(request, "id", "")}
    return HttpResponse(render_to_string(f"{status.value}.html", context), status=status)
