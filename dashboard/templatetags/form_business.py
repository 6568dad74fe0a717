"""Replace `{% csrf_token %}`: forms of the dashboard also name the business that they were rendered for.

A user of several businesses may select another one in another tab. `dashboard.memberships` rejects a form of a business
that is no longer selected. The tag is built in (`config.settings`), so that no form can be written without the field.
"""

from typing import Any

from django import template
from django.template.base import Parser, Token
from django.template.context import Context
from django.template.defaulttags import CsrfTokenNode
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.memberships import FORM_BUSINESS, Membership

register = template.Library()


class FormTokens(CsrfTokenNode):
    """Hidden fields of a form: the CSRF token, and the business if the page has one."""

    def render(self, context: Context) -> SafeString:
        membership = _membership(context)
        business = (
            format_html('<input type="hidden" name="{}" value="{}">', FORM_BUSINESS, membership.business.pk)
            if membership
            else ""
        )
        return format_html("{}{}", super().render(context), business)


@register.tag
def csrf_token(_parser: Parser, _token: Token) -> FormTokens:
    """Render the hidden fields of a form."""
    return FormTokens()


def _membership(context: Any) -> Membership | None:
    """Return the membership of the request. Templates included with `only` have no variable `request`."""
    return getattr(getattr(context, "request", None), "membership", None)
