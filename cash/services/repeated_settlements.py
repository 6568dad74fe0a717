"""What the statements of other days of a provider's account already have.

A settlement that is listed again, or in a file beside what was fetched, would otherwise be stored, and its costs booked, twice.
"""

from collections.abc import Collection, Mapping
from datetime import date, timedelta
from uuid import UUID

from django.db.models import QuerySet

from cash.models import BankAccount, StatementLine

PAID_OUT = "paid_out"  # kind of the line of what was paid out to our bank
NEAR = timedelta(days=60)  # the same money isn't reported again later than this
TOGETHER = 1_000  # references in one query


def settlements_told(keys: Mapping[str, UUID], *, account: BankAccount, day: date) -> set[str]:
    """Return the settlements that a statement of another day has, by the text of their lines.

    `keys` has the orders of what they paid out. A settlement that paid nothing out is only known by its text.
    """
    others = _others(account, day)
    told = set(others.filter(kind=PAID_OUT, order__in=keys.values()).values_list("order", flat=True))
    texts = set(_near(others, day).filter(text__in=keys).values_list("text", flat=True))
    return texts | {text for text, key in keys.items() if key in told}


def references_told(
    references: Collection[str], *, kind: str, account: BankAccount, day: date
) -> frozenset[str]:
    """Return the references that lines of a kind have on statements of other days."""
    lines, wanted = _near(_others(account, day), day).filter(kind=kind), sorted(references)
    found: set[str] = set()
    for start in range(0, len(wanted), TOGETHER):
        together = lines.filter(reference__in=wanted[start : start + TOGETHER])
        found.update(together.values_list("reference", flat=True))
    return frozenset(found)


def first_late_day(account: BankAccount, day: date, *, longest: timedelta) -> date:
    """Return the first day whose settlements may be added to the statement of a later day.

    A day has one statement. What a provider adds to it later is on the next one.
    """
    first = account.statements.order_by("last_day", "pk").first()
    return max(first.first_day, day - longest) if first and first.first_day < day else day


def _others(account: BankAccount, day: date) -> QuerySet[StatementLine]:
    return StatementLine.objects.filter(statement__account=account).exclude(statement__last_day=day)


def _near(lines: QuerySet[StatementLine], day: date) -> QuerySet[StatementLine]:
    return lines.filter(statement__last_day__gte=day - NEAR)
