"""Pages that explain: the front page, the API's errors, and what is not there."""

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from config.problems import PROBLEMS, problem_response


def front_page(request: HttpRequest) -> HttpResponse:
    """Say what this is and where to go."""
    return render(request, "front.html")


def error_page(request: HttpRequest, code: str) -> HttpResponse:
    """Explain one code; the `type` of every problem leads here."""
    if code not in PROBLEMS:
        raise Http404
    return render(request, "docs/error.html", {"code": code, "kind": PROBLEMS[code]})


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:  # noqa: ARG001
    if request.path.startswith("/api/"):
        return problem_response(request, "not_found")
    return render(request, "404.html", status=404)


def server_error(request: HttpRequest) -> HttpResponse:
    if request.path.startswith("/api/"):
        return problem_response(request, "internal_error")
    return render(request, "500.html", {"request_id": getattr(request, "id", "")}, status=500)
