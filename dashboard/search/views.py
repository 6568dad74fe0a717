"""The search page."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.memberships import Membership, members_page
from dashboard.search.results import search
from dashboard.ui.lists.metadata_search import LONGEST_SEARCH


@members_page
def search_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show everything of the business that matches the query's text."""
    text = request.GET.get("q", "")[:LONGEST_SEARCH]
    context = {"membership": membership, "text": text, "results": search(membership.business, text)}
    return render(request, "dashboard/search/search.html", context)
