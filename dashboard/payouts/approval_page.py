"""The page on which another member approves or rejects a payout."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form
from dashboard.transactions.detail.detail_page import address_of, own_transaction
from dashboard.ui.forms.forms import PageForm
from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from kit.money.money import money
from ledger.services import balances
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import Transaction
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls import approvals, payout_limits, waiting_payouts
from payments.services.payouts.name_enquiries import UnknownBeneficiary
from payments.services.transactions import transitions

DUPLICATE_WITHIN = timedelta(hours=24)


class RejectForm(PageForm):
    reason = forms.CharField(max_length=255, label="Reason", help_text="The maker and the audit log show it.")


@members_form("approve or reject a payout", may=Permission.PAY_OUT)
def approval_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Show what a checker must know, and approve or reject the payout."""
    payout = own_transaction(membership, transaction_id)
    if payout.awaiting != Transaction.Awaiting.APPROVAL:
        return redirect(address_of(payout))
    is_maker = payout.approval.maker_id == membership.member.user_id
    decision = request.POST.get("decision")
    if decision == "cancel" and is_maker:
        return _cancel(request, payout)
    is_rejected = decision == "reject"
    form = RejectForm(request.POST if is_rejected else None)
    if decision == "approve" or (is_rejected and form.is_valid()):
        reason = form.cleaned_data["reason"] if is_rejected else ""
        return _decide(request, membership, payout, is_rejected=is_rejected, reason=reason)
    approval, charge = payout.approval, transitions.charge_of(payout)
    why_not = approvals.why_not(approval, membership.member.user)
    available = next(
        (each.available for each in balances(membership.business) if each.currency == payout.currency), 0
    )
    context = {
        "membership": membership,
        "payout": payout,
        "approval": approval,
        "granted": approval.grants.count(),
        "why_not": why_not,
        "is_maker": is_maker,
        "warnings": _warnings(payout),
        **({} if why_not else _holder(payout)),
        "charge": charge,
        "total": payout.amount + charge.total,
        "left": available,  # amount, fee and tax were taken when it was accepted
        "form": form,
    }
    return render(request, "dashboard/payouts/approval.html", context)


def _decide(
    request: HttpRequest, membership: Membership, payout: Transaction, *, is_rejected: bool, reason: str
) -> HttpResponse:
    user, actor, now = membership.member.user, person_acting(request), clock.now()
    amount = money(payout.amount, payout.currency)
    with refusals_shown(request):
        if is_rejected:
            waiting_payouts.reject(payout.pk, reason=reason, user=user, actor=actor, now=now)
            messages.success(request, f"Rejected the payout of {amount}. Nothing was sent.")
        else:
            decided = waiting_payouts.approve(payout.pk, user=user, actor=actor, now=now)
            _add_message(request, decided, amount)
    return redirect(address_of(payout))


def _cancel(request: HttpRequest, payout: Transaction) -> HttpResponse:
    with refusals_shown(request, done="Payout cancelled. Nothing was sent."):
        waiting_payouts.cancel(payout.pk, person=person_acting(request), now=clock.now())
    return redirect(address_of(payout))


def _add_message(request: HttpRequest, payout: Transaction, amount: str) -> None:
    if payout.awaiting == Transaction.Awaiting.APPROVAL:
        messages.success(request, f"You approved the payout of {amount}. Another member must approve it too.")
    elif payout.status == Transaction.Status.SUCCESS:
        messages.success(request, f"Paid out {amount}.")
    elif payout.status == Transaction.Status.FAILED:
        messages.error(request, f"The payout of {amount} failed: {payout.response_summary}.")
    else:
        messages.success(request, f"You approved the payout of {amount}. It is being sent.")


def _holder(payout: Transaction) -> dict[str, Any]:
    """Ask the bank whose account it is, for the member who decides."""
    account = {"account_number": payout.account_number, "bank_code": payout.bank_code}
    try:
        verified = beneficiaries.verify(
            business=payout.business, name=payout.customer_name, **account, now=clock.now()
        )
    except UnknownBeneficiary:
        return {"is_unknown": True}
    return {"verified": verified}


def _warnings(payout: Transaction) -> list[tuple[str, str]]:
    """Return what a checker must look at, each with an explanation."""
    others = (
        payout_limits.counted(payout.business)
        .filter(account_number=payout.account_number, bank_code=payout.bank_code)
        .exclude(pk=payout.pk)
    )
    found = []
    if not others.filter(created_at__lt=payout.created_at).exists():
        found.append(("New beneficiary", "This account was never paid before."))
    same = others.filter(
        amount=payout.amount,
        currency=payout.currency,
        created_at__gte=payout.created_at - DUPLICATE_WITHIN,
        created_at__lte=payout.created_at + DUPLICATE_WITHIN,
    ).first()
    if same is not None:
        found.append(
            ("Possible duplicate", f"{same.reference} pays the same amount to this account within a day.")
        )
    return found
