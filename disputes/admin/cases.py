"""Admin pages of disputes: who has to act until when, and what has happened."""

from collections.abc import Iterator
from datetime import datetime
from typing import Any, ClassVar
from uuid import UUID

from django.contrib import admin
from django.db.models import F, Q
from django.http import HttpRequest, HttpResponse
from django.template.defaultfilters import filesizeformat
from django.utils import timezone
from django.utils.formats import date_format

from disputes.models import AnswerSending, Dispute, DisputeEvidence, DisputeStep
from disputes.services import debits
from disputes.services.answers import answer_files
from disputes.services.rails import outbox
from kit.money.money import money
from kit.time.durations import in_words
from merchants.admin import ReadOnlyInline, by_business_name, by_id, exactly, in_each_business
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address, two_lines
from merchants.admin.filters import CurrencyFilter
from payments.admin.suspense import DecisionForm, SuspenseAdmin
from payments.rules.words.dispute_words import Status
from payments.services.staff.made_about import MadeAbout
from payments.services.staff.staff_action import StaffAction

MAY_SETTLE = "disputes.settle_dispute"


class DebitForm(DecisionForm):
    title = "Record the acquirer's debit"
    explanation = (
        "The acquirer has taken the money back from us, and no statement that is imported here says so. A line of a statement "
        "records it automatically. Nothing more is taken from the business. This can't be undone."
    )

    def action_of(self, row: Any) -> StaffAction:
        return debits.recording(row, **self.cleaned_data)


class WaitsFilter(admin.SimpleListFilter):
    """Filter by who has to act. The list is then ordered by deadline."""

    title = "waits for"
    parameter_name = "waits"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("business", "The business"),
            ("us", "Us, to send the answer"),
            ("acquirer", "The acquirer"),
        ]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        chosen = {
            "business": queryset.filter(status=Status.NEEDS_RESPONSE),
            "us": queryset.filter(
                Q(pk__in=answer_files.unsent().values("pk")) | Q(answer_sending__next_at__isnull=False)
            ),
            "acquirer": queryset.filter(status=Status.UNDER_REVIEW),
        }
        return chosen.get(self.value() or "", queryset)


class StepInline(ReadOnlyInline):
    model = DisputeStep
    fields = ("kind", "status", "taken", "fee", "actor", "at")
    amounts, currency = ("taken", "fee"), "dispute.currency"
    ordering = ("id",)


class EvidenceInline(ReadOnlyInline):
    model = DisputeEvidence
    verbose_name_plural = "evidence"
    fields = ("kind", "content", "actor", "created_at")
    readonly_fields = ("content",)

    @admin.display(description="text or file")
    def content(self, item: DisputeEvidence) -> str:
        return (
            two_lines(item.name, f"{item.type}, {filesizeformat(item.size)}") if item.is_file else item.text
        )


class AnswerSendingInline(ReadOnlyInline):
    model = AnswerSending
    fields = ("result", "sent_at", "next_at", "attempts", "last_error")


@admin.register(Dispute)
class DisputeAdmin(SuspenseAdmin):
    groups: ClassVar = {
        "Money": ("amount", "currency", "fee", "outcome_amount", "already_refunded", "debited_at"),
        "State": (
            "status", "waits_for", "deadline", "respond_by", "network_due_at", "remind_at", "answer_in_words", "answer_batch", "resolved_at",
        ),
        "Case": (
            "case_number", "stage", "reason", "network_reason", "previous", "opened_at", "created_at", "updated_at",
        ),
        "Payment": ("transaction", "business", "connector", "account"),
    }  # fmt: skip
    may_decide = MAY_SETTLE
    decisions: ClassVar = {"record_debit": DebitForm}
    list_display = (
        "case", "amount", "status", "waits_for", "deadline", "business", "reason", "transaction", "opened_at",
    )  # fmt: skip
    amounts = ("amount", "fee", "outcome_amount")
    states: ClassVar = {"status": {}}
    list_filter = (WaitsFilter, "status", "stage", CurrencyFilter)
    list_select_related = ("business", "transaction", "answer_sending")
    exclude = ("answer",)
    readonly_fields = ("waits_for", "deadline", "answer_in_words")
    inlines = (StepInline, EvidenceInline, AnswerSendingInline)
    searches = (
        by_id(),
        by_id("transaction"),
        exactly("case_number"),
        in_each_business("transaction__reference", business="transaction__business"),
        by_business_name(),
    )
    search_help_text = (
        "ID, full case number, ID or full reference of the payment, or name or ID of the business."
    )

    def get_ordering(self, request: HttpRequest) -> Any:
        """Order what waits by deadline, so that the next one is first."""
        by_deadline = (F("respond_by").asc(nulls_last=True), "pk")
        return by_deadline if WaitsFilter.parameter_name in request.GET else super().get_ordering(request)

    @admin.display(description="case")
    def case(self, dispute: Dispute) -> str:
        return two_lines(dispute.case_number, dispute.get_stage_display())

    @admin.display(description="waits for")
    def waits_for(self, dispute: Dispute) -> str:
        if dispute.status == Status.NEEDS_RESPONSE:
            return "The business"
        if answer_files.is_unsent(dispute) or outbox.is_being_sent(dispute):
            return "Us, to send the answer"
        return "The acquirer" if dispute.is_open else "—"

    @admin.display(description="deadline")
    def deadline(self, dispute: Dispute) -> str:
        if dispute.respond_by is None:
            return "—"
        left = dispute.respond_by - timezone.now()
        day = _moment(dispute.respond_by)
        if not dispute.is_open:
            return day
        until = f"{in_words(left, parts=2)} left" if left.total_seconds() > 0 else "passed"
        return two_lines(
            day,
            f"{until}; the network's {_moment(dispute.network_due_at)}" if dispute.network_due_at else until,
        )

    @admin.display(description="answer")
    def answer_in_words(self, dispute: Dispute) -> str:
        answer = dispute.answer or {}
        if "accept" in answer:
            return f"Accepted: {money(answer['accept']['amount'], dispute.currency)}"
        left_out = ", ".join(answer.get("submit", {}).get("leave_out", []))
        if "submit" not in answer:
            return "—"
        return (
            f"Submitted, left out of the packet: {left_out}"
            if left_out
            else "Submitted with the whole packet"
        )

    def is_undecided(self, row: Dispute) -> bool:
        return debits.can_be_recorded(row)

    def state_of(self, row: Dispute) -> MadeAbout:
        return debits.state(row)

    @staff_action("record the acquirer's debit of a dispute", may=MAY_SETTLE, needs_second_person=True)
    def record_debit(self, request: HttpRequest, row_id: UUID) -> HttpResponse:
        return self.decide(request, row_id, "record_debit")

    def title_of(self, row: Dispute) -> str:
        return f"{money(row.amount, row.currency)}, case {row.case_number}"

    def related(self, row: Dispute) -> Iterator[Link]:
        yield Link("Disputes of this payment", list_address("disputes_dispute", row.transaction_id))
        yield Link("Reports of the acquirer", f"{list_address('disputes_disputereport', row.pk)}&state=all")
        yield Link("Proposals", f"{list_address('payments_proposal', row.pk)}&state=all")
        yield Link("Deliveries", list_address("webhooks_delivery", row.pk))
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))


def _moment(at: datetime) -> str:
    return date_format(timezone.localtime(at), "DATETIME_FORMAT")
