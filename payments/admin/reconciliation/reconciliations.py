"""Admin pages of reconciliations: statements compared with the ledger."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin

from kit.money.money import money
from merchants.admin import ReadOnlyAdmin, by_id, exactly
from merchants.people.audit_values import shown
from payments.models import Reconciliation, ReconciliationLine


@admin.register(Reconciliation)
class ReconciliationAdmin(ReadOnlyAdmin):
    list_display = (
        "file_name",
        "source",
        "first_day",
        "last_day",
        "compared_currency",
        "matched",
        "different",
        "missing_here",
        "missing_there",
        "actor",
        "at",
    )
    list_filter = ("source",)
    searches = (by_id(), exactly("file_name", "actor"))
    search_help_text = "ID, file name, or who compared it."

    @admin.display(description="currency")
    def compared_currency(self, reconciliation: Reconciliation) -> str:
        return reconciliation.currency or "All"


@admin.register(ReconciliationLine)
class ReconciliationLineAdmin(ReadOnlyAdmin):
    list_display = (
        "reference",
        "amount",
        "result",
        "reconciliation",
        "line",
        "day",
        "direction",
        "kind",
    )
    amounts = ("amount",)
    states: ClassVar = {"result": {}}
    any_object: ClassVar = ("entry_id",)
    exclude = ("differences",)
    readonly_fields = ("statement_and_ledger",)
    list_filter = ("result", "direction")
    list_select_related = ("reconciliation",)
    searches = (by_id("reconciliation"), by_id("entry_id"), exactly("reference"))
    search_help_text = "Full reference, or ID of the reconciliation or of our entry."

    @admin.display(description="differences")
    def statement_and_ledger(self, line: ReconciliationLine) -> str:
        """Show what differs, as the statement and the ledger have it."""
        both = [(name, *map(_in_words(line, name), pair)) for name, pair in line.differences.items()]
        return ", ".join(f"{name}: {statement}, but {ours} here" for name, statement, ours in both)


def _in_words(line: ReconciliationLine, name: str) -> Callable[[Any], str]:
    return lambda value: money(value, line.currency) if name == "amount" else shown(value)
