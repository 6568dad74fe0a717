"""Base classes of admin pages.

Nothing is deleted, no list counts or sorts a whole table, and query strings can use only the filters of the list.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import field as dataclass_field
from itertools import islice
from operator import attrgetter
from typing import Any, ClassVar

from django.conf import settings
from django.contrib import admin
from django.contrib.admin.options import BaseModelAdmin, IncorrectLookupParameters
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR, ChangeList
from django.core.paginator import Paginator
from django.db.models import JSONField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.functional import cached_property
from django.utils.html import format_html
from django.views.decorators.http import require_POST

from kit.bounded_json import BoundedJSONField
from kit.masking import mask_card_numbers
from kit.money import money
from merchants.models import Business

# Returns the querysets that a search term may match. Each uses one index.
SearchRule = Callable[[type[Model], str], Iterable[QuerySet[Any]]]

FOUND = 200  # maximum number of rows per queryset of a search
REACH = 2_000  # rows that can be paged through; search finds older ones


class FirstPages(Paginator):
    """A paginator of the first rows, so that counting stops early."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return len(rows) if isinstance(rows, list) else int(rows.order_by()[:REACH].count())


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


class NewestFirst(ChangeList):
    """A list that is sorted only by the columns in `sortable_by`. Django's sorts by any column on request."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        if not self.sortable_by:
            self.params.pop(ORDER_VAR, None)
        return super().get_ordering(request, queryset)

    def get_ordering_field(self, field_name: Any) -> Any:
        return super().get_ordering_field(field_name) if field_name in (self.sortable_by or ()) else None


class StaffAdmin(admin.ModelAdmin):
    """A model's rows: newest first, searched by exact values, never deleted."""

    is_ours = True  # the admin site refuses other classes
    formfield_overrides: ClassVar = {JSONField: {"form_class": BoundedJSONField}}

    searches: ClassVar[Sequence[SearchRule]] = ()
    search_fields: ClassVar[tuple[str, ...]] = ("pk",)  # enables the search, which `searches` defines
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER  # a count of the whole table for each choice of each filter
    paginator = FirstPages
    list_per_page = 50
    list_max_show_all = 50
    sortable_by: ClassVar[tuple[str, ...]] = ()
    ordering: ClassVar[tuple[str, ...]] = ("-pk",)
    # Further parameters of the query string that may filter this list, besides those of `list_filter`.
    allowed_lookups: ClassVar[frozenset[str]] = frozenset()

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[ChangeList]:
        return NewestFirst

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Allow only the list's own filters. Django's version allows every lookup into a model's own columns.

        That would reveal a password hash, character by character, through `?password__regex=` to staff who may
        only view users.
        """
        dates = {f"{self.date_hierarchy}__{part}" for part in ("year", "month", "day")}
        return lookup in self.allowed_lookups | dates | _parameters_of(self.get_list_filter(request))

    def to_field_allowed(self, request: HttpRequest, to_field: str) -> bool:
        """Allow references to rows by id only."""
        return to_field == self.opts.pk.name

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the template of a row's page needs in addition. `row` is None on the page that adds one."""
        return {}

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        context |= self.page_context(request, kwargs.get("obj"))
        return super().render_change_form(request, context, *args, **kwargs)

    def action_urls(
        self, argument: str, actions: Mapping[str, Callable[..., HttpResponse]]
    ) -> list[URLPattern]:
        """Return the URLs of actions on a row, which are sent with POST. Views get the row's ID as `argument`."""
        model = f"{self.opts.app_label}_{self.opts.model_name}"
        return [
            path(
                f"<uuid:{argument}>/{name}/",
                self.admin_site.admin_view(require_POST(view)),
                name=f"{model}_{name}",
            )
            for name, view in actions.items()
        ]

    def get_changelist_instance(self, request: HttpRequest) -> ChangeList:
        """Refuse filters with U+0000, which PostgreSQL doesn't accept. Searches for it find nothing.

        :raises IncorrectLookupParameters: Django then shows the list without filters
        """
        filters = (values for name, values in request.GET.lists() if name != SEARCH_VAR)
        if any("\x00" in value for values in filters for value in values):
            raise IncorrectLookupParameters
        changes = super().get_changelist_instance(request)
        if SEARCH_VAR in changes.filter_params and not changes.result_list:
            # Links of filters repeat the search text.
            changes.filter_params[SEARCH_VAR] = [mask_card_numbers(request.GET[SEARCH_VAR])]
        return changes

    def get_search_results(
        self,
        request: HttpRequest,
        queryset: QuerySet[Any],
        search_term: str,
    ) -> tuple[QuerySet[Any], bool]:
        """Search for each possible meaning of the term separately, and combine the results."""
        term = search_term.strip()
        if not term:
            return queryset, False
        found: set[Any] = set()
        for search in self.searches if "\x00" not in term else ():
            for meant in search(self.model, term):
                found.update(islice(meant.values_list("pk", flat=True)[:FOUND], FOUND))
        return queryset.filter(pk__in=found), False


def _parameters_of(filters: Iterable[Any]) -> set[str]:
    """Return the query parameters of a list's filters. Filters by a column compare whole values."""
    allowed: set[str] = set()
    for each in filters:
        if isinstance(each, str):
            allowed |= {each, f"{each}__exact", f"{each}__isnull"}
        elif isinstance(each, type) and issubclass(each, admin.SimpleListFilter) and each.parameter_name:
            allowed.add(each.parameter_name)
    return allowed


@dataclass(frozen=True)
class Amount:
    """A column that shows minor units as formatted amounts."""

    field: str
    currency: str

    def __call__(self, row: Model) -> str | None:
        minor_units = attrgetter(self.field)(row)
        if minor_units is None:
            return None
        return format_html(
            '<span class="amount">{}</span>', money(minor_units, attrgetter(self.currency)(row))
        )

    def __str__(self) -> str:
        return self.field

    @property
    def __name__(self) -> str:
        return self.field

    @property
    def short_description(self) -> str:
        return self.field.replace("_", " ")


@dataclass(frozen=True)
class Name:
    """A column that shows a code as pages name it."""

    field: str
    names: Mapping[str, str] = dataclass_field(hash=False)

    def __call__(self, row: Model) -> str:
        code = getattr(row, self.field)
        return self.names.get(code, code)

    def __str__(self) -> str:
        return self.field

    @property
    def __name__(self) -> str:
        return self.field

    @property
    def short_description(self) -> str:
        return self.field.replace("_", " ")


class ReadOnly(BaseModelAdmin):
    """Read-only rows: nothing can be added, changed or deleted."""

    amounts: ClassVar[tuple[str, ...]] = ()  # fields shown as formatted amounts
    currency: ClassVar[str] = "currency"  # path to the currency of the amounts
    names: ClassVar[Mapping[str, Mapping[str, str]]] = {}  # by field: how codes are named

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self._formatted(super().get_fields(request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return [*super().get_readonly_fields(request, obj), *self._formatted([*self.amounts, *self.names])]

    def _formatted(self, names: Iterable[Any]) -> list[Any]:
        return list(dict.fromkeys(map(self._column, names)))  # Django repeats the read-only fields at the end

    def _column(self, name: Any) -> Any:
        if name in self.amounts:
            return Amount(name, self.currency)
        return Name(name, self.names[name]) if name in self.names else name

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, StaffAdmin):
    """A model's rows, read-only."""

    def get_list_display(self, request: HttpRequest) -> Any:
        return self._formatted(super().get_list_display(request))

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False


class ReadOnlyInline(ReadOnly, admin.TabularInline):
    """Related rows, read-only, on the page of their parent."""

    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False
