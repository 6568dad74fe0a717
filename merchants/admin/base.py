"""Base classes of admin pages.

Nothing is deleted, no list counts or sorts a whole table, and query strings can use only the filters of the list.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import wraps
from itertools import islice
from typing import Any, ClassVar

from django import forms
from django.contrib import admin
from django.contrib.admin.options import BaseModelAdmin, IncorrectLookupParameters
from django.contrib.admin.utils import unquote
from django.contrib.admin.views.main import ORDER_VAR, SEARCH_VAR, ChangeList
from django.contrib.admin.widgets import AutocompleteSelect
from django.contrib.auth import get_permission_codename
from django.core.exceptions import FieldDoesNotExist, PermissionDenied
from django.core.paginator import Paginator
from django.db.models import BooleanField, ForeignKey, JSONField, Model, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.functional import cached_property
from django.utils.text import capfirst
from django.views.decorators.http import require_POST

from kit.files.bounded_json import BoundedJSONField
from kit.text.masking import mask_card_numbers
from merchants.admin.columns import Amount, AnyObject, Choice, Reference, Status
from merchants.admin.day_links import DayLink, day_links
from merchants.admin.filters import PlainBooleanFilter, PlainChoicesFilter
from merchants.people.access import AccessRule, V, Who, attach, open_to, right

# Returns the querysets that a search term may match. Each uses one index.
SearchRule = Callable[[type[Model], str], Iterable[QuerySet[Any]]]

FOUND = 200  # maximum number of rows per queryset of a search
REACH = 2_000  # rows that can be paged through; search finds older ones


@dataclass(frozen=True, slots=True)
class Link:
    """A link of a row's page to what belongs to the row."""

    name: str
    address: str


class FirstPages(Paginator):
    """A paginator of the first rows, so that counting stops early."""

    @cached_property
    def count(self) -> int:
        rows: Any = self.object_list
        return len(rows) if isinstance(rows, list) else int(rows.order_by()[:REACH].count())


