"""Read-only admin pages of failed payments that their acquirer may still charge, and of those that it may charge twice."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from merchants.admin import ReadOnlyAdmin, by_id, in_each_business
from payments.models import WatchedAuthorisation


class ChargeFilter(admin.SimpleListFilter):
    """Filter by whether a charge was found. Each choice has an index."""

    title = "charge"
    parameter_name = "charge"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [
            ("none", "None so far, still queried"),
            ("found", "Found"),
            ("owed", "Found, and not paid back yet"),
        ]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        found = queryset.filter(found_at__isnull=False)
        chosen = {
            "none": queryset.filter(next_look_at__isnull=False, found_at__isnull=True),
            "found": found,
            "owed": found.filter(returned_at__isnull=True),
        }
        return chosen.get(self.value() or "", queryset)


@admin.register(WatchedAuthorisation)
class WatchedAuthorisationAdmin(ReadOnlyAdmin):
    list_display = (
        "transaction",
        "is_of_second_charge",
        "opened_at",
        "next_look_at",
        "looks",
        "amount",
        "found_at",
        "returned_at",
        "ended_at",
    )
    amounts, currency = ("amount",), "transaction.currency"
    list_filter = (ChargeFilter,)
    list_select_related = ("transaction",)
    searches = (
        by_id(),
        by_id("transaction"),
        in_each_business("transaction__reference", business="transaction__business"),
    )
    search_help_text = "ID, or ID or full reference of the payment."
