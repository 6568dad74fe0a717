"""Template filters that show JSON."""

from django import template

from dashboard.ui.json_markup import indented, json_markup, markup_of_text

register = template.Library()

register.filter(indented)
register.filter(json_markup)
register.filter(markup_of_text)
