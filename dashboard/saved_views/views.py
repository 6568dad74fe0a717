"""Saved views: save the filters of a list under a name, rename and delete them. Each member has their own."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from dashboard.memberships import Membership, members_action, members_form
from dashboard.models import SavedView
from dashboard.saved_views.forms import TOO_LONG, NewViewForm, ViewForm
from dashboard.saved_views.services import TooManyViews, rename, save
from dashboard.ui.lists.saved_views import LISTS, address_of
from merchants.people.access import HARMLESS
from merchants.people.roles import Permission


@members_action("save a view of a list", may=Permission.VIEW, never_asks=HARMLESS)
def save_view(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Save the filters of a list. A view with the same name is replaced."""
    form = NewViewForm(request.POST)
    listed = request.POST.get("list", "")
    if listed not in LISTS:
        raise Http404
    if not form.is_valid():
        too_long = form.errors.get("query") and TOO_LONG
        messages.error(request, too_long or "Enter a name of up to 60 characters for the view.")
        return redirect(reverse(LISTS[listed]))
    wanted = form.cleaned_data
    try:
        view = save(membership.member, listed=listed, name=wanted["name"], query=wanted["query"])
    except TooManyViews as refusal:
        messages.error(request, str(refusal))
        return redirect(reverse(LISTS[listed]))
    messages.success(request, f"Saved the view “{view.name}”.")
    return redirect(address_of(view))


@members_form("rename or delete a saved view", may=Permission.VIEW, never_asks=HARMLESS)
def view_page(request: HttpRequest, membership: Membership, view_id: int) -> HttpResponse:
    """Rename or delete a saved view."""
    view = get_object_or_404(SavedView, member=membership.member, pk=view_id)
    if request.method == "POST" and request.POST.get("action") == "delete":
        view.delete()
        messages.success(request, "View deleted.")
        return redirect(LISTS[view.list])
    form = ViewForm(request.POST or None, initial={"name": view.name})
    if request.method == "POST" and form.is_valid():
        if rename(view, form.cleaned_data["name"]):
            return redirect(address_of(view))
        form.add_error("name", "Another view of this list has this name.")
    context = {"membership": membership, "view": view, "form": form, "address": address_of(view)}
    return render(request, "dashboard/saved_views/view.html", context)
