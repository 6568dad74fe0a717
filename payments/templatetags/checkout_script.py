"""The one script of the card page, with the hash that browsers compare it with (PCI DSS 6.4.3)."""

import hashlib
from base64 import b64encode
from functools import lru_cache
from pathlib import Path

from django import template
from django.contrib.staticfiles import finders
from django.templatetags.static import static
from django.utils.html import format_html
from django.utils.safestring import SafeString

SCRIPT = "js/card_form.js"

register = template.Library()


@register.simple_tag
def checkout_script() -> SafeString:
    """Return the script's element."""
    return format_html('<script src="{}" integrity="{}" defer></script>', static(SCRIPT), integrity())


@lru_cache(maxsize=1)
def integrity() -> str:
    """Return the hash of the script as it is served."""
    found = finders.find(SCRIPT)
    if not isinstance(found, str):
        raise FileNotFoundError(SCRIPT)
    digest = hashlib.sha384(Path(found).read_bytes()).digest()
    return f"sha384-{b64encode(digest).decode()}"
