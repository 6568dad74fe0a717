"""Filters of lists: their labels are those of the pages, and none reads a whole table for its choices."""

from collections.abc import Iterator
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest

from merchants.admin.columns import plain_name, sentence
from merchants.models import Business


class PlainChoicesFilter(admin.ChoicesFieldListFilter):
    """Filter by a choice, under the names that the list shows."""

    def choices(self, changelist: Any) -> Iterator[Any]:
        names = getattr(changelist.model_admin, "states", {}).get(self.field_path, {})
        labels = {str(label): names.get(code) for code, label in self.field.flatchoices}
        for choice in super().choices(changelist):
            label = str(choice["display"])
            yield {**choice, "display": labels.get(label) or sentence(label)}


class PlainBooleanFilter(admin.BooleanFieldListFilter):
    """Filter by a yes or no, under a title without "is"."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.title = plain_name(self.field)


class CurrencyFilter(admin.SimpleListFilter):
    """Filter by the currencies of the settings and businesses, because collecting those of the list reads every row."""

    title = "currency"
    parameter_name = "currency"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        enabled = Business.objects.order_by().values_list("currencies", flat=True).distinct()
        currencies = dict.fromkeys(
            [*settings.DEFAULT_CURRENCIES, *sorted({code for codes in enabled for code in codes})]
        )
        return [(currency, currency) for currency in currencies]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(currency=self.value()) if self.value() else queryset


class UsualStateFilter(admin.SimpleListFilter):
    """Filter by a state. Without a choice, the list has the rows in the usual one, and not all."""

    title = "state"
    parameter_name = "state"
    usual: ClassVar = "Open"  # its label

    def choices(self, changelist: Any) -> Iterator[Any]:
        first, *others = super().choices(changelist)
        yield {**first, "display": self.usual}
        yield from others


class FilledFilter(admin.SimpleListFilter):
    """Filter by whether a column has a value."""

    column: ClassVar[str]
    empty: ClassVar[tuple[str, str]]  # the choice of rows without a value, and its label
    filled: ClassVar[tuple[str, str]]

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [self.empty, self.filled]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not self.value():
            return queryset
        return queryset.filter(**{f"{self.column}__isnull": self.value() == self.empty[0]})
