"""Manual payouts: entered, reviewed and sent, by the same rules and service as the API."""

from __future__ import annotations

import secrets
from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from rest_framework.exceptions import ValidationError

from dashboard.memberships import Membership, members_form
from dashboard.payouts.forms import PayoutForm
from dashboard.transactions.detail_page import address_of
from dashboard.ui.api_errors import add_api_errors
from kit import banks
from kit.api.errors import Problem
from kit.db import clock
from kit.money.money import money
from ledger.services import balances
from merchants.models import Business
from merchants.people import audit
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.api import request_types
from payments.models import Transaction
from payments.rules.fees import Flow, fee
from payments.services.fee_rules import current_rule


@members_form("make a payout", may=Permission.PAY_OUT)
def new_payout_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show the payout form, then its costs, and start the payout when it is confirmed."""
    form = PayoutForm(
        request.POST or None,
        currencies=[each for each in membership.business.currencies if each in banks.currencies()],
        initial={"reference": f"payout-{secrets.token_hex(6)}"},
    )
    if request.method != "POST" or not form.is_valid() or request.POST.get("step") == "change":
        return render(request, "dashboard/payouts/new.html", {"membership": membership, "form": form})
    if request.POST.get("step") == "confirmed":
        return _start(request, membership, form)
    summary = _summary(membership.business, form.order())
    if summary is None:
        form.add_error(
            "currency",
            f"Payouts in {form.cleaned_data['currency']} aren't available. Choose another currency.",
        )
        return render(request, "dashboard/payouts/new.html", {"membership": membership, "form": form})
    context = {"membership": membership, "form": form, "summary": summary}
    return render(request, "dashboard/payouts/confirm.html", context)


def _summary(business: Business, order: dict[str, Any]) -> dict[str, Any] | None:
    """Return the summary to review; None if the currency has no fee rule."""
    amount, currency = order["amount"], order["currency"]
    rule = current_rule(business, Flow.PAYOUT, currency)
    if rule is None:
        return None
    costs = fee(rule, amount)
    held = next((each for each in balances(business) if each.currency == currency), None)
    available = held.available_for_payouts if held else 0
    return {
        "amount": amount,
        "currency": currency,
        "fee": costs,
        "total": amount + costs,
        "available": available,
        "is_covered": available >= amount + costs,
        "bank": banks.name_of(order["customer"]["bank_code"]),
    }


def _start(request: HttpRequest, membership: Membership, form: PayoutForm) -> HttpResponse:
    order, now = form.order(), clock.now()
    audit.record(
        action="payout.asked",
        actor=person_acting(request),
        business=membership.business,
        target=order["reference"],
        after={"amount": order["amount"], "currency": order["currency"]},
        now=now,
    )
    try:
        intent = request_types.choose(order).start(order, business=membership.business, now=now)
    except ValidationError as refusal:
        add_api_errors(form, refusal.detail, nested=("customer",))
    except Problem as refusal:
        form.add_error(None, str(refusal.detail))
    else:
        _add_message(request, intent.resource)
        return redirect(address_of(intent.resource))
    return render(request, "dashboard/payouts/new.html", {"membership": membership, "form": form})


def _add_message(request: HttpRequest, payout: Transaction) -> None:
    amount = money(payout.amount, payout.currency)
    if payout.status == Transaction.Status.SUCCESS:
        messages.success(request, f"Paid out {amount}.")
    elif payout.status == Transaction.Status.FAILED:
        messages.error(request, f"The payout of {amount} failed: {payout.response_summary}.")
    else:
        messages.warning(
            request, "The bank hasn't responded yet. The payout's status is checked until it is known."
        )
