"""Admin pages of breaks and matches: what banks and the ledger don't agree about, and what they agreed about."""

from collections.abc import Iterator
from typing import Any, ClassVar, cast

from django import forms
from django.contrib import admin, messages
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import URLPattern, path, reverse
from django.utils.http import urlencode
from django.views.decorators.http import require_POST

from cash.models import Break, Match
from kit.db import clock
from kit.money.money import money, signed_money
from merchants.admin import ReasonedAdmin, ReasonForm, exactly
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address
from merchants.admin.filters import UsualStateFilter
from merchants.models import User
from merchants.people import audit
from merchants.people.access import Who
from merchants.people.request_actors import person_acting
from payments.admin.decisions.submitting import SubmittedRowAdmin
from payments.models import Journal, Proposal
from payments.services.reconciliation.ledger_line import CARD_DAY, COSTS
from payments.services.staff.actions import break_matches
from payments.services.staff.staff_action import StaffAction

MAY_CHANGE, MAY_MATCH = "cash.change_break", "cash.add_match"
MOST = 100  # breaks of one match


class OpenFilter(UsualStateFilter):
    """Open breaks unless others are chosen."""

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("ended", "Ended")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(ended_at__isnull=self.value() != "ended")


class BreakForm(ReasonForm):
    """Who looks into a break, and what they found. Its owner is one of the staff."""

    class Meta:
        widgets: ClassVar = {"notes": forms.Textarea(attrs={"rows": 3})}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if owner := cast("forms.ModelChoiceField | None", self.fields.get("owner")):
            is_staff = Q(is_staff=True, is_active=True) | Q(pk=self.instance.owner_id)
            owner.queryset = User.objects.filter(is_staff).order_by("email")
            owner.empty_label = "No owner"


@admin.register(Break)
class BreakAdmin(ReasonedAdmin):
    """Breaks have an owner and notes. They end by a later line, by a match or by a journal."""

    groups: ClassVar = {
        "Difference": ("bank_says", "ledger_says", "difference_shown", "kind", "meaning"),
        "What it is about": ("account", "reference", "line_says", "item_kind", "item"),
        "State": ("since", "opened_at", "ended_at", "ended_by"),
        "Who looks into it": ("owner", "notes", "reason"),
    }
    changers = Who.STAFF
    audited_as = "break.changed"
    empty_text = "No breaks are open. Choose the state Ended to see the others."
    list_display = ("reference_or_kind", "id", "kind", "difference_shown", "since", "account", "owner")
    list_filter = (OpenFilter, "kind")
    list_select_related = ("account", "owner")
    searches = (exactly("reference", "account__name"),)
    search_help_text = "Full reference, or name of the account."
    fields = (
        "account", "kind", "meaning", "reference", "line_says", "item_kind", "item", "bank_says", "ledger_says",
        "difference_shown", "since", "opened_at", "ended_at", "ended_by", "owner", "notes", "reason",
    )  # fmt: skip
    readonly_fields = (
        "account", "kind", "meaning", "reference", "line_says", "item_kind", "item", "bank_says", "ledger_says",
        "difference_shown", "since", "opened_at", "ended_at", "ended_by",
    )  # fmt: skip
    amounts: ClassVar = ("bank_amount", "ledger_amount")
    form = BreakForm
    may_act_on_list = MAY_MATCH
    actions = ("match_chosen",)

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        may = obj is not None and self.has_change_permission(request, obj)
        return self.fields if may else self.fields[:-1]

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(require_POST(self.assign))
        return [path("<int:break_id>/assign/", view, name="cash_break_assign"), *super().get_urls()]

    @staff_action("assign a break to oneself", may=MAY_CHANGE, needs_second_person=False)
    def assign(self, request: HttpRequest, break_id: int) -> HttpResponse:
        """Make the user the owner of an open break without an owner."""
        row = get_object_or_404(Break.objects.select_related("account"), pk=break_id)
        if self._take(request, row):
            messages.success(request, f"{row.reference or row.get_kind_display()} is assigned to you.")
        else:
            messages.error(request, "Nothing was changed. The break has an owner already, or it has ended.")
        return redirect(f"{reverse('admin:cash')}?{urlencode({'currency': row.account.currency})}")

    @transaction.atomic
    def _take(self, request: HttpRequest, row: Break) -> bool:
        user = cast("User", request.user)
        if not Break.objects.filter(pk=row.pk, owner=None, ended_at=None).update(owner=user):
            return False
        audit.record(
            action=self.audited_as,
            actor=person_acting(request),
            business=None,
            target=str(row)[:100],
            before={"owner": None},
            after={"owner": user.email},
            now=clock.now(),
        )
        return True

    def has_match_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(MAY_MATCH)

    @admin.action(description="Match breaks", permissions=["match"])
    def match_chosen(self, request: HttpRequest, queryset: QuerySet[Break]) -> HttpResponse:
        """Open the form of a match with the chosen breaks."""
        chosen = ", ".join(str(key) for key in queryset.order_by("pk").values_list("pk", flat=True)[:MOST])
        return redirect(f"{reverse('admin:cash_match_add')}?{urlencode({'breaks': chosen})}")

    def related(self, row: Break) -> Iterator[Link]:
        if row.line_id:
            yield Link(
                "Line of the statement", reverse("admin:cash_statementline_change", args=[row.line_id])
            )
        if row.item and row.item_kind != CARD_DAY:  # which has many
            yield Link("Ledger entries", list_address("ledger_entry", row.item))
        if row.ended_at is None:
            yield Link("Match this break", f"{reverse('admin:cash_match_add')}?breaks={row.pk}")
            yield Link("Explain by a journal", f"{reverse('admin:payments_journal_add')}?break={row.pk}")
        if journal := Journal.objects.filter(explained=row).first():
            yield Link("Its journal", reverse("admin:payments_journal_change", args=[journal.pk]))

    @admin.display(description="meaning")
    def meaning(self, row: Break) -> str:
        return Break.Kind(row.kind).meaning

    @admin.display(description="line of the statement")
    def line_says(self, row: Break) -> str:
        line = row.line
        texts = (f"{line.booked_on:%-d %b %Y}", line.counterparty, line.text) if line else ()
        return ", ".join(filter(None, texts))

    @admin.display(description="reference")
    def reference_or_kind(self, row: Break) -> str:
        return row.reference or row.item_kind or "No reference"

    @admin.display(description="difference")
    def difference_shown(self, row: Break) -> str:
        return signed_money(row.difference, row.account.currency)

    @admin.display(description="bank says")
    def bank_says(self, row: Break) -> str:
        return money(row.bank_amount, row.account.currency)

    @admin.display(description="ledger says")
    def ledger_says(self, row: Break) -> str:
        return money(row.ledger_amount, row.account.currency)


