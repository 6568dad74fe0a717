"""Decide about one item of a batch: pay it with a reason, correct its account, or take it out."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect

from dashboard.memberships import Membership, members_action
from dashboard.payout_batches.forms import CorrectionForm, ReasonForm
from kit.api.fields.field_errors import InvalidFields
from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from merchants.models import User
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payout_batches.models import PayoutBatchItem
from payout_batches.services import corrections


@members_action("correct a payout of a batch", may=Permission.PAY_OUT)
def change_item(request: HttpRequest, membership: Membership, batch_id: UUID, item_id: UUID) -> HttpResponse:
    item = get_object_or_404(PayoutBatchItem, business=membership.business, batch=batch_id, pk=item_id)
    decision = request.POST.get("decision")
    acting: dict[str, Any] = {"actor": person_acting(request), "now": clock.now()}
    with refusals_shown(request):
        if decision == "remove":
            corrections.remove(item.pk, **acting)
        elif decision == "correct":
            _correct(request, item, acting)
        elif decision == "accept":
            _accept(request, item, acting)
    return redirect(f"/dashboard/payouts/batches/{batch_id}/#row-{item.position + 1}")


def _correct(request: HttpRequest, item: PayoutBatchItem, acting: dict[str, Any]) -> None:
    form = CorrectionForm(request.POST)
    if form.is_valid():
        corrections.correct(
            item.pk,
            account_number=form.cleaned_data["account_number"],
            user=cast("User", request.user),
            **acting,
        )
    else:
        messages.error(request, f"Row {item.position + 1}: {form.errors['account_number'][0]}")


def _accept(request: HttpRequest, item: PayoutBatchItem, acting: dict[str, Any]) -> None:
    form = ReasonForm(request.POST)
    if not form.is_valid():
        messages.error(request, f"Row {item.position + 1}: enter the reason.")
        return
    try:
        corrections.accept(item.pk, reason=form.cleaned_data["reason"], **acting)
    except InvalidFields:  # another member has just changed it
        messages.error(request, f"Row {item.position + 1} needs no decision any more.")
