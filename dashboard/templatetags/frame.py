"""Template tags and filters for navigation, times, amounts and queries."""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from typing import Any

from django import template
from django.conf import settings
from django.forms import BaseForm
from django.http import HttpRequest
from django.template import Context
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.ui import navigation
from dashboard.ui.addresses import encoded
from dashboard.ui.deadlines import time_left
from dashboard.ui.dispute_names import dispute_name, dispute_reason, dispute_style, evidence_kind, stage_name
from dashboard.ui.times import day_text, moment_text
from kit.money.money import figures, money, signed_money, written
from kit.time import time_zones
from kit.time.durations import relative
from payments.models import Transaction
from payments.rules.words.status_names import (
    FAILURE_NAMES,
    STATUS_NAMES,
    UNAPPLIED_STYLES,
    settlement_name,
    status_name,
    unapplied_name,
)

register = template.Library()

NOTHING = "–"  # noqa: RUF001  (an en dash)


@register.simple_tag
def areas_for(request: HttpRequest) -> Sequence[navigation.LinkGroup]:
    """Return the navigation for the current page."""
    membership = getattr(request, "membership", None)
    waiting = membership.disputes_to_answer if membership else 0
    return navigation.grouped_links(request.path, waiting={"dashboard-disputes": waiting})


@register.simple_tag
def account_for(request: HttpRequest) -> Sequence[navigation.Link]:
    """Return the links of the user menu."""
    return navigation.links(navigation.ACCOUNT, request.path)


@register.simple_tag(takes_context=True)
def error_prefix(context: Context) -> str:
    """Return what the title of a page begins with if one of its forms has errors. Screen readers read the title first."""
    values = [value for layer in context.dicts for value in layer.values()]
    values += [each for value in values if isinstance(value, dict) for each in value.values()]
    has_errors = any(isinstance(each, BaseForm) and each.is_bound and each.errors for each in values)
    return "Error: " if has_errors else ""


@register.simple_tag
def is_sandbox() -> bool:
    return settings.SANDBOX


@register.filter
def pairs(metadata: dict[str, str] | None) -> list[tuple[str, str]]:
    """Return keys and values. In a template, `metadata.items` would be the value of a key named "items"."""
    return list((metadata or {}).items())


@register.filter
def moment(at: datetime | None) -> str:
    """Show a time to the minute, in the active time zone."""
    return _time(at, moment_text(at)) if at else NOTHING


@register.filter
def precise_moment(at: datetime | None) -> str:
    """Show a time to the second."""
    return _time(at, f"{day_text(at)}, {timezone.localtime(at):%H:%M:%S}") if at else NOTHING


@register.filter
def clock_time(at: datetime, beside: datetime) -> str:
    """Show a time to the second, with its day only if that isn't the one of the time beside it."""
    is_same_day = timezone.localdate(at) == timezone.localdate(beside)
    return _time(at, f"{timezone.localtime(at):%H:%M:%S}") if is_same_day else precise_moment(at)


@register.filter
def time_of_day(at: datetime) -> str:
    """Show a time to the minute, below a heading that names its day."""
    return _time(at, f"{timezone.localtime(at):%H:%M}")


@register.filter
def ago(at: datetime | None) -> str:
    """Show a time relative to now."""
    if at is None:
        return NOTHING
    return _time(at, relative(at, now=timezone.now()), mark_safe(' data-shown="distance"'))


@register.filter
def deadline(at: datetime) -> SafeString:
    """Show the time that is left until a deadline, with a clock."""
    left = time_left(at, now=timezone.now())
    return format_html('<span class="deadline deadline--{}">{}</span>', left.tone, left.text)


@register.simple_tag
def active_time_zone() -> str:
    """Return the name of the time zone that the page's times are in, with its offset now."""
    return time_zones.labelled(str(timezone.get_current_timezone()), at=timezone.now())


def _time(at: datetime, text: str, mark: str = "") -> SafeString:
    """Return a `time` element. Its title is the exact time in UTC. Scripts update those with a mark."""
    exact = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}" title="{}"{}>{}</time>',
        f"{exact:%Y-%m-%dT%H:%M:%SZ}",
        f"{exact:%-d %b %Y, %H:%M:%S} UTC",
        mark,
        text,
    )


@register.simple_tag(takes_context=True)
def query_with(context: Context, **changes: Any) -> str:
    """Return the current query with some parameters replaced. Empty ones are left out.

    A card number in a search without results is masked. If the search has results, the number is an identifier or
    metadata, which the page shows unchanged.
    """
    query = context["request"].GET.copy()
    for name, value in changes.items():
        query[name] = "" if value is None else str(value)
    for name in [name for name in query if not query[name]]:
        del query[name]
    return f"?{encoded(query, keeps_search=bool(getattr(context.get('page'), 'rows', ())))}"


@register.filter
def typed(minor_units: int, currency: str) -> str:
    """Format an amount for a form field."""
    return written(minor_units, currency)


@register.filter
def words(code: str) -> str:
    """Show a code as words, such as "Partially refunded" for `partially_refunded`."""
    return str(code).replace("_", " ").capitalize()


register.filter(status_name)
register.filter(settlement_name)
register.filter(unapplied_name)
register.filter(dispute_name)
register.filter(dispute_style)
register.filter(stage_name)
register.filter(dispute_reason)
register.filter(evidence_kind)


@register.filter
def unapplied_style(state: str) -> str:
    """Return the style of an unapplied transfer's state."""
    return UNAPPLIED_STYLES[state]


@register.filter
def reason(transaction: Transaction) -> str:
    """Return what a list says about the status of a transaction: why it failed, or what it waits for."""
    if transaction.mismatch_text:
        return transaction.mismatch_text
    if transaction.status == Transaction.Status.FAILED:
        is_named = transaction.response_code in FAILURE_NAMES
        return "" if is_named and not transaction.is_transfer_payment else transaction.reason_text
    if parts := list(_parts_of(transaction)):
        return ", ".join(f"{money(amount, transaction.currency)} {name}" for amount, name in parts)
    if transaction.amount_returned and transaction.amount_returned < transaction.amount:
        return f"{money(transaction.amount_returned, transaction.currency)} returned"
    if transaction.has_unknown_card and transaction.awaiting == Transaction.Awaiting.PAYER:
        return "Waiting for the card"
    return WAITS_FOR.get(transaction.awaiting, "")


def _parts_of(payment: Transaction) -> Iterator[tuple[int, str]]:
    """Yield how much of a payment was captured and refunded, if that was a part."""
    captured, refunded = payment.amount_captured, payment.amount_refunded
    if 0 < captured < payment.amount:
        yield captured, "captured"
    if 0 < refunded < payment.amount_collected:
        yield refunded, "refunded"


WAITS_FOR: dict[str, str] = {
    Transaction.Awaiting.PAYER: "Waiting for 3-D Secure",
    Transaction.Awaiting.TRANSFER: "Waiting for the transfer",
    Transaction.Awaiting.CAPTURE: "Waiting for capture",
    Transaction.Awaiting.REVERSAL: "Being reversed",
    Transaction.Awaiting.SERVER: "Waiting for your server",
}


@register.filter
def named_status(status: str) -> str:
    """Show the status of a refund, transfer or payout."""
    return STATUS_NAMES.get(status, words(status))


@register.filter
def signed(amount: int, currency: str) -> str:
    """Format an amount with its sign."""
    return signed_money(amount, currency)


@register.filter
def deducted(amount: int, currency: str) -> str:
    """Format an amount that is deducted, without its currency, for a column of figures."""
    return figures(-amount, currency)
