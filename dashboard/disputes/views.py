"""The list of disputes, and the page of one, on which its evidence is collected."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse

from dashboard.disputes.detail.detail import detail_of, own_dispute
from dashboard.disputes.dispute_list import DISPUTES, DisputeFilter, most_urgent
from dashboard.disputes.forms import EvidenceForm
from dashboard.disputes.list_figures import figures_of
from dashboard.memberships import Membership, members_export, members_form, members_page
from dashboard.ui.lists import exports
from dashboard.ui.lists.lists import list_context
from disputes.downloads import attachment
from disputes.models import Dispute, DisputeEvidence
from disputes.services.answers import evidence
from disputes.services.answers.packet import PARTS
from kit.db import clock
from kit.files.tables import Column, Table, amounts, attributes
from merchants.exports import FileType
from merchants.people.access import HARMLESS
from merchants.people.audit import Actor
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import InvalidState

COLUMNS = [
    *attributes("id", "case_number", "stage", "status", "reason", "network_reason"),
    *amounts("amount", "fee", "outcome_amount"),
    *attributes("currency"),
    Column("payment_reference", lambda dispute: dispute.transaction.reference),
    *attributes("opened_at", "respond_by", "resolved_at", "created_at"),
]


@members_page
def disputes_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = DisputeFilter(request.GET, business=membership.business)
    context = list_context(DISPUTES, form, form, membership=membership, query=request.GET)
    if not form.is_filtered:
        context["urgent"] = most_urgent(context["page"].rows)
        context["figures"] = figures_of(membership.business, now=clock.now())
    return render(request, "dashboard/disputes/disputes.html", context)


@members_export
def disputes_export(request: HttpRequest, membership: Membership, file_type: FileType) -> HttpResponseBase:
    form, page = DisputeFilter(request.GET, business=membership.business), reverse("dashboard-disputes")
    if not form.is_valid():
        return exports.back_to_list(request, page)
    table: Table[Any] = Table(columns=COLUMNS, rows=exports.rows_of(form.sources()))
    return exports.export(request, table, name="disputes", file_type=file_type, page=page)


@members_form(
    "collect evidence for a dispute",
    may=Permission.ANSWER_DISPUTES,
    shown_to=Permission.VIEW,
    never_asks=HARMLESS,
)
def dispute_page(request: HttpRequest, membership: Membership, dispute_id: UUID) -> HttpResponse:
    """Show a dispute. Its form adds a text or a file, removes one, and leads to the review of the answer."""
    dispute = own_dispute(membership, dispute_id, now=clock.now())
    form = EvidenceForm(request.POST or None, request.FILES or None)
    if request.method == "POST":
        if "remove" in request.POST:
            return _remove(request, dispute)
        if form.is_valid() and _add(request, dispute, form):
            page = "dashboard-submit-dispute" if "review" in request.POST else "dashboard-dispute"
            return _back_to(dispute, page=page, leave_out=_unticked(request))
    detail = detail_of(dispute, now=clock.now())
    context = {
        "membership": membership,
        "dispute": dispute,
        "payment": dispute.transaction,
        "detail": detail,
        "form": form,
        "left_out": _unticked(request) if request.method == "POST" else left_out(request),
        "most_files": evidence.most_files(dispute),
    }
    return render(request, "dashboard/disputes/dispute.html", context)


@members_page
def file_page(
    _request: HttpRequest, membership: Membership, dispute_id: UUID, evidence_id: UUID
) -> HttpResponse:
    """Send a file of the evidence, which browsers save.

    :raises Http404: there is none, or it is another business's
    """
    mine = DisputeEvidence.objects.filter(pk=evidence_id, dispute__business=membership.business)
    file = get_object_or_404(mine.filter(dispute=dispute_id).exclude(name="").select_related("file"))
    return attachment(file)


def left_out(request: HttpRequest) -> list[str]:
    """Return the parts of the packet that the query leaves out."""
    return [part for part in request.GET.getlist("leave_out") if part in PARTS]


def _unticked(request: HttpRequest) -> list[str]:
    """Return the parts of the packet that the form offered and that aren't ticked."""
    ticked = request.POST.getlist("packet")
    return [part for part in request.POST.getlist("offered") if part in PARTS and part not in ticked]


def _add(request: HttpRequest, dispute: Dispute, form: EvidenceForm) -> bool:
    """Add what was entered. Return False if the form can't be; it says why."""
    if form.is_empty and "review" not in request.POST:
        form.add_error("text", "Write a text, or choose a file.")
        return False
    try:
        _store(dispute, actor=person_acting(request), now=clock.now(), **form.cleaned_data)
    except evidence.WrongFileType:
        form.add_error("file", "Choose a PDF, a PNG or a JPEG. This file is something else.")
    except InvalidState as refusal:
        messages.error(request, str(refusal.detail))
    return not form.errors


def _store(dispute: Dispute, *, kind: str, text: str, file: Any, actor: Actor, now: datetime) -> None:
    if file:
        evidence.add_file(dispute.pk, kind=kind, name=file.name, content=file.read(), actor=actor, now=now)
    if text:
        evidence.add_text(dispute.pk, kind=kind, text=text, actor=actor, now=now)


def _remove(request: HttpRequest, dispute: Dispute) -> HttpResponse:
    try:
        evidence.remove(dispute.pk, UUID(request.POST["remove"]))
    except ValueError as unreadable:
        raise Http404 from unreadable
    except InvalidState as refusal:
        messages.error(request, str(refusal.detail))
    return _back_to(dispute, page="dashboard-dispute", leave_out=_unticked(request))


def _back_to(dispute: Dispute, *, page: str, leave_out: list[str]) -> HttpResponse:
    """Redirect to a page of the dispute.

    The form posts to #evidence, which browsers keep over redirects. The review, and what follows it, begin at
    the top instead, where they say what is submitted, and that it was.
    """
    query = urlencode({"leave_out": leave_out}, doseq=True)
    fragment = "#top" if page == "dashboard-submit-dispute" else ""
    return redirect(f"{reverse(page, args=[dispute.pk])}{'?' if query else ''}{query}{fragment}")
