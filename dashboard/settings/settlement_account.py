"""Settings → Settlement account: where settlements are paid to, when, and payouts on demand."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_action, members_form
from dashboard.settings.settlement_account_forms import AccountForm, ScheduleForm
from kit.api.errors import Problem
from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from kit.money.money import money
from ledger.services import balances
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import (
    InvalidState,
    SettlementAccount,
    SettlementAccountChange,
    SettlementPayout,
    Transaction,
)
from payments.rules.name_matching import names_match
from payments.services.settlement.payouts import payout_schedules, settlement_accounts, settlement_payouts

PAGE = "dashboard-settlement-account"
SHOWN = 10  # payouts on the page


@members_form("change the settlement account", may=Permission.MANAGE_SETTINGS, shown_to=Permission.VIEW)
def settlement_account_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the settlement account and its payouts, and save the account or the schedule."""
    account = _account_of(membership)
    group = request.POST.get("group", "")
    account_form = AccountForm(request.POST if group == "account" else None)
    schedule_form = ScheduleForm.of(account, request.POST if group == "schedule" else None)
    is_saved = account.currency and (
        (group == "account" and account_form.is_valid() and _save_account(request, membership, account_form))
        or (
            group == "schedule"
            and schedule_form.is_valid()
            and _save_schedule(request, membership, schedule_form)
        )
    )
    if is_saved:
        return redirect(PAGE)
    context = {
        "membership": membership,
        "account": account,
        "account_form": account_form,
        "schedule_form": schedule_form,
        **_state_of(account, membership),
    }
    return render(request, "dashboard/settings/settlement_account.html", context)


def _account_of(membership: Membership) -> SettlementAccount:
    currencies = settlement_accounts.currencies_of(membership.business)
    return settlement_accounts.account_of(membership.business, currencies[0] if currencies else "")


def _state_of(account: SettlementAccount, membership: Membership) -> dict[str, Any]:
    """Return what the page shows of a stored account."""
    if not account.is_stored:
        return {}
    waiting = settlement_accounts.open_change_of(account)
    held = next((each for each in balances(membership.business) if each.currency == account.currency), None)
    made = SettlementPayout.objects.filter(account=account).select_related("payout").order_by("-payout")
    return {
        "waiting": waiting,
        "may_confirm": waiting is not None
        and waiting.awaits_owner
        and waiting.made_by_id != membership.member.user_id,
        "name_differs": waiting is not None
        and not names_match(membership.business.name, waiting.account_name),
        "next_day": payout_schedules.next_day(account, now=clock.now()) if account.is_set else None,
        "available": max((held.available_for_payouts if held else 0) - account.stays, 0),
        "payouts": list(made[:SHOWN]),
    }


def _save_account(request: HttpRequest, membership: Membership, form: AccountForm) -> bool:
    try:
        change = settlement_accounts.change(
            business=membership.business,
            user=membership.member.user,
            actor=person_acting(request),
            now=clock.now(),
            **form.cleaned_data,
        )
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
        return False
    wait = "and another owner has confirmed it " if change.needs_second_owner else ""
    messages.warning(
        request,
        f"The account belongs to {change.account_name}. The change applies when its wait is over {wait}"
        "and no owner has stopped it.",
    )
    return True


def _save_schedule(request: HttpRequest, membership: Membership, form: ScheduleForm) -> bool:
    payout_schedules.change(
        business=membership.business,
        currency=form.currency,
        actor=person_acting(request),
        now=clock.now(),
        **form.cleaned_data,
    )
    messages.success(request, "Schedule saved.")
    return True


@members_action("decide about a change of the settlement account", may=Permission.MANAGE_SETTINGS)
def decide_settlement_account(
    request: HttpRequest, membership: Membership, account_change_id: UUID
) -> HttpResponse:
    """Confirm a change as a second owner, or stop it."""
    own = SettlementAccountChange.objects.filter(pk=account_change_id, account__business=membership.business)
    if not own.exists():
        raise Http404
    confirms = request.POST.get("decision") == "confirm"
    decide = settlement_accounts.confirm if confirms else settlement_accounts.stop
    confirmed = "The change is confirmed. It applies when its wait is over."
    with refusals_shown(request, done=confirmed if confirms else "The change was stopped."):
        decide(account_change_id, user=membership.member.user, actor=person_acting(request), now=clock.now())
    return redirect(PAGE)


@members_action("resume automatic payouts", may=Permission.MANAGE_SETTINGS)
def resume_settlement_payouts(request: HttpRequest, membership: Membership) -> HttpResponse:
    with refusals_shown(request, done="Automatic payouts continue."):
        payout_schedules.resume(_stored(membership).pk, actor=person_acting(request), now=clock.now())
    return redirect(PAGE)


@members_action("pay out to the settlement account", may=Permission.PAY_OUT)
def pay_out_settlement(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Make a payout to the settlement account now."""
    with refusals_shown(request):
        _add_message(request, settlement_payouts.pay_now(_stored(membership), actor=person_acting(request)))
    return redirect(PAGE)


def _stored(membership: Membership) -> SettlementAccount:
    account = _account_of(membership)
    if not account.is_stored:
        raise InvalidState("Add a settlement account first.")
    return account


def _add_message(request: HttpRequest, made: SettlementPayout) -> None:
    amount = money(made.payout.amount, made.payout.currency)
    if made.payout.status == Transaction.Status.SUCCESS:
        messages.success(request, f"Paid out {amount}.")
    elif made.is_lost:
        messages.error(request, f"The payout of {amount} failed: {made.reason}.")
    else:
        messages.warning(
            request, "The bank hasn't responded yet. The payout's status is checked until it is known."
        )
