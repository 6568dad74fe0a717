"""Amounts as people write them, in templates: {{ amount|money:currency }}."""

from django import template

from merchants.money import money

register = template.Library()
register.filter(money)
