"""Admin pages of settlement batches: view, download, approve, release and reject."""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path
from django.utils.formats import date_format

from kit.db import clock
from kit.money.money import money
from merchants import exports
from merchants.admin import ReadOnlyAdmin, ReadOnlyInline, by_business_name, by_id, in_each_business
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address, two_lines
from merchants.admin.filters import CurrencyFilter
from merchants.people.access import Limit, open_to, right
from merchants.people.request_actors import person_acting
from payments.admin.decisions.bulk_decisions import BulkDecisionAdmin, Item
from payments.admin.decisions.submitting import require_seen, submit, submitted
from payments.models import BatchTransition, InvalidState, Proposal, SettlementBatch, SettlementItem
from payments.rules.settlement.settlement_transitions import BATCH_TRANSITIONS
from payments.rules.words.status_names import SETTLEMENT_NAMES
from payments.services.settlement.batches import batch_decisions, batch_funds, batch_statements
from payments.services.settlement.batches.batch_funds import Funds
from payments.services.staff import made_about, staff_actions

MAY_DECIDE = "payments.decide_settlementbatch"
# By decision: the batch's next state, or that without its money. A rejection moves no money, so it needs no second person.
UNFUNDED = "unfunded"  # approved, although its money hasn't arrived
SUBMITTED = {
    "approved": Proposal.Action.APPROVE_BATCH,
    UNFUNDED: Proposal.Action.APPROVE_UNFUNDED,
    "released": Proposal.Action.RELEASE_BATCH,
}
SUBMITTED_STATES: dict[str, str] = {action: state for state, action in SUBMITTED.items()}
DECISIONS = (*SUBMITTED, "rejected")
# Staff can't approve a batch that is still being created, which merchants see as open.
STATE_NAMES = SETTLEMENT_NAMES | {"initiated": "Being created"}


class DecisionForm(forms.Form):
    """A decision about a batch, and the reason."""

    decision = forms.ChoiceField(choices=[(state, state) for state in DECISIONS], widget=forms.HiddenInput)
    reason = forms.CharField(max_length=255, widget=forms.TextInput(attrs={"class": "vTextField"}))


class BatchTransitionInline(ReadOnlyInline):
    model = BatchTransition
    states: ClassVar = {"before": STATE_NAMES, "after": STATE_NAMES}


