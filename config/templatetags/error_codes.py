"""What error codes of the API mean, in templates: {% error_code call.code as error %}."""

from django import template

from config.errors.error_codes import ERROR_CODES, ErrorCode

register = template.Library()


@register.simple_tag
def error_code(code: str) -> ErrorCode | None:
    """Return the title and advice of a code; None if there is no such code any more."""
    return ERROR_CODES.get(code)
