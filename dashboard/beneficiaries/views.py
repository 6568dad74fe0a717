"""Beneficiary pages. Saved, changed and blocked by the same rules and services as the API."""

from __future__ import annotations

import secrets
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from rest_framework.exceptions import ValidationError

from dashboard.beneficiaries.beneficiary_list import BENEFICIARIES, BeneficiaryFilter
from dashboard.beneficiaries.forms import BlockForm, ChangeForm, NewForm
from dashboard.memberships import Membership, members_action, members_form, members_page
from dashboard.ui.forms.api_errors import add_api_errors
from dashboard.ui.lists.lists import list_context
from kit.api.errors import Problem
from kit.api.fields.strict_fields import instance_of, read_request
from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.api.beneficiary_serializers import BeneficiaryChangeSerializer, SavedBeneficiarySerializer
from payments.models import Beneficiary
from payments.services.payouts import beneficiaries


@members_page
def beneficiaries_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = BeneficiaryFilter(request.GET, business=membership.business)
    context = list_context(BENEFICIARIES, form, form, membership=membership, query=request.GET)
    return render(request, "dashboard/beneficiaries/beneficiaries.html", context)


@members_form("save a beneficiary", may=Permission.PAY_OUT)
def new_beneficiary_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Verify and save a beneficiary, by the API's rules."""
    form = NewForm(request.POST or None, initial={"reference": f"beneficiary-{secrets.token_hex(6)}"})
    if request.method == "POST" and form.is_valid():
        saved = _save(request, membership, form)
        if saved is not None:
            messages.success(request, "Beneficiary saved.")
            return redirect("dashboard-beneficiary", saved.pk)
    context = {"membership": membership, "form": form}
    return render(request, "dashboard/beneficiaries/new.html", context)


def _save(request: HttpRequest, membership: Membership, form: NewForm) -> Beneficiary | None:
    serializer = instance_of(SavedBeneficiarySerializer)
    try:
        wanted = read_request(serializer, form.request(), currencies=membership.business.currencies)
        result = beneficiaries.create(
            business=membership.business, request=wanted, actor=person_acting(request), now=clock.now()
        )
    except ValidationError as refusal:
        add_api_errors(form, refusal.detail)
        return None
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
        return None
    return result.resource


@members_form("change a beneficiary", may=Permission.PAY_OUT, shown_to=Permission.VIEW)
def beneficiary_page(request: HttpRequest, membership: Membership, beneficiary_id: UUID) -> HttpResponse:
    """Show a beneficiary with the names that the merchant and the bank have, and change it."""
    found = _own(membership, beneficiary_id)
    given = {name: getattr(found, name) for name in ("name", "email", "note")}
    form = ChangeForm(request.POST or None, initial=given)
    if request.method == "POST" and form.is_valid() and _change(request, membership, found, form):
        messages.success(request, "Beneficiary changed.")
        return redirect("dashboard-beneficiary", found.pk)
    context = {"membership": membership, "beneficiary": found, "form": form}
    return render(request, "dashboard/beneficiaries/beneficiary.html", context)


def _change(request: HttpRequest, membership: Membership, found: Beneficiary, form: ChangeForm) -> bool:
    serializer = instance_of(BeneficiaryChangeSerializer)
    try:
        changes = read_request(serializer, form.changes(), currencies=membership.business.currencies)
        beneficiaries.change(found, changes, actor=person_acting(request), now=clock.now())
    except ValidationError as refusal:
        add_api_errors(form, refusal.detail)
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
    return not form.errors


@members_form("block a beneficiary", may=Permission.PAY_OUT)
def block_page(request: HttpRequest, membership: Membership, beneficiary_id: UUID) -> HttpResponse:
    """Ask for the reason, and block the beneficiary."""
    found = _own(membership, beneficiary_id)
    form = BlockForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        reason = form.cleaned_data["reason"]
        beneficiaries.block(found.pk, reason=reason, actor=person_acting(request), now=clock.now())
        messages.success(request, "Beneficiary blocked.")
        return redirect("dashboard-beneficiary", found.pk)
    context = {"membership": membership, "beneficiary": found, "form": form}
    return render(request, "dashboard/beneficiaries/block.html", context)


@members_action("lift the block of a beneficiary", may=Permission.PAY_OUT)
def unblock(request: HttpRequest, membership: Membership, beneficiary_id: UUID) -> HttpResponse:
    found = _own(membership, beneficiary_id)
    with refusals_shown(request, done="Payouts to this beneficiary are allowed again."):
        beneficiaries.unblock(found.pk, actor=person_acting(request), now=clock.now())
    return redirect("dashboard-beneficiary", found.pk)


@members_action("delete a beneficiary", may=Permission.PAY_OUT)
def delete(request: HttpRequest, membership: Membership, beneficiary_id: UUID) -> HttpResponse:
    found = _own(membership, beneficiary_id)
    try:
        beneficiaries.delete(found.pk, actor=person_acting(request), now=clock.now())
    except Problem as refusal:
        messages.error(request, str(refusal.detail))
        return redirect("dashboard-beneficiary", found.pk)
    messages.success(request, "Beneficiary deleted. Its payouts stay.")
    return redirect("dashboard-beneficiaries")


def _own(membership: Membership, beneficiary_id: UUID) -> Beneficiary:
    own = Beneficiary.objects.of(membership.business).with_last_payment().select_related("business")
    return get_object_or_404(own, pk=beneficiary_id)
