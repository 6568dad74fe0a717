"""Days on which settlement payouts are made: those of the schedule on which banks are open.

>>> christmas = {date(2026, 12, 25)}
>>> is_open(date(2026, 12, 24), christmas), is_open(date(2026, 12, 25), christmas), is_open(date(2026, 12, 26), christmas)
(True, False, False)
>>> is_payout_day(date(2026, 12, 28), FRIDAY, christmas), is_payout_day(date(2026, 12, 29), FRIDAY, christmas)
(True, False)
>>> next_payout_day(date(2026, 12, 25), None, christmas).isoformat()
'2026-12-28'
"""

from collections.abc import Collection
from datetime import date, timedelta

FRIDAY, SATURDAY = 4, 5
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday")


def is_open(day: date, holidays: Collection[date]) -> bool:
    """Return whether banks are open: no Saturday, Sunday or holiday."""
    return day.weekday() < SATURDAY and day not in holidays


def is_payout_day(day: date, weekday: int | None, holidays: Collection[date]) -> bool:
    """Return whether a schedule pays on a day: daily without a weekday. A closed weekday is made up on the next open day."""
    if not is_open(day, holidays):
        return False
    if weekday is None:
        return True
    wanted = day - timedelta(days=(day.weekday() - weekday) % 7)
    return all(not is_open(wanted + timedelta(days=n), holidays) for n in range((day - wanted).days))


def next_payout_day(day: date, weekday: int | None, holidays: Collection[date]) -> date:
    """Return the first day from this one on, on which a schedule pays."""
    while not is_payout_day(day, weekday, holidays):
        day += timedelta(days=1)
    return day