@admin.register(SettlementBatch)
class SettlementBatchAdmin(BulkDecisionAdmin):
    groups: ClassVar = {
        "Money": (
            "gross", "fees", "taxes", "refunds", "disputes", "brought_forward", "net", "carried_forward", "carried_into",
            "reserved",
        ),
        "State": ("state", "reason", "created_at"),
        "Batch": ("business", "currency", "day", "number", "payments_count"),
        "Arrived money": ("funds_required", "unfunded", "unfunded_by", "unfunded_confirmed_by"),
    }  # fmt: skip
    change_form_template = "admin/payments/settlementbatch.html"
    list_display = (
        "day_and_number", "net", "state", "business", "payments_count", "gross", "fees", "refunds",
    )  # fmt: skip
    amounts = (
        "gross",
        "fees",
        "taxes",
        "refunds",
        "disputes",
        "brought_forward",
        "net",
        "carried_forward",
        "reserved",
        "unfunded",
    )
    states: ClassVar = {"state": STATE_NAMES}
    list_filter = ("state", CurrencyFilter)
    list_select_related = ("business",)
    ordering = ("-day", "-pk")
    sortable_by = ("day_and_number",)
    date_hierarchy = "day"
    searches = (by_id(), by_business_name())
    search_help_text = "ID, or name or ID of the business."
    inlines = (BatchTransitionInline,)
    may_act_on_list = MAY_DECIDE
    bulk_name = "approve"
    bulk_title = "Approve settlement batches"
    bulk_button = "Approve batches"
    bulk_noun = ("batch", "batches")
    bulk_explanation = "The bank has received the money. The batches can be released."

    @admin.display(description="business day", ordering="day")
    def day_and_number(self, batch: SettlementBatch) -> str:
        return two_lines(date_format(batch.day), f"No. {batch.number}")

    def title_of(self, row: SettlementBatch) -> str:
        return f"{money(row.net, row.currency)}, batch of {_name(row)}"

    def related(self, row: SettlementBatch) -> Iterator[Link]:
        yield Link(
            "Payments, refunds and disputes in this batch", list_address("payments_settlementitem", row.pk)
        )
        yield Link(f"Batches of {row.business}", list_address("payments_settlementbatch", row.business_id))
        yield Link("Ledger entries", list_address("ledger_entry", row.pk))
        yield Link("Proposals", f"{list_address('payments_proposal', row.pk)}&state=all")
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))

    def bulk_rows(self, ids: Sequence[UUID]) -> QuerySet[SettlementBatch]:
        return SettlementBatch.objects.filter(pk__in=ids).select_related("business").order_by("pk")

    def bulk_item(self, request: HttpRequest, row: SettlementBatch) -> Item:
        obstacle = ""
        if "approved" not in BATCH_TRANSITIONS[row.state]:
            obstacle = f"It is {STATE_NAMES[row.state].lower()}."
        elif row.is_updating:
            obstacle = "Its payments are still being updated."
        elif (funds := batch_funds.required_of(row)) is not None and funds.missing:
            obstacle = f"{money(funds.missing, row.currency)} of it hasn't arrived. Decide on its page."
        return Item(row, _name(row), row.business.name, row.currency, row.net, obstacle)

    def bulk_decide(self, request: HttpRequest, row: SettlementBatch, *, reason: str) -> None:
        submitted(request, staff_actions.batch_decision(row, Proposal.Action.APPROVE_BATCH, reason=reason))

    def bulk_done(self, count: str, sums: str) -> str:
        if settings.FOUR_EYES:
            return f"Proposed the approval of {count}: {sums}. Another person must confirm it."
        return f"Approved {count}: {sums}."

    def get_urls(self) -> list[URLPattern]:
        return [
            *self.action_urls("batch_id", {"decide": self.decide}),
            path(
                "<uuid:batch_id>/statement.csv",
                self.admin_site.admin_view(self.statement),
                name="payments_settlementbatch_statement",
            ),
            *super().get_urls(),
        ]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if not isinstance(row, SettlementBatch):
            return {}
        proposal = (
            Proposal.objects.open(at=clock.now()).filter(target=row.pk).select_related("proposed_by").first()
        )
        funds = batch_funds.required_of(row)
        shown = {"proposal": proposal, "funds": funds}
        if not request.user.has_perm(MAY_DECIDE):
            return shown
        proposed = SUBMITTED_STATES.get(proposal.action, "") if proposal else ""
        offered = [each for each in _offered(row, funds) if each != proposed]
        seen = made_about.fingerprint(made_about.batch(row, funds))
        return shown | {"decisions": [_form_of(each) for each in offered], "seen": seen}

    @staff_action("approve, release or reject a settlement batch", may=MAY_DECIDE, needs_second_person=True)
    def decide(self, request: HttpRequest, batch_id: UUID) -> HttpResponse:
        form = DecisionForm(request.POST, auto_id=f"%s-{request.POST.get('decision', '')}")
        batch = get_object_or_404(SettlementBatch, pk=batch_id)
        if form.is_valid():
            self._decide(request, batch, **form.cleaned_data)
            return redirect("admin:payments_settlementbatch_change", batch_id)
        messages.error(request, "Nothing was decided. Choose a decision and enter a reason.")
        shown = [
            form if each == form["decision"].value() else _form_of(each)
            for each in _offered(batch, batch_funds.required_of(batch))
        ]
        return self.page_again(request, batch_id, decisions=shown)

    def _decide(self, request: HttpRequest, batch: SettlementBatch, *, decision: str, reason: str) -> None:
        done = f"The batch is {decision}."  # an approval without its money always awaits another person
        if decision in SUBMITTED:
            kind = SUBMITTED[decision]
            submit(request, lambda: staff_actions.batch_decision(batch, kind, reason=reason), done=done)
            return
        try:
            require_seen(request, made_about.batch(batch, batch_funds.required_of(batch)))
            batch_decisions.reject(batch.pk, reason=reason, actor=person_acting(request), now=clock.now())
        except InvalidState as refused:
            messages.error(request, str(refused.detail))
        else:
            messages.success(request, done)

    @open_to(right("payments.view_settlementbatch"), limits=(Limit.EXPORT,))
    def statement(self, request: HttpRequest, batch_id: UUID) -> HttpResponseBase:
        if not self.has_view_permission(request):
            raise PermissionDenied
        batch = get_object_or_404(SettlementBatch, pk=batch_id)
        name = f"settlement-{batch.currency}-{batch.day}-{batch.number}"
        return exports.export(request, batch_statements.table(batch), name=name)


def _offered(batch: SettlementBatch, funds: Funds | None) -> Iterator[str]:
    """Yield the decisions that a batch's state and what has arrived of its money allow."""
    for state in () if batch.is_updating else BATCH_TRANSITIONS[batch.state]:
        if state in DECISIONS and (state != "approved" or funds is None or funds.arrived):
            yield state
        if state == "approved" and funds is not None and funds.missing:
            yield UNFUNDED


def _form_of(state: str) -> DecisionForm:
    return DecisionForm(initial={"decision": state}, auto_id=f"%s-{state}")


def _name(batch: SettlementBatch) -> str:
    return f"{date_format(batch.day)}, no. {batch.number}"


@admin.register(SettlementItem)
class SettlementItemAdmin(ReadOnlyAdmin):
    list_display = ("item", "transaction", "batch", "gross", "fee", "refunded", "disputed", "is_live")
    amounts, currency = ("gross", "fee", "fee_tax", "refunded", "disputed"), "batch.currency"
    list_select_related = ("transaction", "batch", "operation", "dispute_step__dispute")
    searches = (
        by_id("batch"),
        by_id("transaction"),
        in_each_business("transaction__reference", business="transaction__business"),
    )
    search_help_text = "ID of the batch, or ID or full reference of the payment."

    @admin.display(description="item")
    def item(self, item: SettlementItem) -> str:
        if item.dispute_step is not None:
            return two_lines("Dispute", item.dispute_step.dispute.case_number)
        if item.operation is not None:
            return two_lines("Refund", item.operation.reference or "")
        return two_lines("Payment", item.transaction.reference)
