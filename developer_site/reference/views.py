"""The API reference. Its pages need no signature, no session and no script."""

from functools import lru_cache
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.csrf import csrf_exempt  # noqa: TID251  (it takes no POST)

from config.errors.problems import problem_response
from developer_site.guides import guides
from developer_site.openapi.document import document
from developer_site.reference.pages import groups, pages
from developer_site.reference.samples import column_of, example_named
from merchants.people.access import public_page

FIRST_CALL = "list-banks"  # whose sample stands beside the introduction


@method_decorator(csrf_exempt, name="dispatch")  # or a POST would be a forged form, and not 405
@public_page
class ReferenceView(View):
    """A page of the reference: the introduction, an operation or an event."""

    http_method_names = ["get", "head", "options"]

    def get(self, request: HttpRequest, slug: str = "") -> HttpResponse:
        context = _operation(slug, request.GET.get("example", "")) if slug else _introduction()
        context |= {"groups": groups(), "sections": introduction().sections, "slug": slug}
        name = "operation" if slug else "introduction"
        return render(request, f"docs/reference/{name}.html", context | {"is_sandbox": settings.SANDBOX})

    def http_method_not_allowed(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        answer = problem_response(request, "method_not_allowed")
        answer.headers["Allow"] = ", ".join(name.upper() for name in self.http_method_names)
        return answer


@lru_cache(maxsize=1)
def introduction() -> guides.Page:
    """Return what the document says before its operations."""
    return guides.page(document()["info"]["description"], file="")


def _introduction() -> dict[str, Any]:
    return {
        "page": introduction(),
        "version": document()["info"]["version"],
        "column": column_of(FIRST_CALL, ""),
    }


def _operation(slug: str, example: str) -> dict[str, Any]:
    page = pages().get(slug)
    if page is None:
        raise Http404
    example = example_named(page, example)
    return {"page": page, "column": column_of(slug, example), "example": example}
