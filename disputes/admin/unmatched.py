"""Admin pages of acquirers' reports about disputes: upload of files, and decisions about those that match no payment."""

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils.html import format_html_join

from disputes.admin.upload_form import UploadForm
from disputes.models import DisputeReport
from disputes.services.reports import report_files, unmatched
from kit.db import clock
from kit.money.money import money
from merchants.admin import by_id, exactly
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address, sentence
from merchants.admin.filters import UsualStateFilter
from payments.admin.suspense import DecisionForm, SuspenseAdmin
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import StaffAction

Why = DisputeReport.Why
MAY_READ, MAY_SETTLE = "disputes.add_disputereport", "disputes.settle_dispute"
SHOWN = 200  # rows of a file that the result lists


class AssignForm(DecisionForm):
    title = "Assign to a payment"
    explanation = (
        "The dispute is opened for this payment, as if the acquirer had named it. Past an inquiry, its amount is held from "
        "the business. If the report contradicts how the case ended here, it stays open as a contradiction. This can't be "
        "undone."
    )
    payment = forms.UUIDField(label="ID of the payment")

    def action_of(self, row: Any) -> StaffAction:
        payment = unmatched.find_payment(self.cleaned_data["payment"])
        return unmatched.assignment(row, payment, reason=self.cleaned_data["reason"])


class CreditForm(DecisionForm):
    title = "Credit to the business"
    explanation = (
        "The acquirer gives the money back although the dispute was lost here. It leaves suspense, and is credited to the "
        "pending settlement of the business. This can't be undone."
    )

    def action_of(self, row: Any) -> StaffAction:
        return unmatched.credit(row, **self.cleaned_data)


class DismissForm(DecisionForm):
    title = "Dismiss"
    explanation = (
        "The report has no effect. Money of it in suspense leaves without an owner. This can't be undone."
    )

    def action_of(self, row: Any) -> StaffAction:
        return unmatched.dismissal(row, **self.cleaned_data)


class StateFilter(UsualStateFilter):
    """Open unmatched reports, unless another state is chosen."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("settled", "Settled"), ("all", "All reports")]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() == "settled":
            return queryset.filter(settled_at__isnull=False)
        return queryset if self.value() == "all" else queryset.unmatched()


def by_case(model: Any, term: str) -> Iterator[QuerySet[Any]]:
    """Match open reports with a case number. Those of a dispute are found by it."""
    yield model._default_manager.unmatched().filter(told__case_number=term)


@admin.register(DisputeReport)
class DisputeReportAdmin(SuspenseAdmin):
    """Reports of acquirers. Those that match no payment are settled by two people."""

    may_decide = MAY_SETTLE
    decisions: ClassVar = {"assign": AssignForm, "credit": CreditForm, "dismiss": DismissForm}
    empty_text = "Every dispute has its payment. Choose another state to see all reports."
    list_display = (
        "case",
        "disputed_amount",
        "why",
        "detail",
        "source",
        "line",
        "amount_in_suspense",
        "created_at",
    )
    amounts = ("amount_in_suspense",)
    list_filter = (StateFilter, "why")
    exclude = ("told", "digest")
    readonly_fields = ("told_in_words",)
    searches = (by_id(), by_id("dispute"), exactly("dispute__case_number"), by_case)
    search_help_text = "ID, ID of the dispute, or full case number."

    @admin.display(description="case")
    def case(self, report: DisputeReport) -> str:
        return report.case_number or "—"

    @admin.display(description="amount")
    def disputed_amount(self, report: DisputeReport) -> str:
        told = report.told
        return money(told["amount"], told["currency"]) if "amount" in told else "—"

    @admin.display(description="report")
    def told_in_words(self, report: DisputeReport) -> str:
        if "cells" in report.told:
            return " | ".join(report.told["cells"])
        told = report.told | {"amount": self.disputed_amount(report), "currency": ""}
        if told["outcome_amount"] is not None:
            told["outcome_amount"] = money(told["outcome_amount"], report.currency)
        lines = ((sentence(name), value) for name, value in told.items() if value not in ("", None))
        return format_html_join("", "{}: {}<br>", lines)

    def state_of(self, row: Any) -> MadeAbout:
        return unmatched.state(row)

    def decisions_of(self, row: DisputeReport) -> Mapping[str, type[DecisionForm]]:
        allowed = {"dismiss"}
        if row.why in unmatched.ASSIGNABLE:
            allowed.add("assign")
        if row.amount_in_suspense:
            allowed.add("credit")
        return {name: form for name, form in self.decisions.items() if name in allowed}

    def related(self, row: DisputeReport) -> Iterator[Link]:
        if rrn := row.told.get("rrn"):
            yield Link("Payments with this RRN", list_address("payments_transaction", rrn))
        yield from super().related(row)

    @staff_action("assign an unmatched dispute to a payment", may=MAY_SETTLE, needs_second_person=True)
    def assign(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "assign")

    @staff_action("credit the money of a lost dispute", may=MAY_SETTLE, needs_second_person=True)
    def credit(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "credit")

    @staff_action("dismiss an unmatched dispute", may=MAY_SETTLE, needs_second_person=True)
    def dismiss(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "dismiss")

    def get_urls(self) -> list[URLPattern]:
        upload = path(
            "upload/", self.admin_site.admin_view(self.upload), name="disputes_disputereport_upload"
        )
        return [upload, *super().get_urls()]

    @staff_action(
        "read an acquirer's file about disputes", may=MAY_READ, needs_second_person=False, is_page=True
    )
    def upload(self, request: HttpRequest) -> HttpResponse:
        """Preview an acquirer's file, then read it. A file is read only as it was previewed."""
        form = UploadForm(request.POST or None, request.FILES or None, label_suffix="")
        context = {"title": "Read an acquirer's file", "opts": self.opts, "form": form}
        if request.method == "POST" and form.is_valid():
            context |= _result(form)
        context |= self.admin_site.each_context(request)
        return TemplateResponse(request, "admin/disputes/upload.html", context)


def _result(form: UploadForm) -> dict[str, Any]:
    """Preview the file, or read it, and return the result for the page."""
    given = form.cleaned_data
    act = report_files.take_rows if form.is_confirmed else report_files.rehearse
    reports = list(act(given["rows"], given["account"], source=given["file"].name, now=clock.now()))
    unmatched_ones = [report for report in reports if report.is_open]
    return {
        "is_read": form.is_confirmed,
        "rows": len(reports),
        "matched": len(reports) - len(unmatched_ones),
        "unmatched": len(unmatched_ones),
        "reports": (unmatched_ones + [each for each in reports if not each.is_open])[:SHOWN],
        "digest": given["digest"],
        "carried": form.carried,
    }
