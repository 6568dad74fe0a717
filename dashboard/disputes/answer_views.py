"""The answer to a dispute: a review of what is sent, and accepting it, each with a second look."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.disputes.detail.detail import can_accept, detail_of, own_dispute
from dashboard.disputes.forms import AcceptForm
from dashboard.disputes.views import left_out
from dashboard.memberships import Membership, members_form
from disputes.models import Dispute
from disputes.services.answers import answers
from disputes.services.answers.packet import PARTS
from kit.api.errors import Problem
from kit.connectors.connectors import NotSupported
from kit.db import clock
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission


@members_form("submit the answer to a dispute", may=Permission.ANSWER_DISPUTES)
def submit_page(request: HttpRequest, membership: Membership, dispute_id: UUID) -> HttpResponse:
    """Show all that is sent to the bank, and send it."""
    dispute = own_dispute(membership, dispute_id)
    if request.method == "POST":
        leave_out = [part for part in request.POST.getlist("leave_out") if part in PARTS]
        return _answer(
            request,
            dispute,
            lambda: answers.submit(dispute.pk, leave_out=leave_out, actor=person_acting(request)),
            "Your response was submitted. The cardholder's bank decides.",
        )
    leave_out = left_out(request)
    detail = detail_of(dispute, now=clock.now())
    context = _context(membership, dispute) | {
        "detail": detail,
        "is_possible": detail.can_answer,
        "leave_out": leave_out,
        "parts": [part for part in detail.parts if part.key not in leave_out],
        "names_left_out": [part.name for part in detail.parts if part.key in leave_out],
    }
    return render(request, "dashboard/disputes/submit.html", context)


@members_form("accept a dispute", may=Permission.ANSWER_DISPUTES)
def accept_page(request: HttpRequest, membership: Membership, dispute_id: UUID) -> HttpResponse:
    """Accept a dispute, all of it or a part: first the form, then a review, then the acceptance."""
    dispute = own_dispute(membership, dispute_id)
    form = AcceptForm(request.POST or None, currency=dispute.currency, limit=dispute.amount)
    step = request.POST.get("step")
    is_reviewed = request.method == "POST" and form.is_valid() and step != "change"
    amount = (form.cleaned_data.get("amount") if is_reviewed else None) or dispute.amount
    if is_reviewed and step == "confirmed":
        return _answer(
            request,
            dispute,
            lambda: answers.accept(dispute.pk, amount=amount, actor=person_acting(request)),
            "You accepted this dispute.",
        )
    context = _context(membership, dispute) | {
        "form": form,
        "is_possible": can_accept(dispute, now=clock.now()),
        "amount": amount,
        "comes_back": dispute.amount - amount,
    }
    return render(request, f"dashboard/disputes/accept{'_review' if is_reviewed else ''}.html", context)


def _context(membership: Membership, dispute: Dispute) -> dict[str, Any]:
    return {"membership": membership, "dispute": dispute, "payment": dispute.transaction}


def _answer(request: HttpRequest, dispute: Dispute, act: Callable[[], Any], success: str) -> HttpResponse:
    try:
        act()
    except Problem as refusal:
        messages.error(request, str(refusal.detail))
    except NotSupported as refusal:
        messages.error(request, refusal.sentences)
    else:
        messages.success(request, success)
    return redirect("dashboard-dispute", dispute.pk)
