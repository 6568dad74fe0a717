"""Controls of a business's payouts on its admin page: freeze them, lift the freeze, and cap what its owners may set."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from kit.money.amount_input import InvalidAmount, amounts_by_currency, amounts_in_words
from merchants.admin.base import StaffAdmin, staff_action
from merchants.models import Business
from merchants.people.request_actors import person_acting
from payments.admin.decisions.submitting import submit
from payments.services.payouts.controls import payout_freezes, payout_settings
from payments.services.payouts.controls.payout_limits import AMOUNTS, LABELS, NUMBER
from payments.services.staff import staff_actions

MAY_CHANGE = "payments.change_payoutcontrols"


class FreezeForm(forms.Form):
    """Why payouts are frozen, or the freeze is lifted."""

    reason = forms.CharField(max_length=255, help_text="Recorded in the audit trail.")


class CapsForm(forms.Form):
    """The highest limits that owners may set. An empty one is unlimited."""

    def __init__(self, *args: Any, business: Business, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.business = business
        caps = payout_settings.controls_of(business).caps
        for name in AMOUNTS:
            self.fields[name] = forms.CharField(
                label=LABELS[name],
                required=False,
                max_length=400,
                initial=amounts_in_words(caps.get(name) or {}),
            )
        self.fields[NUMBER] = forms.IntegerField(
            label=LABELS[NUMBER], required=False, min_value=1, max_value=1_000_000, initial=caps.get(NUMBER)
        )
        self.fields["reason"] = forms.CharField(max_length=255, help_text="Recorded in the audit trail.")

    def clean(self) -> dict[str, Any]:
        for name in AMOUNTS:
            try:
                self.cleaned_data[name] = amounts_by_currency(
                    self.cleaned_data.get(name, ""), self.business.currencies
                )
            except InvalidAmount as invalid:
                self.add_error(name, str(invalid))
        return self.cleaned_data

    @property
    def caps(self) -> dict[str, Any]:
        return {name: self.cleaned_data[name] for name in (*AMOUNTS, NUMBER) if self.cleaned_data[name]}


class PayoutControlsActions(StaffAdmin):
    """The actions on the page of a business."""

    def get_urls(self) -> list[URLPattern]:
        actions = {
            "freeze-payouts": self.freeze_payouts,
            "lift-freeze": self.lift_freeze,
            "cap-payouts": self.cap_payouts,
        }
        return [*self.action_urls("business_id", actions), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if not isinstance(row, Business) or not request.user.has_perm(MAY_CHANGE):
            return {}
        return {
            "payout_controls": payout_settings.controls_of(row),
            "freeze_form": FreezeForm(auto_id="freeze_%s"),
            "caps_form": CapsForm(business=row, auto_id="caps_%s"),
        }

    @staff_action("freeze the payouts of a business", may=MAY_CHANGE, needs_second_person=False)
    def freeze_payouts(self, request: HttpRequest, business_id: UUID) -> HttpResponse:
        business = get_object_or_404(Business, pk=business_id)
        form = FreezeForm(request.POST, auto_id="freeze_%s")
        if not form.is_valid():
            messages.error(request, "Nothing was changed. Enter a reason.")
            return self.page_again(request, business_id, freeze_form=form)
        with refusals_shown(request, done="Payouts are frozen. What has been sent continues."):
            payout_freezes.freeze(
                business,
                reason=form.cleaned_data["reason"],
                actor=person_acting(request),
                now=clock.now(),
            )
        return redirect("admin:merchants_business_change", business_id)

    @staff_action("lift the freeze of a business's payouts", may=MAY_CHANGE, needs_second_person=True)
    def lift_freeze(self, request: HttpRequest, business_id: UUID) -> HttpResponse:
        business = get_object_or_404(Business, pk=business_id)
        form = FreezeForm(request.POST, auto_id="freeze_%s")
        if not form.is_valid():
            messages.error(request, "Nothing was changed. Enter a reason.")
            return self.page_again(request, business_id, freeze_form=form)
        reason = form.cleaned_data["reason"]
        submit(
            request,
            lambda: staff_actions.lift_freeze(business, reason=reason),
            done="The freeze is lifted. Payouts are accepted again.",
        )
        return redirect("admin:merchants_business_change", business_id)

    @staff_action("cap the payout limits of a business", may=MAY_CHANGE, needs_second_person=False)
    def cap_payouts(self, request: HttpRequest, business_id: UUID) -> HttpResponse:
        business = get_object_or_404(Business, pk=business_id)
        form = CapsForm(request.POST, business=business, auto_id="caps_%s")
        if not form.is_valid():
            messages.error(request, "Nothing was changed. Correct the fields below.")
            return self.page_again(request, business_id, caps_form=form)
        payout_settings.cap(
            business,
            form.caps,
            reason=form.cleaned_data["reason"],
            actor=person_acting(request),
            now=clock.now(),
        )
        messages.success(request, "The limits of the administration were saved.")
        return redirect("admin:merchants_business_change", business_id)