class MatchForm(ReasonForm):
    """Breaks that explain each other. Their lines and what the ledger expects of them must be of the same sum."""

    breaks = forms.RegexField(
        r"^[0-9]{1,18}( *, *[0-9]{1,18}){0,99}\Z",
        help_text="The IDs of the breaks of one bank account, such as 12, 15. The list of breaks fills them in.",
        error_messages={"invalid": "Enter up to 100 IDs with commas between them."},
    )
    costs = forms.ChoiceField(
        label="The difference is",
        choices=[("", "Nothing: the sums are the same"), *((name, f"A cost: {name}") for name in COSTS)],
        required=False,
        help_text="What the acquirer kept, or what the bank charged. It is booked to the costs of this kind.",
    )


@admin.register(Match)
class MatchAdmin(SubmittedRowAdmin):
    """Matches are found automatically, or decided by two people."""

    proposed_as = Proposal.Action.MATCH_BREAKS
    refused_field = "breaks"
    form = MatchForm
    list_display = ("why", "account", "at", "matched_by", "lines_shown", "items_shown")
    list_select_related = ("account",)
    searches = (exactly("account__name"),)
    search_help_text = "Name of the account."

    def get_fields(self, request: HttpRequest, obj: Match | None = None) -> Any:
        if obj is None:
            return ("breaks", "costs", "reason")
        return ("why", "account", "lines_shown", "items_shown", "reason", "matched_by", "booking", "at")

    def get_readonly_fields(self, request: HttpRequest, obj: Match | None = None) -> Any:
        return [*super().get_readonly_fields(request, obj), "lines_shown", "items_shown"] if obj else ()

    def action_of(self, obj: Match, form: Any) -> StaffAction:
        given = form.cleaned_data
        chosen = map(int, given["breaks"].split(","))
        return break_matches.match(chosen, reason=given["reason"], costs=given["costs"])

    def added_row(self, obj: Match) -> Match:
        return Match.objects.latest("at")

    def get_queryset(self, request: HttpRequest) -> QuerySet[Match]:
        return super().get_queryset(request).prefetch_related("lines__line", "items")

    @admin.display(description="lines")
    def lines_shown(self, row: Match) -> str:
        return ", ".join(
            f"{money(each.line.amount, row.account.currency)} on {each.line.booked_on:%-d %b %Y} "
            f"{each.line.reference or each.line.text}".strip()
            for each in row.lines.all()
        )

    @admin.display(description="expected")
    def items_shown(self, row: Match) -> str:
        return ", ".join(f"{each.kind} {each.item}" for each in row.items.all())
