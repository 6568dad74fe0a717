"""Filters of the account pages."""

import json
from collections.abc import Iterable
from typing import Any

from django import template
from django.core.serializers.json import DjangoJSONEncoder

register = template.Library()


@register.filter
def as_json(value: Any) -> str:
    """Return a value as JSON, for an attribute that a script reads."""
    return json.dumps(value, cls=DjangoJSONEncoder)


@register.filter
def as_lines(values: Iterable[str]) -> str:
    return "\n".join(values)
