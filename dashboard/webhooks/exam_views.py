"""The exam of the webhook receiver. Sandbox only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import messages
from django.db.models import QuerySet
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from dashboard.memberships import Membership, members_action, members_form
from dashboard.webhooks.endpoints.own_endpoints import named_endpoint
from kit.api.errors import Problem
from kit.db import clock
from kit.time.durations import in_words
from merchants.models import Business
from merchants.people.access import HARMLESS, Limit
from merchants.people.attempt_limits import LimitReached
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.services.events.receiver_exams import examine_endpoint
from webhooks.exams import exams
from webhooks.exams.exam import ProbeResult, Verdict
from webhooks.exams.exam_records import KEPT, KEPT_DAYS, Exam
from webhooks.models import Endpoint

LONGEST_BODY = 3_000  # characters of a body that are shown
STATE_NAMES = {Exam.State.RUNNING: "Running", Exam.State.PASSED: "Passed", Exam.State.FAILED: "Failed"}
ACTED_NAMES = {Exam.Acted.NEVER: "Never", Exam.Acted.ONCE: "Once", Exam.Acted.MORE: "More than once"}
# The look of each state and verdict, as in `status.css`.
MARKS = {
    Exam.State.RUNNING: "pending",
    Verdict.PASSED: "success",
    Verdict.FAILED: "failed",
    Verdict.ADVICE: "open",
    Verdict.NOT_RUN: "skipped",
}
VERDICT_NAMES = {
    Verdict.PASSED: "Passed",
    Verdict.FAILED: "Failed",
    Verdict.ADVICE: "Advice",
    Verdict.NOT_RUN: "Not run",
}


class ActedForm(forms.Form):
    acted = forms.ChoiceField(choices=list(ACTED_NAMES.items()))


@dataclass(frozen=True, slots=True)
class Row:
    """A probe on the page. Only one shows its request, because all of them would be too long."""

    result: ProbeResult
    shows_request: bool

    @property
    def mark(self) -> str:
        return "waiting" if self.result.is_waiting else MARKS[self.result.verdict]

    @property
    def name(self) -> str:
        return "Waiting" if self.result.is_waiting else VERDICT_NAMES[self.result.verdict]

    @property
    def guide(self) -> str:
        return f"{reverse('guide', args=['webhooks'])}#{self.result.probe.section}"

    @property
    def body(self) -> str:
        """Return the body, if it isn't too long for the page."""
        body = self.result.request.body if self.result.request else ""
        return body if len(body) <= LONGEST_BODY else ""


@members_form(
    "examine the webhook receiver",
    may=Permission.MANAGE_WEBHOOKS,
    shown_to=Permission.VIEW,
    never_asks=HARMLESS,
    limits=(Limit.EXAM,),
)
def exam_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show an exam, by default the newest, and start a new one. The page polls while an exam is running."""
    _require_sandbox()
    if request.method == "POST":
        return _start(request, membership)
    is_part = request.headers.get("HX-Request") == "true"
    exam = _chosen(membership.business, request.GET.get("id", ""))
    endpoint = named_endpoint(membership.business, request.GET.get("endpoint", ""))
    context = _context(membership, exam, endpoint, probe=request.GET.get("probe", ""))
    template = "dashboard/webhooks/_exam.html" if is_part else "dashboard/webhooks/exam.html"
    return render(request, template, context)


def _start(request: HttpRequest, membership: Membership) -> HttpResponse:
    now, business = clock.now(), membership.business
    endpoint = named_endpoint(business, request.POST.get("endpoint", ""))
    number = endpoint.number if endpoint else Endpoint.FIRST
    try:
        examine_endpoint(business, actor=person_acting(request), now=now, number=number)
    except Problem as refusal:
        messages.warning(request, str(refusal.detail))
    except LimitReached as limit:
        wait = limit.retry_at - now
        messages.warning(request, f"Too many exams in an hour. Start the next one in {in_words(wait)}.")
    return redirect("dashboard-exam")


def _context(
    membership: Membership, exam: Exam | None, endpoint: Endpoint | None, *, probe: str
) -> dict[str, Any]:
    """Return what the page shows. `endpoint` is the one that a new exam is of. `probe` is the name of the one whose request is shown, by default the first failed."""
    earlier = list(_exams(membership.business).defer("requests", "answers")[:KEPT])
    context: dict[str, Any] = {
        "membership": membership,
        "endpoint": endpoint,
        "exam": exam,
        "earlier": [(each, STATE_NAMES[Exam.State(each.state)], _mark(each)) for each in earlier],
        "kept": KEPT,
        "kept_days": KEPT_DAYS,
    }
    if exam is not None:
        context |= {
            "rows": _rows(exam, probe),
            "state_name": STATE_NAMES[Exam.State(exam.state)],
            "mark": _mark(exam),
            "acted_choices": ACTED_NAMES.items(),
        }
    return context


def _rows(exam: Exam, probe: str) -> list[Row]:
    failed = (each.probe.name for each in exam.results if each.verdict is Verdict.FAILED)
    shown = probe or next(failed, "")
    return [Row(each, shows_request=each.probe.name == shown) for each in exam.results]


def _mark(exam: Exam) -> str:
    return MARKS[Exam.State(exam.state)]


def _chosen(business: Business, exam_id: str) -> Exam | None:
    """Return the exam of this id, or the newest one for an empty id."""
    try:
        exam = get_object_or_404(_exams(business), pk=UUID(exam_id)) if exam_id else _exams(business).first()
    except ValueError:
        raise Http404 from None
    return exam and exams.give_up_if_overdue(exam, now=timezone.now())


@members_action("answer the question of an exam", may=Permission.MANAGE_WEBHOOKS, never_asks=HARMLESS)
def exam_acted(request: HttpRequest, membership: Membership, exam_id: UUID) -> HttpResponse:
    """Store the answer to the question that an exam asks."""
    _require_sandbox()
    exam = get_object_or_404(_exams(membership.business), pk=exam_id)
    form = ActedForm(request.POST)
    if not form.is_valid():
        messages.warning(request, "Choose one of the answers.")
    else:
        try:
            exams.note_acted(exam, form.cleaned_data["acted"])
        except exams.WrongExamState as refusal:
            messages.warning(request, str(refusal.detail))
        else:
            messages.success(request, "Answer saved.")
    return redirect(f"{reverse('dashboard-exam')}?id={exam.pk}")


def _exams(business: Business) -> QuerySet[Exam]:
    return Exam.objects.filter(business=business).order_by("-created_at", "-pk")


def _require_sandbox() -> None:
    if not settings.SANDBOX:
        raise Http404
