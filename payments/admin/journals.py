"""Admin pages of journals: corrections of accounts, booked and reversed by two people."""

import re
from collections.abc import Iterator
from typing import Any, ClassVar
from uuid import UUID, uuid4

from django import forms
from django.conf import settings
from django.contrib import admin, messages
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, reverse

from cash.models import Break
from kit.api.fields.strict_fields import CURRENCIES
from kit.db import clock
from kit.money.amount_fields import AmountField, AmountsForm
from kit.money.money import money, written
from kit.time.time_ordered_ids import new_id
from ledger.services import Kind
from merchants.admin import ReadOnlyInline, by_business_name, by_id
from merchants.admin.base import Link, NamedAutocomplete, StaffForm, staff_action
from merchants.admin.columns import list_address
from merchants.admin.filters import CurrencyFilter
from merchants.models import Business
from payments.admin.decisions.submitting import ANOTHER, SubmittedRowAdmin, submit
from payments.models import Journal, JournalLeg, Proposal
from payments.models.staff.journals import OF_BUSINESSES
from payments.services.journals import drafts
from payments.services.journals.drafts import Draft, Leg
from payments.services.staff.actions import journal_actions
from payments.services.staff.staff_action import StaffAction

ROWS = range(1, 7)
OF_OTHER = "other:"  # begins the accounts of the second of two businesses
MAY_BOOK = "payments.add_journal"


class JournalForm(AmountsForm, StaffForm):
    """A journal, with up to six accounts. Submitting the form twice books it once."""

    currency = forms.ChoiceField(choices=[(code, code) for code in sorted(CURRENCIES)], initial="NGN")
    text = forms.CharField(
        max_length=200,
        label="Reason in words",
        help_text="Its business reads it in the statement, if the wallet changes.",
    )
    other_business = forms.ModelChoiceField(
        Business.objects.all(),
        required=False,
        widget=NamedAutocomplete(Journal._meta.get_field("business"), admin.site),
        help_text="If money moves between two businesses. Both read the reason in words.",
    )
    about_entry = forms.IntegerField(
        label="About ledger entry", required=False, min_value=1, max_value=2**63 - 1, help_text="Its number."
    )
    about_transaction = forms.UUIDField(label="About transaction", required=False, help_text="Its ID.")
    about_break = forms.IntegerField(
        label="About break",
        required=False,
        min_value=1,
        max_value=2**63 - 1,
        help_text="Its ID. The journal explains its difference, and it ends.",
    )
    key = forms.UUIDField(widget=forms.HiddenInput, initial=uuid4)

    class Meta:
        model = Journal
        fields = ("code", "text", "business", "currency")

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        choices = list(_choices())  # once, not for each row
        for number in ROWS:
            row: Any = self.fields[f"account_{number}"]
            row.choices = choices

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean()
        legs = [self._leg(number, cleaned) for number in ROWS]
        cleaned["legs"] = tuple(leg for leg in legs if leg is not None)
        return cleaned

    def _leg(self, number: int, cleaned: dict[str, Any]) -> Leg | None:
        """Return the leg of a row of the form; None if the row is empty."""
        account = cleaned.get(f"account_{number}")
        debit, credit = cleaned.get(f"debit_{number}"), cleaned.get(f"credit_{number}")
        if not account and not debit and not credit:
            return None
        if not account:
            self.add_error(f"account_{number}", "Choose an account.")
            return None
        if bool(debit) == bool(credit):
            self.add_error(f"debit_{number}", "Enter a debit or a credit.")
            return None
        of_other = account.startswith(OF_OTHER)
        kind, _, name = account.removeprefix(OF_OTHER).partition(":")
        return Leg(Kind(kind), name, (credit or 0) - (debit or 0), of_other)


def _with_rows() -> type[JournalForm]:
    """Return the form with its rows of accounts."""
    rows: dict[str, Any] = {}
    for number in ROWS:
        rows[f"account_{number}"] = forms.ChoiceField(label="Account", required=False)
        rows[f"debit_{number}"] = AmountField(label="Debit", required=False)
        rows[f"credit_{number}"] = AmountField(label="Credit", required=False)
    return type("JournalForm", (JournalForm,), rows)


def _choices() -> Iterator[tuple[str, Any]]:
    yield "", "—"
    yield "Of the business", [(str(kind), Leg(kind, "", 0).account.capitalize()) for kind in OF_BUSINESSES]
    others = ((kind, Leg(kind, "", 0, of_other=True)) for kind in OF_BUSINESSES)
    yield "Of the other business", [(f"{OF_OTHER}{kind}", leg.account.capitalize()) for kind, leg in others]
    house = {
        f"{kind}:{name}" if name else str(kind): Leg(kind, name, 0).account.capitalize()
        for kind, name in drafts.accounts_offered()
    }
    yield "Ours", sorted(house.items(), key=lambda each: each[1])


class ReversalForm(forms.Form):
    """Why a journal is reversed."""

    reason = forms.CharField(
        max_length=200, help_text="Its business reads it in the statement, if the wallet changes."
    )


class JournalLegInline(ReadOnlyInline):
    model = JournalLeg
    amounts, currency = ("amount",), "journal.currency"
    fields = ("account", "amount")
    readonly_fields = ("account",)

    @admin.display(description="account")
    def account(self, leg: JournalLeg) -> str:
        return Leg(Kind(leg.kind), leg.name, leg.amount).account.capitalize()