class NewestFirst(ChangeList):
    """A list that is sorted only by the columns in `sortable_by`. Django's sorts by any column on request."""

    def get_ordering(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        if not self.sortable_by:
            self.params.pop(ORDER_VAR, None)
        return super().get_ordering(request, queryset)

    def get_ordering_field(self, field_name: Any) -> Any:
        return super().get_ordering_field(field_name) if str(field_name) in (self.sortable_by or ()) else None

    def day_links(self) -> list[DayLink]:
        return day_links(self) if self.date_hierarchy else []


class StaffForm(forms.ModelForm):
    """A form whose labels end without a colon, as everywhere else."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **{"label_suffix": ""} | kwargs)


def staff_action(
    action: str, *, may: str, needs_second_person: bool, is_page: bool = False
) -> Callable[[V], V]:
    """Make a method of an admin class an action on a row, for staff with the permission `may`.

    With `is_page`, it is a page with a form of its own.
    """

    def decorate(view: Any) -> Any:
        @wraps(view)
        def guarded(self: StaffAdmin, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
            if not request.user.has_perm(may):
                raise PermissionDenied
            response: HttpResponse = view(self, request, *args, **kwargs)
            return response

        readers = right(may) if is_page else None
        declare = open_to(readers, writers=right(may), action=action, needs_second_person=needs_second_person)
        return declare(guarded)

    return decorate


class NamedAutocomplete(AutocompleteSelect):
    """A search for one row. Screen readers read the placeholder, which Django leaves empty, as the name of the field."""

    def build_attrs(
        self, base_attrs: dict[str, Any], extra_attrs: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        wanted = self.field.remote_field.model._meta.verbose_name_plural
        return super().build_attrs(base_attrs, extra_attrs) | {"data-placeholder": f"Search {wanted}"}


class StaffAdmin(admin.ModelAdmin):
    """A model's rows: newest first, searched by exact values, never deleted.

    Rows are viewed with the permission to view them. The class says who else may do what with them.
    """

    is_ours = True  # the admin site refuses other classes
    adders: ClassVar[Who | None] = None  # STAFF: with the permission to add; None: no one
    changers: ClassVar[Who | None] = None  # STAFF: with the permission to change
    changers_but: ClassVar[str] = ""  # of which rows others are the changers, in words
    may_act_on_list: ClassVar[str] = ""  # the permission for actions on the list
    needs_second_person: ClassVar[bool] = False  # to add or change a row, where FOUR_EYES is on
    form = StaffForm
    groups: ClassVar[Mapping[str, tuple[str, ...]]] = {}  # the fields of a row's page under headings
    empty_text = ""  # instead of "No … yet.", for a list that shows only some rows by default
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

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):
            kwargs["widget"] = NamedAutocomplete(db_field, self.admin_site)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields under the headings of `groups`."""
        return self.grouped(self.get_fields(request, obj))

    def grouped(self, fields: Iterable[Any]) -> list[tuple[str | None, dict[str, Any]]]:
        """Return fields under their headings, without headings that have none, then those without a heading."""
        left, found = list(fields), list[tuple[str | None, dict[str, Any]]]()
        for heading, names in self.groups.items():
            of_group = sorted(
                (each for each in left if str(each) in names), key=lambda each: names.index(str(each))
            )
            left = [each for each in left if each not in of_group]
            if of_group:
                found.append((heading, {"fields": of_group}))
        return [*found, (None, {"fields": left})] if left or not found else found

    def get_action_choices(self, request: HttpRequest, default_choices: Any = ()) -> Any:
        """Return the actions of the list, which are buttons, without the empty choice of Django's menu."""
        return super().get_action_choices(request, list(default_choices))

    def get_list_filter(self, request: HttpRequest) -> Any:
        return [self._plain(each) for each in super().get_list_filter(request)]

    def _plain(self, each: Any) -> Any:
        """Return a filter by a field with the labels of pages."""
        field: Any = self.opts.get_field(each) if isinstance(each, str) else None
        if field is not None and field.flatchoices:
            return each, PlainChoicesFilter
        return (each, PlainBooleanFilter) if isinstance(field, BooleanField) else each

    def related(self, row: Any) -> Iterator[Link]:
        """Yield the links of a row's page to what belongs to it, besides those of its fields."""
        yield from ()

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

    def has_add_permission(self, request: HttpRequest) -> bool:
        return self._is_among(self.adders, request) and super().has_add_permission(request)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self._is_among(self.changers, request) and super().has_change_permission(request, obj)

    def _is_among(self, people: Who | None, request: HttpRequest) -> bool:
        return people == Who.STAFF or (people == Who.SUPERUSER and request.user.is_superuser)

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def get_urls(self) -> list[URLPattern]:
        """Return Django's pages of the rows, with their access rules."""
        urls: list[URLPattern] = super().get_urls()
        rules = self._rules()
        for each in urls:
            attach(rules[(each.name or "").rpartition("_")[2]], each.callback)
        return urls

    def _rules(self) -> dict[str, AccessRule]:
        """Return the rule of each page by the last part of its URL's name, which the redirect to a row lacks."""
        name = self.opts.verbose_name_plural
        viewers, adders, changers = self._named("view"), self._named("add"), self._named("change")
        actors = right(self.may_act_on_list) if self.may_act_on_list else None
        return {
            "changelist": AccessRule(readers=viewers, writers=actors, action=f"run an action on {name}"),
            "add": self._row_form(adders, adders, f"add {name}"),
            "change": self._row_form(viewers, changers, f"change {name}"),
            "history": AccessRule(readers=viewers),
            "delete": AccessRule(action=f"delete {name}"),
            "": AccessRule(readers=Who.STAFF),
        }

    def _named(self, what: str) -> str | None:
        people = {"view": Who.STAFF, "add": self.adders, "change": self.changers}[what]
        if people != Who.STAFF:
            return people
        codename = get_permission_codename(what, self.opts)
        but = self.changers_but if what == "change" else ""
        return right(f"{self.opts.app_label}.{codename}{but}")

    def _row_form(self, readers: str | None, writers: str | None, action: str) -> AccessRule:
        second = self.needs_second_person and writers is not None
        return AccessRule(readers=readers, writers=writers, action=action, needs_second_person=second)

    def page_context(self, request: HttpRequest, row: Any) -> dict[str, Any]:
        """Return what the template of a row's page needs in addition. `row` is None on the page that adds one."""
        return {}

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        row = kwargs.get("obj")
        context["related"] = list(self.related(row)) if row is not None else []
        context = self.page_context(request, row) | context  # forms with errors were given already
        return super().render_change_form(request, context, *args, **kwargs)

    def page_again(self, request: HttpRequest, row_id: object, **forms: Any) -> HttpResponse:
        """Show a row's page with the errors of forms that were sent to one of its actions."""
        request.method = "GET"  # Django would take the form of an action for that of the page
        return self.change_view(request, str(row_id), extra_context=forms)

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
        try:
            changes = super().get_changelist_instance(request)
        except (OverflowError, ValueError) as too_late:  # a year without a next one
            raise IncorrectLookupParameters from too_late
        changes.title = capfirst(str(self.opts.verbose_name_plural))
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
        if isinstance(each, tuple):
            allowed |= {each[0], f"{each[0]}__exact", f"{each[0]}__isnull"}
        elif isinstance(each, type) and issubclass(each, admin.SimpleListFilter) and each.parameter_name:
            allowed.add(each.parameter_name)
    return allowed


class ReadOnly(BaseModelAdmin):
    """Read-only rows: nothing can be added, changed or deleted."""

    amounts: ClassVar[tuple[str, ...]] = ()  # fields shown as formatted amounts
    currency: ClassVar[str] = "currency"  # path to the currency of the amounts
    states: ClassVar[
        Mapping[str, Mapping[str, str]]
    ] = {}  # fields shown as statuses, with names of their codes
    any_object: ClassVar[tuple[str, ...]] = ()  # fields with the ID of an object of any kind

    @property
    def media(self) -> forms.Media:
        """Return what actions on a list and dates need. Django's edit forms need 100 KB more, which delay the page."""
        return forms.Media(js=("admin/js/core.js", "admin/js/actions.js"))

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return self._formatted(super().get_fields(request, obj))

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        return list(
            dict.fromkeys(
                [
                    *self._formatted(super().get_readonly_fields(request, obj)),
                    *self._formatted([*self.amounts, *self.states, *self.any_object, *self._choice_names()]),
                ]
            )
        )

    def _choice_names(self) -> list[str]:
        return [field.name for field in self.opts.concrete_fields if field.flatchoices]

    def _formatted(self, names: Iterable[Any]) -> list[Any]:
        return list(dict.fromkeys(map(self._column, names)))  # Django repeats the read-only fields at the end

    def _column(self, name: Any) -> Any:
        if name in self.amounts:
            return Amount(name, self.currency)
        if name in self.states:
            return Status(name, self.states[name])
        if name in self.any_object:
            return AnyObject(name)
        return Choice(name) if self._has_choices(name) else name

    def _has_choices(self, name: Any) -> bool:
        field = _field(self.opts, name)
        return field is not None and bool(field.flatchoices)

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnly, StaffAdmin):
    """A model's rows, read-only."""

    def get_list_display(self, request: HttpRequest) -> Any:
        return self._linked(request, super().get_list_display(request))

    def _linked(self, request: HttpRequest, names: Sequence[Any]) -> list[Any]:
        """Return the columns of a list. The first one links to the row, others to the rows that they name."""
        first, *others = self._formatted(names)
        return [first, *(self._reference(request, each) for each in others)]

    def _reference(self, request: HttpRequest, name: Any) -> Any:
        field = _field(self.opts, name)
        if not isinstance(field, ForeignKey) or not self.admin_site.is_registered(field.related_model):
            return name
        pages = self.admin_site.get_model_admin(field.related_model)
        if not pages.has_view_permission(request):
            return name
        return Reference(name, f"admin:{pages.opts.app_label}_{pages.opts.model_name}_change")

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields with a value under their headings, then a fold with the names of the others."""
        if obj is None:
            return super().get_fieldsets(request, obj)
        fields = self.get_fields(request, obj)
        empty = [each for each in fields if getattr(obj, str(each), True) in ("", None, {}, [])]
        given = [each for each in fields if each not in empty]
        folded = [("Empty fields", {"fields": empty, "classes": ("collapse",)})] if empty else []
        return [*self.grouped(given), *folded]

    def change_view(
        self, request: HttpRequest, object_id: str, form_url: str = "", extra_context: Any = None
    ) -> HttpResponse:
        row = self.get_object(request, unquote(object_id))
        named = {"title": self.title_of(row), "subtitle": None} if row is not None else {}
        return super().change_view(request, object_id, form_url, named | (extra_context or {}))

    def title_of(self, row: Any) -> str:
        """Return the title of a row's page."""
        return f"{capfirst(self.opts.verbose_name)} {row}"


class ReadOnlyInline(ReadOnly, admin.TabularInline):
    """Related rows, read-only, on the page of their parent."""

    template = "admin/read_only_inline.html"
    extra = 0

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


def _field(options: Any, name: Any) -> Any:
    """Return the field with a name, or None for a computed column."""
    try:
        return options.get_field(name) if isinstance(name, str) else None
    except FieldDoesNotExist:
        return None
