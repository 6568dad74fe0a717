"""Format amounts in templates: {{ amount|money:currency }}."""

from django import template

from kit.money import money

register = template.Library()
register.filter(money)
