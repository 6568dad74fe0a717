"""Resolve transactions and operations whose rail never answered, on their own admin pages."""

from datetime import timedelta
from typing import Any, ClassVar
from uuid import UUID

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern
from django.utils.timesince import timesince

from kit.db import clock
from merchants.admin import ReadOnlyAdmin
from merchants.admin.base import staff_action
from payments.admin.decisions.submitting import submit
from payments.models import CardOperation, Proposal, Transaction
from payments.services.rails import declared_accounts as accounts
from payments.services.staff import made_about, staff_actions
from payments.services.staff.actions import resolutions

MAY_RESOLVE = "payments.resolve_unknown"


class ResolutionForm(forms.Form):
    """The outcome that staff have established, with the reason and the evidence."""

    outcome = forms.ChoiceField(choices=[("", "Choose"), ("succeeded", "Succeeded"), ("failed", "Failed")])
    reason = forms.CharField(max_length=255)
    evidence = forms.CharField(
        max_length=2000,
        widget=forms.Textarea(attrs={"rows": 3}),
        help_text="Statement line, ticket or message that shows it. No card numbers.",
    )


class UnansweredFilter(admin.SimpleListFilter):
    """Rows without an answer from the rail, by their age."""

    title = "response"
    parameter_name = "unanswered"
    AGES: ClassVar = {
        "all": ("Unanswered", timedelta(0)),
        "hour": ("Unanswered for over an hour", timedelta(hours=1)),
        "day": ("Unanswered for over a day", timedelta(days=1)),
        "week": ("Unanswered for over 7 days", timedelta(days=7)),
    }

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [(name, label) for name, (label, _) in self.AGES.items()]

    def queryset(self, request: HttpRequest, queryset: Any) -> Any:
        if self.value() not in self.AGES:
            return queryset
        _, age = self.AGES[self.value() or ""]
        return queryset.unanswered().filter(created_at__lte=clock.now() - age)


WITH_QUERIES = {"rail", "staff", "account"}  # values of `WaitsFilter` whose rows are queried at their rail


class ResolvableAdmin(ReadOnlyAdmin):
    """Rows whose unknown outcome staff may resolve. Lists of unanswered rows show the number of queries."""

    change_form_template = "admin/payments/resolvable.html"
    unanswered_columns: tuple[str, ...] = ()

    def get_list_display(self, request: HttpRequest) -> Any:
        if UnansweredFilter.parameter_name in request.GET or request.GET.get("waits") in WITH_QUERIES:
            return self._linked(request, self.unanswered_columns)
        return super().get_list_display(request)

    @admin.display(description="unanswered for")
    def waiting_for(self, subject: Any) -> str:
        return timesince(subject.created_at, clock.now(), depth=1)

    def get_urls(self) -> list[URLPattern]:
        return [*self.action_urls("subject_id", {"resolve": self.resolve}), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        context: dict[str, Any] = {"waits_for": _sent(row)} if row is not None and _waits(row) else {}
        if row is not None and _is_unknown(row):
            open_ones = Proposal.objects.open(at=clock.now()).filter(target=row.pk)
            context["proposal"] = open_ones.select_related("proposed_by").first()
        if row is not None and _is_unknown(row) and request.user.has_perm(MAY_RESOLVE):
            is_reversal = getattr(row, "awaiting", "") == Transaction.Awaiting.REVERSAL
            context |= {
                "resolution_form": ResolutionForm(),
                "is_reversal": is_reversal,
                "seen": _fingerprint(row),
                "needs_second_person": settings.FOUR_EYES,
            }
        return context

    @staff_action("resolve an unknown outcome", may=MAY_RESOLVE, needs_second_person=True)
    def resolve(self, request: HttpRequest, subject_id: UUID) -> HttpResponse:
        subject: Any = get_object_or_404(self.model, pk=subject_id)
        form = ResolutionForm(request.POST)
        if not form.is_valid():
            messages.error(
                request, "Nothing was resolved. Choose an outcome, and enter a reason and the evidence."
            )
            return self.page_again(request, subject_id, resolution_form=form)
        wanted = form.cleaned_data
        submit(
            request,
            lambda: staff_actions.resolution(
                subject,
                succeeded=wanted["outcome"] == "succeeded",
                reason=wanted["reason"],
                evidence=wanted["evidence"],
            ),
            done=f"Resolved as {wanted['outcome']}.",
        )
        return redirect(f"admin:{self.opts.app_label}_{self.opts.model_name}_change", subject_id)


def _sent(row: Any) -> Any:
    """Return the row that names the account: a capture, void or card refund goes to that of its transaction."""
    return row.transaction if isinstance(row, CardOperation) and not row.is_transfer_refund else row


def _waits(row: Any) -> bool:
    return row.status != Transaction.Status.FAILED and accounts.waits(_sent(row))


def _fingerprint(subject: Any) -> str:
    about = made_about.operation if isinstance(subject, CardOperation) else made_about.transaction
    return made_about.fingerprint(about(subject))


def _is_unknown(subject: object) -> bool:
    if isinstance(subject, CardOperation):
        return subject.status == CardOperation.Status.PENDING
    return isinstance(subject, Transaction) and resolutions.is_unknown(subject)
