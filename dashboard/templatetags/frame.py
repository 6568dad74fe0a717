"""What every page of the dashboard is built of: the areas, moments, and parts of addresses."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

from django import template
from django.conf import settings
from django.http import HttpRequest
from django.template import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.ui import navigation
from dashboard.ui.amounts import with_sign
from dashboard.ui.relative_time import distance
from kit.masking import mask_card_numbers
from kit.money import written

register = template.Library()

NOTHING = "–"  # noqa: RUF001  (a dash, as print has it)


@register.simple_tag
def areas_for(request: HttpRequest) -> Sequence[navigation.Link]:
    """Return the links of the navigation, as they are on this page."""
    return navigation.links(navigation.AREAS, request.path)


@register.simple_tag
def account_for(request: HttpRequest) -> Sequence[navigation.Link]:
    """Return the links of the menu with the person's name."""
    return navigation.links(navigation.ACCOUNT, request.path)


@register.simple_tag
def is_sandbox() -> bool:
    return settings.SANDBOX


@register.filter
def pairs(metadata: dict[str, str] | None) -> list[tuple[str, str]]:
    """Return keys and values. In a template `metadata.items` would be the value of a key with that name."""
    return list((metadata or {}).items())


@register.filter
def moment(at: datetime | None) -> str:
    """Show a moment to the minute. Without JavaScript in UTC; with it in the reader's own time."""
    if at is None:
        return NOTHING
    year = "" if at.year == timezone.now().year else f" {at:%Y}"
    return _time(at, f"{at:%-d %b}{year}, {at:%H:%M} UTC", "minute")


@register.filter
def precise_moment(at: datetime | None) -> str:
    """Show a moment to the second, as a timeline wants it."""
    return _time(at, f"{at:%-d %b %Y, %H:%M:%S} UTC", "second") if at else NOTHING


@register.filter
def ago(at: datetime | None) -> str:
    """Show how far away a moment is, to either side."""
    return _time(at, distance(at, now=timezone.now()), "distance") if at else NOTHING


def _time(at: datetime, text: str, shown: str) -> SafeString:
    """Return a `time` element; its title is the exact moment in UTC, for whoever points at it."""
    return format_html(
        '<time class="number" datetime="{}" title="{}" data-shown="{}">{}</time>',
        at.isoformat(timespec="milliseconds"),
        f"{at:%-d %B %Y, %H:%M:%S} UTC",
        shown,
        text,
    )


@register.simple_tag(takes_context=True)
def query_with(context: Context, **changes: Any) -> str:
    """Return this page's query with some parameters replaced. Empty ones are left out.

    A card number in a search without results is masked. If the search has results, the number is an identifier or
    metadata, which the page shows unchanged.
    """
    query = context["request"].GET.copy()
    if "q" in query and not getattr(context.get("page"), "rows", ()):
        query["q"] = mask_card_numbers(query["q"])
    for name, value in changes.items():
        query[name] = "" if value is None else str(value)
    for name in [name for name in query if not query[name]]:
        del query[name]
    return f"?{query.urlencode()}"


@register.filter
def typed(minor_units: int, currency: str) -> str:
    """Show an amount as one would type it into a form."""
    return written(minor_units, currency)


@register.filter
def words(code: str) -> str:
    """Show a code as words: partially_refunded becomes Partially refunded."""
    return str(code).replace("_", " ").capitalize()


@register.filter
def signed(amount: int, currency: str) -> str:
    """Show what was added with a plus, what was taken with a minus."""
    return with_sign(amount, currency)


@register.filter
def minus(amount: int, currency: str) -> str:
    """Show an amount that is taken off."""
    return with_sign(-amount, currency)
