"""Moments on payers' pages, in the zone of the merchant, which they name: {{ moment|in_zone:business }}."""

from datetime import datetime

from django import template
from django.utils.timezone import localtime

from kit.money.money import written
from merchants.models import Business

register = template.Library()
register.filter("major", written)


@register.filter
def in_zone(moment: datetime, business: Business) -> str:
    """Return a moment such as "23 Nov 2026, 21:28 (Africa/Lagos)"."""
    local = localtime(moment, business.zone)
    return f"{local.day} {local:%b %Y, %H:%M} ({business.time_zone})"
