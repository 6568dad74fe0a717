"""Times as pages write them, in the active time zone."""

from __future__ import annotations

from datetime import datetime

from django.utils import timezone


def day_text(at: datetime) -> str:
    """Return a day such as "23 Nov", with the year only if it isn't the current one."""
    local = timezone.localtime(at)
    return f"{local:%-d %b}" if local.year == timezone.localtime().year else f"{local:%-d %b %Y}"


def moment_text(at: datetime) -> str:
    """Return a time to the minute, such as "23 Nov, 09:38"."""
    return f"{day_text(at)}, {timezone.localtime(at):%H:%M}"
