"""Batches: their list, and the page of one, from its review to its end."""

from __future__ import annotations

from typing import Any, cast
from uuid import UUID

from django.contrib import messages
from django.db.models import Count, Sum
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django_htmx.http import HttpResponseClientRefresh

from dashboard.memberships import Membership, members_action, members_export, members_form, members_page
from dashboard.payout_batches import progress, review
from dashboard.payout_batches.forms import ReasonForm, ScheduleForm
from dashboard.ui.lists import exports
from kit.api.errors import Problem
from kit.api.fields.field_errors import InvalidFields
from kit.api.refusal_messages import refusals_shown
from kit.api.replays import IdempotentResult
from kit.db import clock
from kit.files.tables import Column, Table, amounts, attributes
from kit.money.money import money
from merchants.exports import FileType
from merchants.models import User
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.services.fee_rules import NoPrice
from payments.services.payouts.controls.makers import Maker
from payout_batches import summaries
from payout_batches.models import PayoutBatch, PayoutBatchItem
from payout_batches.services import batches, corrections
from payout_batches.transitions import ITEM_NAMES

SHOWN = 50  # batches of the list
SHOWN_ITEMS = 200
NEW = "new"  # among the states: what goes to an account that wasn't paid before
UNSENT = set(PayoutBatchItem.State.values) - set(PayoutBatchItem.ENDED)
LIVE = {PayoutBatch.Status.CHECKING, PayoutBatch.Status.PROCESSING}  # the page is updated meanwhile
# Where a batch stands in them, counted from 1. One that is cancelled stands nowhere.
STEP_OF = {
    PayoutBatch.Status.CHECKING: 2,
    PayoutBatch.Status.NEEDS_CORRECTION: 2,
    PayoutBatch.Status.READY: 3,
    PayoutBatch.Status.AWAITING_APPROVAL: 3,
    PayoutBatch.Status.SCHEDULED: 4,
    PayoutBatch.Status.PROCESSING: 4,
}
ITEM_COLUMNS: list[Column[Any]] = [
    Column("row", lambda item: item.position + 1),
    *attributes("reference", "name", "bank_code", "bank_name", "account_number", "account_name", "currency"),
    *amounts("amount"),
    *attributes("narration", "purpose", "status"),
    Column("problem", lambda item: item.outcome_text),
    *attributes("accepted_reason"),
    Column("sent_at", lambda item: item.payout and item.payout.created_at),
]
STYLES = {"success": "success", "ok": "success", "failed": "failed", "unknown_account": "failed"}


@members_page
def batches_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    newest = PayoutBatch.objects.of(membership.business).order_by("-id")[:SHOWN]
    context = {"membership": membership, "batches": summaries.sizes(newest), "most_shown": SHOWN}
    return render(request, "dashboard/payout_batches/batches.html", context)


