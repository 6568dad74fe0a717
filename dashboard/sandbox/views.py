"""The sandbox page, and actions that trigger scheduled events immediately."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from dashboard.memberships import Membership, for_members
from dashboard.sandbox.api_calls import Call, call
from dashboard.sandbox.presets import Group, Preset, groups
from dashboard.transactions.detail_page import address_of, own_transaction
from kit.db import clock
from merchants.models import ApiKey, Business
from merchants.request_actors import person_acting
from merchants.roles import Permission
from payments.models import InvalidState, Transaction
from payments.services import links
from payments.services.sandbox_clock import Advanced, advance
from payments.services.sandbox_events import make_attempt_due
from virtual_accounts.models import Session, VirtualAccount
from webhooks.models import Delivery

DEMO_LINK = "demo-link"  # the reference of the link that `manage.py sandbox` creates
NEWEST, SHOWN = 50, 5  # payments of links: looked at for pending ones, and listed
Awaiting = Transaction.Awaiting
TARGETS = ["/api/payments", "/api/virtual-accounts/simulate"]


ADVANCED = {
    Advanced.CHALLENGE: "3-D Secure expired.",
    Advanced.AUTHORISATION: "Authorisation expired.",
    Advanced.SESSION: "Virtual account session expired.",
    Advanced.QUESTION: "The status was queried.",
    Advanced.RETURN: "The bank returned the payout.",
}


class TryForm(forms.Form):
    target = forms.ChoiceField(choices=[(target, target) for target in TARGETS])
    body = forms.CharField(max_length=8000, strip=False)


@sensitive_post_parameters("body")
@require_http_methods(["GET", "HEAD", "POST"])
@for_members(to_change=Permission.TRY_FLOWS)
def sandbox_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the example requests, and the response to a submitted one."""
    _require_sandbox()
    found = _groups(membership.business)
    chosen = _chosen(found, request.GET.get("preset", ""))
    key = ApiKey.objects.usable(at=clock.now()).filter(business=membership.business, access="full").first()
    context: dict[str, Any] = {
        "membership": membership,
        "groups": found,
        "preset": chosen,
        "has_key": key is not None,
        "demo_link": links.find_of(membership.business, DEMO_LINK),
        "attempts": _pending_attempts(membership.business),
    }
    form = TryForm(request.POST)
    if request.method == "POST" and key is not None and form.is_valid():
        body = form.cleaned_data["body"].replace("\r\n", "\n")
        made = call(key=key, target=form.cleaned_data["target"], body=body)
        context |= {"call": made, "deliveries": _deliveries(membership.business, made)}
    return render(request, "dashboard/sandbox/sandbox.html", context)


def _groups(business: Business) -> list[Group]:
    account = (
        VirtualAccount.objects.of(business)
        .filter(status=VirtualAccount.Status.ACTIVE, type=VirtualAccount.Type.DYNAMIC)
        .order_by("-id")
        .first()
    )
    session = (
        Session.objects.filter(
            account__business=business, status=Session.Status.PENDING, expires_at__gt=clock.now()
        )
        .order_by("-id")
        .first()
    )
    return groups(account=account, session=session)


def _pending_attempts(business: Business) -> list[Transaction]:
    """Return the newest payments of links that wait for something that expires."""
    newest = Transaction.objects.of(business).filter(payment_link__isnull=False).order_by("-pk")
    recent = newest.select_related("payment_link")[:NEWEST]
    return [each for each in recent if each.awaiting in {Awaiting.PAYER, Awaiting.TRANSFER}][:SHOWN]


def _chosen(found: list[Group], name: str) -> Preset:
    presets = [preset for group in found for preset in group.presets]
    return next((preset for preset in presets if preset.name == name), presets[0])


def _deliveries(business: Business, made: Call) -> list[Delivery]:
    """Return the deliveries that a call has created so far."""
    try:
        subject = UUID(str(made.document.get("id", "")))
    except ValueError:
        return []
    return list(Delivery.objects.filter(business=business, subject=subject))


@require_POST
@for_members(may=Permission.TRY_FLOWS)
def expire_now(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Trigger the next scheduled event of a payment, like POST /api/sandbox/advance."""
    _require_sandbox()
    payment = own_transaction(membership, transaction_id)
    try:
        advanced = advance(payment, actor=person_acting(request))
    except InvalidState as refusal:
        messages.warning(request, str(refusal.detail))
    else:
        messages.success(request, ADVANCED[advanced])
    return redirect(address_of(payment))


@require_POST
@for_members(may=Permission.TRY_FLOWS)
def retry_now(request: HttpRequest, membership: Membership, delivery_id: UUID) -> HttpResponse:
    """Have the next attempt of a delivery made now, like POST /api/sandbox/advance."""
    _require_sandbox()
    delivery: Delivery | None = Delivery.objects.filter(business=membership.business, pk=delivery_id).first()
    if delivery is None:
        raise Http404
    try:
        make_attempt_due(delivery, actor=person_acting(request))
    except InvalidState as refusal:
        messages.warning(request, str(refusal.detail))
    else:
        messages.success(request, "Retrying now.")
    return redirect("dashboard-delivery", delivery.pk)


def _require_sandbox() -> None:
    if not settings.SANDBOX:
        raise Http404
