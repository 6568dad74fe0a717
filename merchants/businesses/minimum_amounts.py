"""The smallest payment that a business takes, by currency. Its owner sets it; by default there is none."""

from rest_framework.exceptions import ErrorDetail

from kit.api.fields.field_errors import error
from kit.money.money import money
from merchants.models import Business


def smallest_payment(business: Business, currency: str) -> int:
    """Return the smallest payment in minor units, 0 without one."""
    return int(business.minimum_amounts.get(currency, 0))


def below_smallest_payment(business: Business, amount: int, currency: str) -> list[ErrorDetail]:
    """Return the errors of an amount that is below the business's smallest payment, else none."""
    smallest = smallest_payment(business, currency)
    if amount >= smallest:
        return []
    return error(
        f"The smallest payment of this business is {money(smallest, currency)} ({smallest}).",
        "amount_too_small",
    )
