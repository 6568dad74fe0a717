"""Formatting of plain text in templates."""

import re

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

register = template.Library()

_QUOTED = re.compile(r"`([^`]+)`")


@register.filter
def code_words(text: str) -> SafeString:
    """Render text between backticks as code, and escape everything.

    >>> code_words("Wait as `Retry-After` says, not < that.")
    'Wait as <code>Retry-After</code> says, not &lt; that.'
    """
    parts = _QUOTED.split(text)  # every second one is code
    return format_html_join(
        "",
        "{}",
        ((format_html("<code>{}</code>", part) if place % 2 else part,) for place, part in enumerate(parts)),
    )
