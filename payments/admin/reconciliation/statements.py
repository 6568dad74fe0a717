"""Admin pages of statements of our bank accounts, and of their lines."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Prefetch, QuerySet
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse

from cash.models import Break, Match, Statement, StatementLine
from cash.services import imports
from cash.services.imports import Imported
from cash.statement_files import InvalidFile
from kit.db import clock
from kit.money.money import money
from kit.text.masking import mask_card_numbers
from merchants.admin import ReadOnlyAdmin, exactly
from merchants.admin.base import Link, staff_action
from merchants.admin.columns import list_address
from merchants.people.request_actors import person_acting
from payments.admin.reconciliation.statement_upload import StatementForm
from payments.services.reconciliation import breaks

MAY_IMPORT = "cash.add_statement"


@admin.register(Statement)
class StatementAdmin(ReadOnlyAdmin):
    list_display = (
        "account",
        "first_day",
        "last_day",
        "opening",
        "closing",
        "lines_count",
        "format",
        "imported_by",
        "imported_at",
    )
    amounts = ("opening", "closing")
    currency = "account.currency"
    list_select_related = ("account",)
    list_filter = ("format",)
    searches = (exactly("account__name", "file_name", "imported_by"),)
    search_help_text = "Name of the account, file name, or who imported it."
    fields = (
        "account", "first_day", "last_day", "opening", "closing", "lines_count", "format", "file_name", "file_hash",
        "imported_by", "imported_at",
    )  # fmt: skip

    def get_urls(self) -> list[URLPattern]:
        upload = path("upload/", self.admin_site.admin_view(self.upload), name="cash_statement_upload")
        return [upload, *super().get_urls()]

    @staff_action("import a statement", may=MAY_IMPORT, needs_second_person=False, is_page=True)
    def upload(self, request: HttpRequest) -> HttpResponse:
        """Preview a statement, then import it. A file is imported only as it was previewed."""
        form = StatementForm(request.POST or None, request.FILES or None)
        context = {"title": "Import a statement", "opts": self.opts, "form": form}
        if request.method == "POST" and form.is_valid():
            context |= _result(form, request)
        return TemplateResponse(
            request, "admin/cash/upload.html", context | self.admin_site.each_context(request)
        )

    def related(self, row: Statement) -> Iterator[Link]:
        yield Link("Lines", list_address("cash_statementline", row.pk))


def _result(form: StatementForm, request: HttpRequest) -> dict[str, Any]:
    """Preview the file, or import it, and return the result for the page."""
    account, actor, now = form.cleaned_data["account"], person_acting(request), clock.now()
    try:
        if form.is_confirmed:
            found, matched = breaks.import_file(account, form.source, actor=actor, now=now)
        else:
            found = imports.import_file(account, form.source, actor=actor, now=now, dry_run=True)
            matched = 0
    except InvalidFile as refused:
        form.add_error("file", str(refused))
        return {}
    return {
        "is_imported": form.is_confirmed,
        "digest": form.cleaned_data["digest"],
        "carried": form.carried,
        "matched": matched,
        "statements": [_shown(each, account.currency) for each in found],
    }


def _shown(each: Imported, currency: str) -> dict[str, Any]:
    parsed = each.parsed
    return {
        "first_day": parsed.first_day,
        "last_day": parsed.last_day,
        "opening": money(parsed.opening, currency),
        "closing": money(parsed.closing, currency),
        "is_new": each.is_new,
        "count": each.lines_count,
        "lines": [
            (
                line.booked_on,
                money(line.amount, currency),
                mask_card_numbers(line.reference),
                mask_card_numbers(line.text),
            )
            for line in parsed.lines[: imports.SHOWN]
        ],
    }


@admin.register(StatementLine)
class StatementLineAdmin(ReadOnlyAdmin):
    """Lines of statements, each with why it was matched, or as the break that it is."""

    list_display = (
        "number",
        "amount",
        "booked_on",
        "reference",
        "counterparty",
        "text",
        "explained_by",
        "statement",
    )
    amounts = ("amount",)
    currency = "statement.account.currency"
    list_select_related = ("statement__account", "matched__match")
    searches = (exactly("statement_id", shape="[0-9]{1,15}", read=int),)
    search_help_text = "ID of the statement."
    any_object: ClassVar = ("order",)
    fields = (
        "statement", "number", "booked_on", "amount", "order", "reference", "kind", "counterparty", "text", "explained_by",
    )  # fmt: skip

    def get_queryset(self, request: HttpRequest) -> QuerySet[StatementLine]:
        still_open = Prefetch("breaks", Break.objects.filter(ended_at=None), to_attr="open_breaks")
        return super().get_queryset(request).prefetch_related(still_open)

    def get_readonly_fields(self, request: HttpRequest, obj: StatementLine | None = None) -> Any:
        return [*super().get_readonly_fields(request, obj), "explained_by"]

    def related(self, row: StatementLine) -> Iterator[Link]:
        if match := _match_of(row):
            yield Link("Its match", reverse("admin:cash_match_change", args=[match.pk]))
        for each in row.open_breaks:
            yield Link("Its break", reverse("admin:cash_break_change", args=[each.pk]))

    @admin.display(description="explained by")
    def explained_by(self, row: StatementLine) -> str:
        match = _match_of(row)
        return match.why if match else ", ".join(each.get_kind_display() for each in row.open_breaks)


def _match_of(row: StatementLine) -> Match | None:
    return row.matched.match if hasattr(row, "matched") else None
