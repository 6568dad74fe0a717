"""Settings → Payouts: limits, approval, and the question to the business's server."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_action, members_form
from dashboard.settings.change_mail import send_notice
from dashboard.ui.forms.forms import PageForm
from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from kit.money.amount_input import InvalidAmount, amounts_by_currency, amounts_in_words
from merchants.models import Business
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import PayoutControls, PayoutControlsChange
from payments.services.payouts.controls import payout_settings

AMOUNT_HINT = "One amount for each currency, such as NGN 500,000.00. Empty: no limit."


class AmountsField(forms.CharField):
    """One amount for each currency, as one line: `NGN 100.00; USD 1.00`."""

    def __init__(self, label: str, hint: str = AMOUNT_HINT) -> None:
        super().__init__(label=label, help_text=hint, required=False, max_length=400)


class PayoutSettingsForm(PageForm):
    """The fields are named after the columns of the controls. The contract names their labels."""

    per_payout = AmountsField("Per payout")
    per_day = AmountsField("Per day")
    per_beneficiary_and_day = AmountsField("Per beneficiary and day")
    number_per_day = forms.IntegerField(
        label="Number per day", required=False, min_value=1, max_value=1_000_000, help_text="Empty: no limit."
    )
    new_beneficiaries = AmountsField(
        "New beneficiaries", "At most this much in the first 24 hours of an account, from its first payout."
    )
    ask_instead = forms.BooleanField(label="Ask instead", required=False)
    approval = forms.ChoiceField(label="Payouts need approval", choices=PayoutControls.Approval.choices)
    approval_above = AmountsField(
        "Approval above", "One amount for each currency. Only for “Above an amount”."
    )
    keys_need_approval = forms.BooleanField(label="For keys too", required=False)
    two_approvals_above = AmountsField(
        "Two approvals above", "Two other members must approve larger payouts. Empty: one is enough."
    )
    server_url = forms.CharField(
        label="Ask my server before each payout",
        required=False,
        max_length=2048,
        help_text="An https address of yours. Empty: it isn't asked.",
        widget=forms.TextInput(attrs={"inputmode": "url"}),
    )

    business: Business

    @classmethod
    def of(cls, business: Business, data: Any = None) -> PayoutSettingsForm:
        """Return the form with the stored values, or with what was entered."""
        controls = payout_settings.controls_of(business)
        stored = {name: getattr(controls, name) for name in payout_settings.SETTINGS}
        shown = {
            name: amounts_in_words(each) if isinstance(each, dict) else each for name, each in stored.items()
        }
        form = cls(data, initial=shown)
        form.business = business
        return form

    def clean(self) -> dict[str, Any]:
        for name, field in self.fields.items():
            if isinstance(field, AmountsField) and name in self.cleaned_data:
                try:
                    self.cleaned_data[name] = amounts_by_currency(
                        self.cleaned_data[name], self.business.currencies
                    )
                except InvalidAmount as invalid:
                    self.add_error(name, str(invalid))
        return self.cleaned_data


@members_form(
    "change the limits and the approval of payouts",
    may=Permission.MANAGE_SETTINGS,
    shown_to=Permission.VIEW,
)
def payout_settings_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the settings of payouts, and save them. What loosens them waits."""
    form = PayoutSettingsForm.of(membership.business, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid() and _save(request, membership, form):
        return redirect("dashboard-payout-settings")
    waiting = payout_settings.open_change_of(membership.business)
    context = {
        "membership": membership,
        "form": form,
        "waiting": waiting,
        "waiting_changes": _in_words(form, waiting),
        "may_confirm": waiting is not None
        and waiting.applies_at is None
        and waiting.made_by_id != membership.member.user_id,
        "caps": _caps(form, membership.business),
    }
    return render(request, "dashboard/settings/payouts.html", context)


def _save(request: HttpRequest, membership: Membership, form: PayoutSettingsForm) -> bool:
    try:
        waiting = payout_settings.change(
            business=membership.business,
            user=membership.member.user,
            actor=person_acting(request),
            now=clock.now(),
            **form.cleaned_data,
        )
    except ValidationError as refused:
        for name, errors in refused.message_dict.items():
            form.add_error(name, errors)
        return False
    if waiting is not None:
        send_notice(waiting)
    if waiting is None:
        messages.success(request, "Settings saved.")
    elif waiting.applies_at is None:
        messages.warning(request, "What loosens the protection waits until another owner confirms it.")
    else:
        messages.warning(request, "What loosens the protection applies in 24 hours, unless you withdraw it.")
    return True


@members_action("decide about a change of the settings of payouts", may=Permission.MANAGE_SETTINGS)
def decide_payout_settings_page(
    request: HttpRequest, membership: Membership, change_id: UUID
) -> HttpResponse:
    """Confirm a change as a second owner, or withdraw it."""
    if not PayoutControlsChange.objects.filter(pk=change_id, business=membership.business).exists():
        raise Http404
    confirms = request.POST.get("decision") == "confirm"
    decide = payout_settings.confirm if confirms else payout_settings.withdraw
    done = "The change applies now." if confirms else "The change was withdrawn."
    with refusals_shown(request, done=done):
        decide(change_id, user=membership.member.user, actor=person_acting(request), now=clock.now())
    return redirect("dashboard-payout-settings")


def _in_words(form: PayoutSettingsForm, waiting: PayoutControlsChange | None) -> list[tuple[str, str]]:
    return [] if waiting is None else [_value(form, name, value) for name, value in waiting.changes.items()]


def _caps(form: PayoutSettingsForm, business: Business) -> list[tuple[str, str]]:
    caps = payout_settings.controls_of(business).caps
    return [_value(form, name, value) for name, value in caps.items() if value]


def _value(form: PayoutSettingsForm, name: str, value: Any) -> tuple[str, str]:
    if isinstance(value, dict):
        text = amounts_in_words(value)
    elif isinstance(value, bool):
        text = "on" if value else "off"
    else:
        text = str(PayoutControls.Approval(value).label if name == "approval" else value or "")
    return str(form.fields[name].label), text or "none"
