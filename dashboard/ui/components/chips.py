"""Filters of lists as chips: each opens a GET form of its own that keeps the other filters.

Drawn by `components/chips.html`. A chip that is set shows its value, and has a link that clears it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from django.forms import BoundField
from django.http import QueryDict

from dashboard.ui.addresses import encoded
from dashboard.ui.lists.list_filters import ListFilter
from dashboard.ui.lists.pagination import NEWER, OLDER

OF_A_PAGE = (OLDER, NEWER)  # parameters that end when a filter changes


@dataclass(frozen=True, slots=True)
class ChipSpec:
    """A chip of a list: the fields of its form. `presets` is a field whose choices are offered as links."""

    label: str
    fields: tuple[str, ...]
    presets: str = ""


DAYS = ChipSpec("Created", ("since", "until"), presets="period")
AMOUNT = ChipSpec("Amount", ("currency", "amount_from", "amount_to"))


@dataclass(frozen=True, slots=True)
class Preset:
    """A link that sets a chip."""

    label: str
    address: str
    is_here: bool


@dataclass(frozen=True, slots=True)
class Chip:
    """A chip as a page shows it."""

    label: str
    shown: str  # its value; empty if it isn't set
    fields: Sequence[BoundField]
    presets: Sequence[Preset]
    kept: Sequence[tuple[str, str]]  # the other parameters, as hidden fields
    clear: str

    @property
    def errors(self) -> list[str]:
        return [str(error) for field in self.fields for error in field.errors]


@dataclass(frozen=True, slots=True)
class FilterBar:
    """The search field and the chips of a list."""

    search: BoundField | None
    kept: Sequence[tuple[str, str]]  # by the search
    chips: Sequence[Chip]
    clear: str  # the address without filters; empty if there is nothing to clear
    errors: Sequence[str]  # of values that no field of the page shows, such as a tab's


def filter_bar(
    form: ListFilter, specs: Sequence[ChipSpec], query: QueryDict, *, keeps: Sequence[str] = ()
) -> FilterBar:
    """Return the filters of a list. `keeps` are parameters that stay when all filters are cleared, such as a tab's."""
    own = {name for spec in specs for name in (*spec.fields, spec.presets)} | {"q"}
    is_set = any(query.get(name) for name in own)
    return FilterBar(
        search=form["q"] if "q" in form.fields else None,
        kept=kept(query, without=("q",)),
        chips=[_chip(form, spec, query) for spec in specs if _has_choice(form, spec, query)],
        clear=address_with(query, **{name: "" for name in query if name not in keeps}) if is_set else "",
        errors=_unshown_errors(form, specs),
    )


def _unshown_errors(form: ListFilter, specs: Sequence[ChipSpec]) -> list[str]:
    shown = {name for spec in specs for name in spec.fields} | {"q"}
    labels = [form[name].label.lower() for name in form.errors if name not in shown and name in form.fields]
    return [f"The {label} in the address is unknown. Choose one that the page offers." for label in labels]


def _has_choice(form: ListFilter, spec: ChipSpec, query: QueryDict) -> bool:
    """Return whether a chip offers two values or more besides "all", or is set."""
    names = [name for name in (spec.presets, *spec.fields) if name]
    offered = [getattr(form.fields[name], "choices", None) for name in names]
    return any(each is None or len(each[1:]) > 1 for each in offered) or any(
        query.get(name) for name in names
    )


def _chip(form: ListFilter, spec: ChipSpec, query: QueryDict) -> Chip:
    names = (spec.presets, *spec.fields) if spec.presets else spec.fields
    fields = [form[name] for name in spec.fields]
    is_set = any(query.get(name) for name in names)
    return Chip(
        label=spec.label,
        shown=(form.shown(names) or spec.label) if is_set else "",
        fields=fields,
        presets=_presets(form, spec, query),
        kept=kept(query, without=names),
        clear=address_with(query, **dict.fromkeys(names, "")),
    )


def _presets(form: ListFilter, spec: ChipSpec, query: QueryDict) -> list[Preset]:
    if not spec.presets:
        return []
    cleared = dict.fromkeys(spec.fields, "")
    return [
        Preset(
            str(label),
            address_with(query, **cleared, **{spec.presets: value}),
            query.get(spec.presets) == value,
        )
        for value, label in form.fields[spec.presets].choices  # type: ignore[attr-defined]
        if value
    ]


def kept(query: QueryDict, *, without: Sequence[str]) -> list[tuple[str, str]]:
    """Return the parameters that a form of a page keeps, without those of its own fields."""
    gone = {*without, *OF_A_PAGE}
    return [
        (name, value)
        for name, value in query.dict().items()
        if isinstance(value, str) and value and name not in gone
    ]


def address_with(query: QueryDict, **changes: str) -> str:
    """Return the address of the list with some parameters changed, from its first page. Empty ones are left out."""
    changed = query.copy()
    for name, value in changes.items():
        changed[name] = value
    for name in [name for name in changed if not changed[name] or name in OF_A_PAGE]:
        del changed[name]
    return f"?{encoded(changed)}"
