"""Statements that were compared with our entries."""

from django.contrib import admin

from merchants.admin import ReadOnlyAdmin
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
    search_fields = ("file_name", "actor")
    date_hierarchy = "at"


@admin.register(ReconciliationLine)
class ReconciliationLineAdmin(ReadOnlyAdmin):
    list_display = (
        "reconciliation",
        "result",
        "line",
        "reference",
        "amount",
        "currency",
        "day",
        "direction",
        "kind",
        "differences",
    )
    list_filter = ("result", "direction")
    list_select_related = ("reconciliation",)
    search_fields = ("reference", "reconciliation__id", "reconciliation__file_name")
