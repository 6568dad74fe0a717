"""Template tags and filters for navigation, times, amounts and queries."""

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
from kit.durations import relative
from kit.masking import mask_card_numbers
from kit.money import signed_money, written
from payments.status_names import STATUS_NAMES, status_name

register = template.Library()

NOTHING = "–"  # noqa: RUF001  (an en dash)


@register.simple_tag
def areas_for(request: HttpRequest) -> Sequence[navigation.Link]:
    """Return the links of the navigation for the current page."""
    return navigation.links(navigation.AREAS, request.path)


@register.simple_tag
def account_for(request: HttpRequest) -> Sequence[navigation.Link]:
    """Return the links of the user menu."""
    return navigation.links(navigation.ACCOUNT, request.path)


@register.simple_tag
def is_sandbox() -> bool:
    return settings.SANDBOX


@register.filter
def pairs(metadata: dict[str, str] | None) -> list[tuple[str, str]]:
    """Return keys and values. In a template, `metadata.items` would be the value of a key named "items"."""
    return list((metadata or {}).items())


@register.filter
def moment(at: datetime | None) -> str:
    """Show a time to the minute, in UTC or, with JavaScript, in the browser's time zone."""
    if at is None:
        return NOTHING
    year = "" if at.year == timezone.now().year else f" {at:%Y}"
    return _time(at, f"{at:%-d %b}{year}, {at:%H:%M} UTC", "minute")


@register.filter
def precise_moment(at: datetime | None) -> str:
    """Show a time to the second."""
    return _time(at, f"{at:%-d %b %Y, %H:%M:%S} UTC", "second") if at else NOTHING


@register.filter
def ago(at: datetime | None) -> str:
    """Show a time relative to now."""
    return _time(at, relative(at, now=timezone.now()), "distance") if at else NOTHING


def _time(at: datetime, text: str, shown: str) -> SafeString:
    """Return a `time` element. Its title is the exact time in UTC."""
    return format_html(
        '<time class="number" datetime="{}" title="{}" data-shown="{}">{}</time>',
        at.isoformat(timespec="milliseconds"),
        f"{at:%-d %B %Y, %H:%M:%S} UTC",
        shown,
        text,
    )


@register.simple_tag(takes_context=True)
def query_with(context: Context, **changes: Any) -> str:
    """Return the current query with some parameters replaced. Empty ones are left out.

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
    """Format an amount for a form field."""
    return written(minor_units, currency)


@register.filter
def words(code: str) -> str:
    """Show a code as words, such as "Partially refunded" for `partially_refunded`."""
    return str(code).replace("_", " ").capitalize()


register.filter(status_name)


@register.filter
def named_status(status: str) -> str:
    """Show the status of a refund, transfer or payout."""
    return STATUS_NAMES.get(status, words(status))


@register.filter
def signed(amount: int, currency: str) -> str:
    """Format an amount with its sign."""
    return signed_money(amount, currency)


@register.filter
def minus(amount: int, currency: str) -> str:
    """Format an amount that is deducted."""
    return signed_money(-amount, currency)
