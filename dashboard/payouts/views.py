"""Manual payouts: entered, reviewed and sent, by the same rules and service as the API."""

from __future__ import annotations

import secrets
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from rest_framework.exceptions import ValidationError

from dashboard.memberships import Membership, members_form
from dashboard.payouts import payees
from dashboard.payouts.forms import NEW, PayoutForm
from dashboard.transactions.detail.detail import find
from dashboard.transactions.detail.detail_page import address_of
from dashboard.transactions.detail.payout_failures import failure_of
from dashboard.ui.forms.api_errors import add_api_errors
from kit import banks
from kit.api.errors import Problem
from kit.db import clock
from kit.money.money import figures, money
from kit.text.ids import read_id
from ledger.services import balances
from merchants.models import Business
from merchants.people import audit
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.api import request_types
from payments.models import Beneficiary, PayoutControls, Transaction
from payments.rules.fees import FeeRule, Flow, charge
from payments.services import fee_rules
from payments.services.payouts import beneficiaries
from payments.services.payouts.beneficiaries import Verified
from payments.services.payouts.controls import payout_limits
from payments.services.payouts.controls.makers import Maker
from payments.services.payouts.name_enquiries import UnknownBeneficiary
from payments.services.refunds import refused_returns
from payments.services.transfers.return_destinations import sender_of
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied_queries


@members_form("make a payout", may=Permission.PAY_OUT)
def new_payout_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the payout form, then its costs and the holder's name, and start the payout when it is confirmed."""
    form = PayoutForm(
        request.POST or None,
        currencies=[each for each in membership.business.currencies if each in banks.currencies()],
        beneficiaries=payees.open_ones(membership.business),
        initial={"reference": f"payout-{secrets.token_hex(6)}"} | _given(request, membership),
    )
    step = request.POST.get("step")
    if step == "lookup":
        return _look_up(request, membership, form)
    if step == "search" and payees.is_new_search(request.POST):
        form.keep_errors_of(())
        return _form_page(request, membership, form)
    if request.method != "POST" or not form.is_valid() or step == "change":
        return _form_page(request, membership, form)
    return _review(request, membership, form)


def _form_page(
    request: HttpRequest, membership: Membership, form: PayoutForm, verified: Verified | None = None
) -> HttpResponse:
    business = membership.business
    context = {
        "membership": membership,
        "form": form,
        "available": [
            (each, _controls_of(business, each.currency))
            for each in balances(business)
            if each.currency in banks.currencies()
        ],
        "payees": payees.offered(business, search=request.POST.get("q", ""), chosen=form.chosen),
        "summary": _entered_so_far(business, form),
        "verified": verified,
        "bank": banks.name_of(form["bank_code"].value() or ""),
    }
    return render(request, "dashboard/payouts/new.html", context)


def _entered_so_far(business: Business, form: PayoutForm) -> dict[str, Any] | None:
    """Return the summary of the amount that was entered; None without a valid one."""
    given = getattr(form, "cleaned_data", {})
    if "minor_units" not in given:
        return None
    return _summary(business, given["minor_units"], given["currency"], given.get("purpose", ""))


def _controls_of(business: Business, currency: str) -> dict[str, Any]:
    """Return what the owners' and the staff's controls say about the next payout in a currency."""
    controls = PayoutControls.objects.filter(business=business).first()
    if controls is None:
        return {}
    limits = payout_limits.lowest_of(controls, currency)
    return {
        **limits,
        "left": payout_limits.left_of_day(business, limits, currency, now=clock.now()),
        "approval": controls.approval,
        "approval_above": controls.approval_above.get(currency),
    }


