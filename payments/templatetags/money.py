"""Format amounts, account numbers and brands in templates: {{ amount|money:currency }}."""

from django import template

from kit.banks import grouped, groups
from kit.money.money import figures, money
from payments.rules.cards import brand_name

register = template.Library()
register.filter(money)
register.filter(figures)
register.filter(grouped)


@register.filter
def unbroken(account_number: str) -> str:
    """Write an account number in groups that stay on one line."""
    return grouped(account_number).replace(" ", "\N{NO-BREAK SPACE}")


register.filter(groups)
register.filter(brand_name)
