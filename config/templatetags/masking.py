"""Card numbers masked in templates: {{ text|mask_card_numbers }}."""

from typing import Any

from django import template

from kit.text.masking import mask_card_numbers as mask

register = template.Library()


@register.filter
def mask_card_numbers(value: Any) -> str:
    return mask(str(value))