def _look_up(request: HttpRequest, membership: Membership, form: PayoutForm) -> HttpResponse:
    """Show whose account it is by the bank, on the form as it was entered so far."""
    form.keep_errors_of(("bank_code", "account_number"))
    if form.errors:
        return _form_page(request, membership, form)
    account = {name: form.cleaned_data[name] for name in ("bank_code", "account_number")}
    try:
        verified = beneficiaries.verify(
            business=membership.business, name=form.cleaned_data.get("name", ""), **account, now=clock.now()
        )
    except UnknownBeneficiary:
        form.add_error("account_number", _no_account(account["bank_code"]))
        return _form_page(request, membership, form)
    return _form_page(request, membership, form, verified)


def _no_account(bank_code: str) -> str:
    return f"{banks.name_of(bank_code)} has no account with this number. Check it, or ask the beneficiary."


def _review(request: HttpRequest, membership: Membership, form: PayoutForm) -> HttpResponse:
    """Show the costs and the name that the bank has, and start the payout once that is confirmed.

    Without that name, or with another one, it needs a tick. The bank is asked again when the payout is confirmed, so that
    the audit log has what it said and not what the form says.
    """
    order = form.order()
    summary = _summary(membership.business, order["amount"], order["currency"], order.get("purpose", ""))
    if summary is None:
        form.add_error(
            "currency", f"Payouts in {order['currency']} aren't available. Choose another currency."
        )
        return _form_page(request, membership, form)
    try:
        verified = beneficiaries.verify(business=membership.business, **form.account(), now=clock.now())
    except UnknownBeneficiary:
        form.add_error(
            "account_number" if form.chosen == NEW else "beneficiary",
            _no_account(form.cleaned_data["bank_code"]),
        )
        return _form_page(request, membership, form)
    is_confirmed = request.POST.get("step") == "confirmed"
    is_verified = verified.verification == Beneficiary.Verification.VERIFIED
    if is_confirmed and (is_verified or request.POST.get("accepted") == verified.verification):
        return _start(request, membership, form, verified)
    context = {
        "membership": membership,
        "form": form,
        "summary": summary,
        "bank": banks.name_of(form.cleaned_data["bank_code"]),
        "verified": verified,
        "is_not_ticked": is_confirmed,
    }
    return render(request, "dashboard/payouts/confirm.html", context)


def _given(request: HttpRequest, membership: Membership) -> dict[str, str]:
    """Return what a link to the form names: a beneficiary, a payout to repeat, or what a transfer was too much by."""
    named = request.GET.get("beneficiary", "").replace("\x00", "")
    found = beneficiaries.find_of(membership.business, named)
    if found is not None:
        return {"beneficiary": found.reference, "currency": found.currency}
    return {
        **_overpaid(membership, read_id(request.GET.get("overpaid", ""))),
        **_again(membership, read_id(request.GET.get("instead_of", ""))),
    }


def _again(membership: Membership, payout_id: UUID | None) -> dict[str, str]:
    """Return a payout that failed or came back, to be paid again with a new reference."""
    payout = payout_id and find(membership.business, payout_id)
    if not payout or failure_of(payout) is None or refused_returns.reopened_by(payout, payout.returns.all()):
        return {}
    paid = {"name": payout.customer_name, "bank_code": payout.bank_code}
    return {
        **paid,
        "account_number": payout.account_number,
        "currency": payout.currency,
        "amount": figures(payout.amount, payout.currency),
        "narration": payout.narration,
        "purpose": payout.purpose,
    }


def _overpaid(membership: Membership, key: UUID | None) -> dict[str, str]:
    """Return the payout that gives back what a credited transfer was too much. Its reference lets it be sent once."""
    if key is None:
        return {}
    credited = unapplied_queries.of(membership.business).filter(state=UnappliedMoney.State.CREDITED, pk=key)
    money_held = credited.select_related("transfer__session").first()
    if money_held is None or money_held.overpaid <= 0:
        return {}
    transfer, sender = money_held.transfer, sender_of(money_held.transfer)
    known = {"bank_code": sender.bank_code, "account_number": sender.account_number} if sender else {}
    amount = figures(money_held.overpaid, money_held.currency)
    once = {"reference": f"overpaid-{money_held.pk}", "currency": money_held.currency, "amount": amount}
    return {"name": transfer.sender_name, **once, **known}


