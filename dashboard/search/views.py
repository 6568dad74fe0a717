"""The search page, and the part of it that the command palette shows."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.memberships import Membership, members_page
from dashboard.search.commands import commands
from dashboard.search.results import search
from dashboard.search.terms import LONGEST_SEARCH


@members_page
def search_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show everything of the business that matches the query's text, and what the member can do or open."""
    text = request.GET.get("q", "")[:LONGEST_SEARCH]
    results = search(membership.business, text)
    context = {
        "membership": membership,
        "text": text,
        "results": results,
        "commands": commands(membership, text, results),
    }
    is_palette = request.headers.get("X-Palette") == "true"
    return render(request, f"dashboard/search/{'_palette' if is_palette else 'search'}.html", context)
