"""What staff do about a business on its admin page: close it, reopen it, and remove its logo."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.db import clock
from kit.money.money import money
from ledger.models import Account
from merchants.admin.base import StaffAdmin, staff_action
from merchants.businesses.logos import change_logo
from merchants.models import Business
from merchants.people.request_actors import person_acting
from payments.admin.decisions.submitting import submit
from payments.services.staff.actions import business_closing
from payments.services.staff.staff_action import StaffAction

MAY_CHANGE = "merchants.change_business"
OWED: dict[str, str] = {
    Account.Kind.WALLET: "in its wallet",
    Account.Kind.PENDING_SETTLEMENT: "pending settlement",
    Account.Kind.RESERVE: "in its reserve",
    Account.Kind.DISPUTES_HELD: "held for disputes",
    Account.Kind.UNAPPLIED: "unapplied",
}
NOTHING = "Nothing was changed. Enter a reason."


class ReasonForm(forms.Form):
    reason = forms.CharField(max_length=255, help_text="Recorded in the audit trail.")


class BusinessStateActions(StaffAdmin):
    """The actions on the page of a business."""

    def get_urls(self) -> list[URLPattern]:
        actions = {"close": self.close, "reopen": self.reopen, "remove-logo": self.remove_logo}
        return [*self.action_urls("business_id", actions), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        context = super().page_context(request, row)
        if isinstance(row, Business) and request.user.has_perm(MAY_CHANGE):
            context |= {
                "state_form": ReasonForm(auto_id="state_%s"),
                "logo_form": ReasonForm(auto_id="logo_%s"),
                "owed": _owed(row),
            }
        return context

    @staff_action("close a business", may=MAY_CHANGE, needs_second_person=True)
    def close(self, request: HttpRequest, business_id: UUID) -> HttpResponse:
        done = "The business is closed. What it is owed still settles to its wallet."
        return self._submit(request, business_id, business_closing.closing, done=done)

    @staff_action("reopen a business", may=MAY_CHANGE, needs_second_person=True)
    def reopen(self, request: HttpRequest, business_id: UUID) -> HttpResponse:
        done = "The business is open again. Its owners create new keys, and its payouts stay frozen."
        return self._submit(request, business_id, business_closing.reopening, done=done)

    def _submit(
        self, request: HttpRequest, business_id: UUID, make: Callable[..., StaffAction], *, done: str
    ) -> HttpResponse:
        business = get_object_or_404(Business, pk=business_id)
        form = ReasonForm(request.POST, auto_id="state_%s")
        if not form.is_valid():
            messages.error(request, NOTHING)
            return self.page_again(request, business_id, state_form=form)
        reason = form.cleaned_data["reason"]
        submit(request, lambda: make(business, reason=reason), done=done)
        return redirect("admin:merchants_business_change", business_id)

    @staff_action("remove the logo of a business", may=MAY_CHANGE, needs_second_person=False)
    def remove_logo(self, request: HttpRequest, business_id: UUID) -> HttpResponse:
        business = get_object_or_404(Business, pk=business_id)
        form = ReasonForm(request.POST, auto_id="logo_%s")
        if not form.is_valid():
            messages.error(request, NOTHING)
            return self.page_again(request, business_id, logo_form=form)
        change_logo(
            business=business,
            image=None,
            actor=person_acting(request),
            now=clock.now(),
            reason=form.cleaned_data["reason"],
        )
        messages.success(request, "The logo is removed. Payers see the name of the business.")
        return redirect("admin:merchants_business_change", business_id)


def _owed(business: Business) -> list[str]:
    """Return what a business is owed: it still settles after the business is closed."""
    accounts = Account.objects.filter(business=business, kind__in=OWED).exclude(balance=0)
    return [
        f"{money(each.balance, each.currency)} {OWED[each.kind]}"
        for each in accounts.order_by("currency", "kind")
    ]