def _summary(business: Business, amount: int, currency: str, purpose: str) -> dict[str, Any] | None:
    """Return what an amount of minor units costs; None if the currency has no fee rule."""
    try:
        rule = fee_rules.snapshot(business, Flow.PAYOUT, currency, purpose=purpose)
    except fee_rules.NoPrice:
        return None
    costs = charge(FeeRule.from_snapshot(rule), amount)
    held = next((each for each in balances(business) if each.currency == currency), None)
    available = held.available_for_payouts if held else 0
    return {
        "amount": amount,
        "currency": currency,
        "charge": costs,
        "total": amount + costs.total,
        "available": available,
        "left": available - amount - costs.total,
        "is_covered": available >= amount + costs.total,
        "is_exempt": _duty(business, amount, currency) > costs.stamp_duty,
    }


def _duty(business: Business, amount: int, currency: str) -> int:
    """Return the stamp duty of a payout that no purpose exempts, in minor units."""
    return charge(
        FeeRule.from_snapshot(fee_rules.snapshot(business, Flow.PAYOUT, currency)), amount
    ).stamp_duty


def _start(
    request: HttpRequest, membership: Membership, form: PayoutForm, verified: Verified
) -> HttpResponse:
    order, now = form.order(), clock.now()
    audit.record(
        action="payout.asked",
        actor=person_acting(request),
        business=membership.business,
        target=order["reference"],
        after={"amount": order["amount"], "currency": order["currency"], **_accepted(verified)},
        now=now,
    )
    try:
        intent = request_types.choose(order).start(
            order,
            business=membership.business,
            now=now,
            maker=Maker.of_member(membership.member.user),
        )
    except ValidationError as refusal:
        add_api_errors(form, refusal.detail, nested=("customer",))
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
    else:
        _add_message(request, intent.resource)
        if (
            form.cleaned_data["is_saved"]
            and form.chosen == NEW
            and intent.resource.status != Transaction.Status.FAILED
        ):
            _save(request, membership, form)
        return redirect(address_of(intent.resource))
    return _form_page(request, membership, form)


def _save(request: HttpRequest, membership: Membership, form: PayoutForm) -> None:
    """Save the account that was paid, unless it is saved already. Its reference is the payout's."""
    business, wanted = membership.business, form.new_beneficiary()
    account = {name: wanted[name] for name in ("account_number", "bank_code")}
    if Beneficiary.objects.of(business).filter(**account).exists():
        return
    try:
        beneficiaries.create(business=business, request=wanted, actor=person_acting(request), now=clock.now())
    except Problem as refusal:
        messages.warning(request, f"The beneficiary was not saved. {refusal.detail}")


def _accepted(verified: Verified) -> dict[str, str]:
    """Return what the member has accepted with a tick, for the audit log."""
    if verified.verification == Beneficiary.Verification.VERIFIED:
        return {}
    return {"accepted": verified.verification, "account_name": verified.account_name}


def _add_message(request: HttpRequest, payout: Transaction) -> None:
    amount = money(payout.amount, payout.currency)
    if payout.status == Transaction.Status.SUCCESS:
        messages.success(request, f"Paid out {amount}.")
    elif payout.status == Transaction.Status.FAILED:
        messages.error(request, f"The payout of {amount} failed: {payout.response_summary}.")
    elif payout.awaiting == Transaction.Awaiting.APPROVAL:
        messages.info(request, f"The payout of {amount} waits for approval by another member.")
    elif payout.awaiting == Transaction.Awaiting.SERVER:
        messages.info(request, f"Your server is asked about the payout of {amount} before it is sent.")
    else:
        messages.warning(
            request, "The bank hasn't responded yet. The payout's status is checked until it is known."
        )
