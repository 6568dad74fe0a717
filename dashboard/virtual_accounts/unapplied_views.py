"""The list of unapplied transfers, and the pages to credit or return one, in two steps.

A decision that is submitted twice is made once. The second submission gets a message.
"""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from dashboard.memberships import Membership, members_form, members_page
from dashboard.ui.lists.lists import list_response
from dashboard.virtual_accounts.unapplied_detail import detail_of, receiver_of
from dashboard.virtual_accounts.unapplied_forms import ACCEPT, CREDIT, RETURN, forms_of
from dashboard.virtual_accounts.unapplied_list import UNAPPLIED, UnappliedFilter
from kit.api.errors import Problem
from kit.db import clock
from kit.money.money import money as format_money
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import Transaction
from payments.rules.words.status_names import UNAPPLIED_SHORT_REASONS
from payments.services.payouts.controls.makers import Maker
from payments.services.transfers import awaited_returns
from payments.services.transfers import unapplied_decisions as decisions
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries

DECIDE = {
    ACCEPT: decisions.accept,
    CREDIT: decisions.credit,
    RETURN: decisions.return_to_sender,
}


@members_page
def unapplied_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """List transfers that match no payment."""
    form = UnappliedFilter(request.GET, business=membership.business)

    def with_reasons(context: dict[str, Any]) -> dict[str, Any]:
        found = awaited_returns.mark(context["page"].rows)
        return {"rows": [(each, UNAPPLIED_SHORT_REASONS[each.transfer.reason]) for each in found]}

    template = "dashboard/virtual_accounts/unapplied.html"
    return list_response(
        request, template, UNAPPLIED, form, form, membership=membership, further=with_reasons
    )


@members_form(
    "credit or return an unapplied transfer", may=Permission.RESOLVE_UNAPPLIED, shown_to=Permission.VIEW
)
def decision_page(request: HttpRequest, membership: Membership, unapplied_id: UUID) -> HttpResponse:
    """Show an unapplied transfer and the reason, then a decision to review, and carry it out when it is confirmed."""
    money = _own(membership, unapplied_id)
    possible = forms_of(money)
    shown: dict[str, forms.Form] = {name: make() for name, make in possible.items()}
    if request.method == "POST":
        decision = request.POST.get("decision", "")
        if decision not in possible:
            raise BadRequest("Choose what to do with the transfer.")
        form = shown[decision] = possible[decision](request.POST)
        if form.is_valid() and request.POST.get("step") == "confirmed":
            if _carry_out(request, membership, money, decision, form):
                return redirect("dashboard-unapplied-item", money.pk)
        elif form.is_valid() and request.POST.get("step") != "change" and money.is_open:
            return _review(request, membership, money, decision, form)
    context = detail_of(money) | {"membership": membership, "forms": shown}
    return render(request, "dashboard/virtual_accounts/unapplied_item.html", context)


def _review(
    request: HttpRequest, membership: Membership, money: UnappliedMoney, decision: str, form: forms.Form
) -> HttpResponse:
    context = detail_of(money) | {"membership": membership, "decision": decision, "form": form}
    if decision == RETURN:
        context["receiver"] = receiver_of(money, form.cleaned_data, now=clock.now())
    return render(request, "dashboard/virtual_accounts/unapplied_review.html", context)


def _carry_out(
    request: HttpRequest, membership: Membership, money: UnappliedMoney, decision: str, form: forms.Form
) -> bool:
    """Carry out the decision and add a message. Return False if the form has an error instead."""
    wanted: dict[str, Any] = dict(form.cleaned_data)
    if decision == RETURN:
        wanted["maker"] = Maker.of_member(membership.member.user)
    try:
        decided = DECIDE[decision](money.pk, **wanted, actor=person_acting(request), now=clock.now())
    except decisions.NotOpen as refusal:
        messages.warning(request, str(refusal.detail))  # the page shows the earlier decision
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
        return False
    else:
        _add_message(request, decided)
    return True


def _add_message(request: HttpRequest, money: UnappliedMoney) -> None:
    amount = format_money(money.amount, money.currency)
    if money.state == UnappliedMoney.State.CREDITED:
        messages.success(request, f"{amount} was credited to your balance.")
        return
    payout = Transaction.objects.of(money.business).get(reference=money.reference)
    if payout.status == Transaction.Status.SUCCESS:
        messages.success(request, f"Returned {amount} to the sender.")
    elif payout.status == Transaction.Status.FAILED:
        text = f"The return of {amount} failed: {payout.response_summary}. The transfer is open again."
        messages.error(request, text)
    elif payout.awaiting == Transaction.Awaiting.APPROVAL:
        messages.warning(request, f"The return of {amount} waits for the approval of another member.")
    else:
        messages.warning(
            request, "The bank hasn't responded yet. The return's status is checked until it is known."
        )


def _own(membership: Membership, unapplied_id: UUID) -> UnappliedMoney:
    return get_object_or_404(
        unapplied_queries.of(membership.business)
        .with_payment_reference()
        .select_related("transfer__account", "transfer__session__payment", "business"),
        pk=unapplied_id,
    )
