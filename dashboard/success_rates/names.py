"""How falls of success rates are put into words."""

from dashboard.models import FallenRate
from dashboard.success_rates.rates import Group

Kind = FallenRate.Kind


def described(kind: str, key: str) -> str:
    """Return which payments a rate is of.

    >>> described(Kind.METHOD, "card"), described(Kind.BIN, "408408")
    ('Card payments', 'Payments with cards that begin with 408408')
    """
    name = Group(kind, key).name
    if kind == Kind.METHOD:
        return f"{name} payments"
    return (
        f"Payments to {name} accounts" if kind == Kind.BANK else f"Payments with cards that begin with {name}"
    )
