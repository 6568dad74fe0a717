"""The list of unapplied transfers, and the page to credit or return one.

A decision that is submitted twice is made once. The second submission gets a message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from uuid import UUID

from django import forms
from django.contrib import messages
from django.core.exceptions import BadRequest
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form, members_page
from dashboard.transactions.request_links import origin_of
from dashboard.ui.lists.lists import list_context
from dashboard.virtual_accounts.unapplied_forms import CreditForm, ReturnForm, is_sender_known
from dashboard.virtual_accounts.unapplied_list import SHORT_REASONS, UNAPPLIED, UnappliedFilter
from kit import banks
from kit.api.errors import Problem
from kit.db import clock
from kit.money.money import money as format_money
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import Transaction
from payments.services.transfers import unapplied_decisions as decisions
from virtual_accounts.models import Transfer, UnappliedMoney
from virtual_accounts.services import unapplied_queries
from webhooks.models import Delivery

Reason = Transfer.Reason
CREDIT, RETURN = "credit", "return"

WHY = {
    Reason.MISMATCH: "The amount didn't match the payment, which failed.",
    Reason.LATE: "The payment had ended before the transfer arrived.",
    Reason.SECOND: "The payment had already been paid.",
    Reason.INACTIVE: "The account was deactivated before the transfer arrived.",
    Reason.OTHER_CURRENCY: "The account accepts another currency.",
    Reason.ASSIGNED: "It was sent to an unknown account number, and was found to be yours.",
}


@members_page
def unapplied_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """List transfers that match no payment."""
    form = UnappliedFilter(request.GET, business=membership.business)
    context = list_context(UNAPPLIED, form, form, membership=membership, query=request.GET)
    rows = [(each, SHORT_REASONS[Reason(each.transfer.reason)]) for each in context["page"].rows]
    return render(request, "dashboard/virtual_accounts/unapplied.html", context | {"rows": rows})


@members_form(
    "credit or return an unapplied transfer", may=Permission.RESOLVE_UNAPPLIED, shown_to=Permission.VIEW
)
def decision_page(request: HttpRequest, membership: Membership, unapplied_id: UUID) -> HttpResponse:
    """Show an unapplied transfer and the reason; credit it to the wallet, or return it to the sender."""
    money = _own(membership, unapplied_id)
    forms_of: dict[str, Callable[..., forms.Form]] = {
        CREDIT: partial(CreditForm, auto_id="credit_%s"),
        RETURN: partial(ReturnForm, auto_id="return_%s", transfer=money.transfer),
    }
    shown: dict[str, forms.Form] = {name: make() for name, make in forms_of.items()}
    if request.method == "POST":
        decision = request.POST.get("decision", "")
        if decision not in forms_of:
            raise BadRequest("Choose to credit the transfer or to return it.")
        form = shown[decision] = forms_of[decision](request.POST)
        if form.is_valid() and _carry_out(request, money, decision, form):
            return redirect("dashboard-unapplied-item", money.pk)
    return render(
        request, "dashboard/virtual_accounts/unapplied_item.html", _context(membership, money, shown)
    )


def _carry_out(request: HttpRequest, money: UnappliedMoney, decision: str, form: forms.Form) -> bool:
    """Carry out the decision and add a message. Return False if the form has an error instead."""
    decide = decisions.credit if decision == CREDIT else decisions.return_to_sender
    try:
        decided = decide(money.pk, **form.cleaned_data, actor=person_acting(request), now=clock.now())
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
    payout = _payout(money)
    if payout is None:
        messages.success(request, f"{amount} was credited to your balance.")
    elif payout.status == Transaction.Status.SUCCESS:
        messages.success(request, f"Returned {amount} to the sender.")
    elif payout.status == Transaction.Status.FAILED:
        text = f"The return of {amount} failed: {payout.response_summary}. The transfer is open again."
        messages.error(request, text)
    else:
        messages.warning(
            request, "The bank hasn't responded yet. The return's status is checked until it is known."
        )


def _context(
    membership: Membership, money: UnappliedMoney, shown: dict[str, forms.Form]
) -> dict[str, object]:
    transfer = money.transfer
    return {
        "membership": membership,
        "money": money,
        "transfer": transfer,
        "why": WHY[Reason(transfer.reason)],
        "sender_bank": banks.name_of(transfer.sender_bank_code) or transfer.sender_bank_code,
        "is_sender_known": is_sender_known(transfer),
        "payout": _payout(money),
        "payment": _payment(money),
        "delivery": Delivery.objects.filter(subject=money.pk).defer("body").first(),
        "origin": list(origin_of(money.business, money.pk)),
        "credit_form": shown[CREDIT],
        "return_form": shown[RETURN],
    }


def _payment(money: UnappliedMoney) -> Transaction | None:
    """Return the payment that the transfer was meant for, if it is known."""
    if not money.payment_reference:
        return None
    found: Transaction | None = (
        Transaction.objects.of(money.business).filter(reference=money.payment_reference).first()
    )
    return found


def _payout(money: UnappliedMoney) -> Transaction | None:
    """Return the payout to the sender, if there is one."""
    if not money.reference:
        return None
    found: Transaction | None = (
        Transaction.objects.of(money.business).filter(reference=money.reference).first()
    )
    return found


def _own(membership: Membership, unapplied_id: UUID) -> UnappliedMoney:
    found: UnappliedMoney | None = (
        unapplied_queries.of(membership.business)
        .with_payment_reference()
        .select_related("transfer__account", "transfer__session__payment", "business")
        .filter(pk=unapplied_id)
        .first()
    )
    if found is None:
        raise Http404
    return found
