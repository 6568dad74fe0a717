"""Format amounts in templates: {{ amount|money:currency }}."""

from django import template

from kit.money.money import figures, money

register = template.Library()
register.filter(money)
register.filter(figures)
