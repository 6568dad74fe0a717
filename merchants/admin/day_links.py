"""Links that narrow a list to a year, a month or a day.

Django's read every row to leave out days without rows. These read the first and the last day, which an index has.
"""

from calendar import month_abbr, monthrange
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from typing import Any

PARTS = ("year", "month", "day")


@dataclass(frozen=True, slots=True)
class DayLink:
    """A choice of a period. The chosen one leads back to the period around it."""

    label: str
    query: str
    is_chosen: bool = False


def day_links(changes: Any) -> list[DayLink]:
    """Return the links of a list that has a `date_hierarchy`: chosen periods first, then those within."""
    field = changes.date_hierarchy
    bounds = _bounds(changes.root_queryset.model, field)
    if bounds is None:
        return []
    given = [changes.params.get(f"{field}__{part}") for part in PARTS]
    chosen = [int(value) for value in _leading(given) if str(value).isdigit()]
    return [*_back(changes, field, chosen), *_within(changes, field, chosen, bounds)]


def _bounds(model: Any, field: str) -> tuple[date, date] | None:
    days = model._default_manager.values_list(field, flat=True)
    first, last = days.order_by(field).first(), days.order_by(f"-{field}").first()
    return (first, last) if first and last else None


def _leading(values: list[Any]) -> Iterator[Any]:
    """Yield the values before the first missing one."""
    for value in values:
        if not value:
            return
        yield value[-1] if isinstance(value, list) else value


def _back(changes: Any, field: str, chosen: list[int]) -> Iterator[DayLink]:
    for place, value in enumerate(chosen):
        label = (
            month_abbr[value] if PARTS[place] == "month" and 1 <= value <= len(month_abbr) - 1 else f"{value}"
        )
        gone = [f"{field}__{part}" for part in PARTS[place:]]
        yield DayLink(label, changes.get_query_string(remove=gone), is_chosen=True)


def _within(changes: Any, field: str, chosen: list[int], bounds: tuple[date, date]) -> Iterator[DayLink]:
    """Yield the years, months or days between the first and the last day, newest first."""
    first, last = bounds
    if len(chosen) == len(PARTS):
        return
    for value in reversed(_values(chosen) or range(first.year, last.year + 1)):
        start, end = _period([*chosen, value])
        if end < first or start > last:
            continue
        new = {f"{field}__{part}": each for part, each in zip(PARTS, [*chosen, value], strict=False)}
        label = month_abbr[value] if len(chosen) == 1 else f"{value}"
        yield DayLink(label, changes.get_query_string(new))


def _values(chosen: list[int]) -> range:
    """Return the months of a chosen year, or the days of a chosen month."""
    if not chosen:
        return range(0)
    return range(1, 13) if len(chosen) == 1 else range(1, monthrange(*chosen)[1] + 1)


def _period(parts: list[int]) -> tuple[date, date]:
    """Return the first and last day of a year, month or day."""
    year, *rest = parts
    month, day = [*rest, None, None][:2]
    start = date(year, month or 1, day or 1)
    end = date(year, month or 12, day or monthrange(year, month or 12)[1])
    return start, end
