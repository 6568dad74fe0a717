"""Admin pages of debts: which businesses owe, since when, and what staff do about it."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin, messages
from django.db.models import OuterRef, Subquery, Sum
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern

from kit.api.refusal_messages import refusals_shown
from kit.db import clock
from kit.money.money import money
from ledger.models import Account
from merchants.admin import ReadOnlyAdmin, by_business_name, by_id
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address
from merchants.admin.filters import CurrencyFilter
from merchants.people.request_actors import person_acting
from payments.admin.decisions.submitting import submit
from payments.admin.reconciliation.breaks import OpenFilter
from payments.models import Debt, Proposal
from payments.rules.settlement.business_days import business_day
from payments.services.settlement import debts, reserves
from payments.services.staff.actions import debt_collection

MAY_CHANGE = "payments.change_debt"


class CollectForm(forms.Form):
    """Why a debt is collected from the reserve."""

    reason = forms.CharField(
        max_length=255, help_text="The business reads it in its statement and in an email."
    )


class InvoiceForm(forms.Form):
    """When an invoice was sent."""

    sent_on = forms.DateField(label="Sent on", widget=forms.DateInput(attrs={"type": "date"}))

    def clean_sent_on(self) -> Any:
        sent_on = self.cleaned_data["sent_on"]
        if sent_on > business_day(clock.now()):
            raise forms.ValidationError("Enter today or an earlier day.")
        return sent_on


@admin.register(Debt)
class DebtAdmin(ReadOnlyAdmin):
    """Businesses whose wallet and pending settlement together are below zero."""

    change_form_template = "admin/payments/debt.html"
    empty_text = "No business owes. Choose the state Ended to see earlier debts."
    list_display = ("business", "currency", "owed", "reserve", "since", "invoice_sent_on", "ended_at")
    list_filter = (OpenFilter, CurrencyFilter)
    list_select_related = ("business",)
    searches = (by_id(), by_id("business"), by_business_name())
    search_help_text = "Name or ID of the business."
    fields = (
        "business", "currency", "owed", "reserve", "since", "ended_at", "invoice_sent_on", "invoice_sent_by",
    )  # fmt: skip
    readonly_fields = ("owed", "reserve")

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return debts with the balances of their businesses now."""
        accounts = Account.objects.filter(business=OuterRef("business"), currency=OuterRef("currency"))
        held = accounts.filter(kind__in=debts.BALANCES).order_by().values("currency")
        return (
            super()
            .get_queryset(request)
            .annotate(
                balance=Subquery(held.annotate(sum=Sum("balance")).values("sum")),
                in_reserve=Subquery(accounts.filter(kind=Account.Kind.RESERVE).values("balance")[:1]),
            )
        )

    @admin.display(description="owes")
    def owed(self, debt: Any) -> str:
        return money(max(0, -(debt.balance or 0)), debt.currency)

    @admin.display(description="in reserve")
    def reserve(self, debt: Any) -> str:
        return money(debt.in_reserve or 0, debt.currency)

    def title_of(self, row: Debt) -> str:
        return f"Debt of {row.business}"

    def related(self, row: Debt) -> Iterator[Link]:
        for name, model in (
            ("Reserve", "payments_reservehold"),
            ("Risk terms", "payments_riskterms"),
            ("Settlement batches", "payments_settlementbatch"),
            ("Ledger accounts", "ledger_account"),
        ):
            yield Link(name, list_address(model, row.business_id))
        yield Link("Proposals", f"{list_address('payments_proposal', row.pk)}&state=all")

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        """Show who owes now, not a minute ago."""
        if self.has_view_permission(request):
            debts.update(now=clock.now())
        return super().changelist_view(request, extra_context)

    def get_urls(self) -> list[URLPattern]:
        actions = {"collect": self.collect, "invoice": self.invoice}
        return [*self.action_urls("debt_id", actions), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        if not isinstance(row, Debt) or row.ended_at is not None:
            return {}
        waiting = Proposal.objects.open(at=clock.now()).filter(target=row.pk)
        proposal = waiting.select_related("proposed_by").first()
        if not request.user.has_perm(MAY_CHANGE):
            return {"proposal": proposal}
        owed, held = reserves.owed_and_held(row.business_id, row.currency)
        return {
            "proposal": proposal,
            "collectable": money(min(owed, held), row.currency) if min(owed, held) else "",
            "collect_form": CollectForm(auto_id="collect_%s"),
            "invoice_form": InvoiceForm(auto_id="invoice_%s", initial={"sent_on": business_day(clock.now())}),
        }

    @staff_action("collect a debt from the reserve", may=MAY_CHANGE, needs_second_person=True)
    def collect(self, request: HttpRequest, debt_id: UUID) -> HttpResponse:
        debt, form = _debt(debt_id), CollectForm(request.POST, auto_id="collect_%s")
        if not form.is_valid():
            messages.error(request, "Nothing was collected. Enter a reason.")
            return self.page_again(request, debt_id, collect_form=form)
        submit(
            request,
            lambda: debt_collection.collection(debt, reason=form.cleaned_data["reason"]),
            done="It was collected from the reserve, and the business was notified.",
        )
        return redirect("admin:payments_debt_change", debt_id)

    @staff_action("record the invoice of a debt", may=MAY_CHANGE, needs_second_person=False)
    def invoice(self, request: HttpRequest, debt_id: UUID) -> HttpResponse:
        debt, form = _debt(debt_id), InvoiceForm(request.POST, auto_id="invoice_%s")
        if not form.is_valid():
            messages.error(request, "Nothing was recorded. Enter the day of the invoice.")
            return self.page_again(request, debt_id, invoice_form=form)
        with refusals_shown(request, done="The invoice was recorded."):
            debts.record_invoice(
                debt.pk, sent_on=form.cleaned_data["sent_on"], actor=person_acting(request), now=clock.now()
            )
        return redirect("admin:payments_debt_change", debt_id)


def _debt(debt_id: UUID) -> Debt:
    return get_object_or_404(Debt.objects.select_related("business"), pk=debt_id)