@members_page
def batch_page(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponse:
    """Show a batch: what the checks found, what it costs, and how far it is sent."""
    batch = _own(membership, batch_id)
    if "HX-Request" in request.headers and batch.status not in LIVE:
        return HttpResponseClientRefresh()  # what can be done now is shown outside of the polled part
    waits = batch.status == PayoutBatch.Status.AWAITING_APPROVAL
    template = f"dashboard/payout_batches/{'approval' if waits else 'batch'}.html"
    return render(request, template, _context(request, membership, batch))


def _context(request: HttpRequest, membership: Membership, batch: PayoutBatch) -> dict[str, Any]:
    state = request.GET.get("state", "")
    found = batch.items.select_related("payout").order_by("position")
    is_before, now = review.is_before(batch), clock.now()
    items = list(found if is_before or state in ITEM_NAMES else found[:SHOWN_ITEMS])
    shown = summaries.shown(batch, items=items if is_before else None)
    reviewed = review.context(batch, items, user=cast("User", request.user), now=now)
    new = [item for item in items if (item.bank_code, item.account_number) in reviewed["new_accounts"]]
    new_rows = {item.position for item in new}
    listed = (
        new if state == NEW else [each for each in items if state not in ITEM_NAMES or each.status == state]
    )
    total = shown.amount + batch.fees + batch.taxes
    names = ITEM_NAMES | {"ok": "To be sent"} if batch.started_at else ITEM_NAMES  # checked long ago
    numbers = {**dict.fromkeys(ITEM_NAMES, 0), **shown.counts, NEW: len(new)}
    sums = {**dict.fromkeys(ITEM_NAMES, 0), **shown.sums, NEW: sum(item.amount for item in new)}
    return {
        "membership": membership,
        "batch": batch,
        "steps": review.STEPS,
        "step": STEP_OF.get(PayoutBatch.Status(batch.status)),
        "shown": shown,
        "items": [
            (item, STYLES.get(item.status, "pending"), item.position in new_rows)
            for item in listed[:SHOWN_ITEMS]
        ],
        "most_shown": SHOWN_ITEMS,
        "tabs": [
            *((name, names[name], count) for name, count in shown.counts.items()),
            *([(NEW, "New beneficiary", len(new))] if new else []),
        ],
        "state": state,
        "listed_number": numbers.get(state, shown.number),
        "listed_amount": sums.get(state, shown.amount),
        "unsent": sum(number for name, number in shown.counts.items() if name in UNSENT),
        "total": total,
        "left": shown.available - total,
        # Not while it is checked: the page replaces its rows meanwhile, with what is being entered in them.
        "is_reviewed": batch.status in {"needs_correction", "ready"},
        "is_live": batch.status in LIVE,
        "may_cancel": _may_cancel(batch),
        "may_edit": corrections.may_replace(batch, cast("User", request.user)),
        **reviewed,
        **progress.context(batch, items, shown, now=now),
    }


@members_export
def batch_export(
    request: HttpRequest, membership: Membership, batch_id: UUID, file_type: FileType
) -> HttpResponseBase:
    batch = _own(membership, batch_id)
    items = batch.items.select_related("payout").order_by("position")
    table = Table(columns=ITEM_COLUMNS, rows=items)
    page = reverse("dashboard-batch", args=[batch.pk])
    return exports.export(request, table, name=f"batch-{batch.reference}", file_type=file_type, page=page)


@members_action("approve a payout batch", may=Permission.PAY_OUT)
def approve(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponse:
    """Release a batch, or ask other members for approval."""
    batch = _own(membership, batch_id)
    as_far = request.POST.get("as_far_as_balance") == "on"
    acting: dict[str, Any] = {"actor": person_acting(request), "now": clock.now()}
    form = ScheduleForm(request.POST)
    try:
        if "when" in request.POST and batch.status == PayoutBatch.Status.READY:
            batches.schedule(batch.pk, form.time(), **acting)
        released = batches.approve(batch.pk, as_far_as_balance=as_far, **acting).resource
    except InvalidFields:
        messages.error(request, "Choose a day and time within the next 30 days.")
    except Problem as refusal:
        messages.error(request, str(refusal.detail))
    else:
        waits = released.status == PayoutBatch.Status.AWAITING_APPROVAL
        amount = money(summaries.shown(released).amount, batch.currency)
        will = "will be" if released.status == PayoutBatch.Status.SCHEDULED else "is being"
        messages.success(request, "Approval requested." if waits else f"Approved. {amount} {will} sent.")
    return redirect("dashboard-batch", batch.pk)


@members_action("approve or reject a payout batch", may=Permission.PAY_OUT)
def decide(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponse:
    """Approve or reject a batch as another member than its maker."""
    batch = _own(membership, batch_id)
    acting: dict[str, Any] = {
        "user": request.user,
        "actor": person_acting(request),
        "now": clock.now(),
    }
    form = ReasonForm(request.POST)
    with refusals_shown(request):
        if request.POST.get("decision") == "approve":
            batches.approve_as_member(batch.pk, **acting)
            messages.success(request, "Approved.")
        elif form.is_valid():
            batches.reject(batch.pk, reason=form.cleaned_data["reason"], **acting)
            messages.success(request, "Batch rejected. Nothing of it was sent.")
        else:
            messages.error(request, "Enter the reason.")
    return redirect("dashboard-batch", batch.pk)


@members_form("cancel a payout batch", may=Permission.PAY_OUT)
def cancel_page(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponse:
    """Say what would be cancelled, and cancel what was not sent."""
    batch = _own(membership, batch_id)
    unsent = batch.items.unsent().aggregate(number=Count("pk"), amount=Sum("amount", default=0))
    if request.method != "POST" and _may_cancel(batch) and unsent["number"]:
        context = {"membership": membership, "batch": batch, "unsent": unsent}
        return render(request, "dashboard/payout_batches/cancel.html", context)
    if request.method == "POST":
        _cancel(request, batch)
    return redirect("dashboard-batch", batch.pk)


def _may_cancel(batch: PayoutBatch) -> bool:
    return batch.cancelled_at is None and batch.finished_at is None


def _cancel(request: HttpRequest, batch: PayoutBatch) -> None:
    with refusals_shown(request, done="What was not sent is cancelled."):
        batches.cancel(batch.pk, actor=person_acting(request), now=clock.now())


@members_action("retry the failed payouts of a batch", may=Permission.PAY_OUT)
def retry(request: HttpRequest, membership: Membership, batch_id: UUID) -> HttpResponse:
    """Make a new batch of the failed payouts."""
    batch = _own(membership, batch_id)
    maker = Maker.of_member(cast("User", request.user))
    try:
        made: IdempotentResult[PayoutBatch] = batches.retry(
            batch.pk, maker=maker, actor=person_acting(request), now=clock.now()
        )
    except NoPrice as refusal:
        messages.error(request, refusal.message)
        return redirect("dashboard-batch", batch.pk)
    except Problem as refusal:
        messages.error(request, str(refusal.detail))
        return redirect("dashboard-batch", batch.pk)
    return redirect("dashboard-batch", made.resource.pk)


def _own(membership: Membership, batch_id: UUID) -> PayoutBatch:
    own = PayoutBatch.objects.of(membership.business).select_related(
        "business", "approval__business", "retry_of"
    )
    return get_object_or_404(own, pk=batch_id)
