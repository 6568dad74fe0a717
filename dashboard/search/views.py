"""The search page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_safe

from dashboard.memberships import Membership, members_only
from dashboard.search.results import search
from dashboard.ui.metadata_search import LONGEST_SEARCH


@require_safe
@members_only
def search_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show everything of the business that matches the query's text."""
    text = request.GET.get("q", "")[:LONGEST_SEARCH]
    context = {"membership": membership, "text": text, "results": search(membership.business, text)}
    return render(request, "dashboard/search/search.html", context)
