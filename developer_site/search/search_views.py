"""The search of the documentation: a form that is sent by GET."""

from django.http import HttpRequest, HttpResponse

from developer_site.search.search import LONGEST_QUERY, search
from developer_site.views import render_docs
from merchants.people.access import public_page

EXAMPLES = {
    "duplicate_reference": "an error code",
    "20051": "an outcome code",
    "/api/payments": "a path",
    "payment_method_id": "a field",
    "payment.mismatch": "an event",
    "rotate key": "words of a guide",
}


@public_page
def search_page(request: HttpRequest) -> HttpResponse:
    """Show what the query `q` finds, or what can be searched for."""
    results = search(request.GET.get("q", ""))
    context = {"results": results, "examples": EXAMPLES.items(), "longest": LONGEST_QUERY}
    return render_docs(request, "docs/search.html", here="search", **context)