@admin.register(Journal)
class JournalAdmin(SubmittedRowAdmin):
    """Corrections of accounts. A row is only added; what is wrong is undone by a reversal."""

    change_form_template = "admin/payments/journal.html"
    proposed_as = Proposal.Action.JOURNAL
    refused_field = "text"
    list_display = ("text", "code", "amount_moved", "business", "booked_by", "at")
    list_filter = ("code", CurrencyFilter)
    list_select_related = ("business",)
    searches = (by_id(), by_id("transaction"), by_business_name())
    search_help_text = "ID of the journal or of the transaction that it is about, or name of the business."
    ordering: ClassVar = ("-at", "-pk")
    autocomplete_fields = ("business",)
    inlines = (JournalLegInline,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Journal]:
        return super().get_queryset(request).prefetch_related("legs")

    def get_fields(self, request: HttpRequest, obj: Journal | None = None) -> Any:
        if obj is None:
            rows = [(f"account_{number}", f"debit_{number}", f"credit_{number}") for number in ROWS]
            return (
                "code", "text", "business", "other_business", "currency", *rows, "about_entry", "about_transaction", "about_break", "key",
            )  # fmt: skip
        return self._formatted(
            ("code", "text", "business", "amount_moved", "entry", "transaction", "explained", "reverses", "booked_by", "at")
        )  # fmt: skip

    def get_readonly_fields(self, request: HttpRequest, obj: Journal | None = None) -> Any:
        return [*super().get_readonly_fields(request, obj), "amount_moved"] if obj else ()

    def get_form(
        self, request: HttpRequest, obj: Journal | None = None, change: bool = False, **kwargs: Any
    ) -> Any:
        if obj is None:
            kwargs |= {"form": _with_rows()}
        return super().get_form(request, obj, change, **kwargs)

    def get_changeform_initial_data(self, request: HttpRequest) -> dict[str, Any]:
        """Fill in the form from the page of a break."""
        given = request.GET.get("break", "")
        explained = self._break(int(given)) if re.fullmatch("[0-9]{1,18}", given) else None
        if explained is None:
            return {}
        side = "debit" if explained.difference > 0 else "credit"
        return {
            "about_break": explained.pk,
            "currency": explained.account.currency,
            "account_1": ":".join(explained.account.house_account),
            f"{side}_1": written(abs(explained.difference), explained.account.currency),
        }

    @staticmethod
    def _break(number: int) -> Break | None:
        return Break.objects.filter(pk=number).select_related("account").first()

    def get_inline_instances(self, request: HttpRequest, obj: Journal | None = None) -> Any:
        return [] if obj is None else super().get_inline_instances(request, obj)

    def action_of(self, obj: Journal, form: Any) -> StaffAction:
        given = form.cleaned_data
        return journal_actions.journal(
            Draft(
                id=given["key"],
                code=Journal.Code(obj.code),
                text=obj.text,
                business=obj.business,
                currency=obj.currency,
                legs=given["legs"],
                entry=journal_actions.find_entry(given["about_entry"]),
                transaction=journal_actions.find_transaction(given["about_transaction"]),
                explained=journal_actions.find_break(given["about_break"]),
                other_business=given["other_business"],
            )
        )

    def added_row(self, obj: Journal) -> Journal:
        return Journal.objects.filter(paired_with=None).latest("at")

    def title_of(self, row: Journal) -> str:
        return f"Journal: {self.amount_moved(row)}"

    def related(self, row: Journal) -> Iterator[Link]:
        yield Link("Ledger entries", list_address("ledger_entry", row.pk))
        if other := row.other:
            address = reverse("admin:payments_journal_change", args=[other.pk])
            yield Link(f"Journal of {other.business}", address)
        if reversal := Journal.objects.filter(reverses=row).first():
            yield Link("Reversal", reverse("admin:payments_journal_change", args=[reversal.pk]))
        yield Link("Proposals", f"{list_address('payments_proposal', row.pk)}&state=all")
        yield Link("Audit trail", list_address("merchants_auditentry", row.pk))

    @admin.display(description="amount")
    def amount_moved(self, row: Journal) -> str:
        return money(sum(leg.amount for leg in row.legs.all() if leg.amount > 0), row.currency)

    def get_urls(self) -> list[URLPattern]:
        return [*self.action_urls("journal_id", {"reverse": self.reverse}), *super().get_urls()]

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        context = super().page_context(request, row)
        if (
            not isinstance(row, Journal)
            or not request.user.has_perm(MAY_BOOK)
            or not drafts.can_be_reversed(row)
        ):
            return context
        return context | {
            "reversal_form": ReversalForm(auto_id="reversal_%s"),
            "second_person": ANOTHER if settings.FOUR_EYES else "",
        }

    @staff_action("reverse a journal", may=MAY_BOOK, needs_second_person=True)
    def reverse(self, request: HttpRequest, journal_id: UUID) -> HttpResponse:
        original = get_object_or_404(Journal.objects.select_related("business"), pk=journal_id)
        form = ReversalForm(request.POST, auto_id="reversal_%s")
        if not form.is_valid():
            messages.error(request, "Nothing was reversed. Enter a reason.")
            return self.page_again(request, journal_id, reversal_form=form)
        reason = form.cleaned_data["reason"]
        submit(
            request,
            lambda: journal_actions.reversal(original, reason=reason, journal_id=new_id(clock.now())),
            done="The journal was reversed.",
        )
        return redirect("admin:payments_journal_change", journal_id)
