"""Admin pages of reconciliations: statements compared with the ledger."""

from django.contrib import admin

from merchants.admin import ReadOnlyAdmin, by_id, exactly
from payments.models import Reconciliation, ReconciliationLine


@admin.register(Reconciliation)
class ReconciliationAdmin(ReadOnlyAdmin):
    list_display = (
        "file_name",
        "source",
        "first_day",
        "last_day",
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


@admin.register(ReconciliationLine)
class ReconciliationLineAdmin(ReadOnlyAdmin):
    list_display = (
        "reconciliation",
        "result",
        "line",
        "reference",
        "amount",
        "day",
        "direction",
        "kind",
        "differences",
    )
    amounts = ("amount",)
    list_filter = ("result", "direction")
    list_select_related = ("reconciliation",)
    searches = (by_id("reconciliation"), by_id("entry_id"), exactly("reference"))
    search_help_text = "Full reference, or ID of the reconciliation or of our entry."
