"""Figures of a strip: each links to what it counts, and says how it changed since the period before."""

from __future__ import annotations

from dataclasses import dataclass

from kit.money.money import money
from kit.money.shares import WHOLE, rounded_share

UP, DOWN = "up", "down"
NOTHING = "–"  # noqa: RUF001  (an en dash)


@dataclass(frozen=True, slots=True)
class Change:
    """A change since the period before: how much, whether that is good or bad, and from what."""

    text: str = ""  # with an arrow; empty if nothing changed or nothing can be compared
    direction: str = ""  # UP is shown as good, DOWN as bad, others as neither
    note: str = "Nothing earlier to compare"


NO_PAST = Change()
NO_PERIOD = Change(note="")  # of what is true now


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    name: str
    value: str
    address: str
    currency: str = ""
    change: Change = NO_PAST
    note: str = ""


def change_of_sum(now: int, before: int, currency: str, *, is_good: bool = True) -> Change:
    """Compare amounts that add up over a period, in minor units. `is_good`: False if more is neither good nor bad.

    >>> change_of_sum(60_000, 40_000, "NGN")
    Change(text='↑ 50.0%', direction='up', note='from NGN 400.00')
    >>> change_of_sum(60_000, 0, "NGN") == NO_PAST
    True
    """
    if not before:
        return NO_PAST
    change = rounded_share(now, before) - WHOLE
    found = change_by(change, f"{abs(change) / 10:.1f}%", money(before, currency))
    return found if is_good else Change(found.text, "", found.note)


def change_of_level(now: int, before: int, currency: str, *, is_good: bool = True) -> Change:
    """Compare balances, in minor units. They may be zero or less, so the change is an amount.

    >>> change_of_level(-500, 0, "NGN")
    Change(text='↓ NGN 5.00', direction='down', note='from NGN 0.00')
    """
    change = now - before
    found = change_by(change, money(abs(change), currency), money(before, currency))
    return found if is_good else Change(found.text, "", found.note)


def change_of_count(now: int, before: int) -> Change:
    """Compare numbers.

    >>> change_of_count(3, 3)
    Change(text='', direction='', note='Unchanged from 3')
    """
    return change_by(now - before, f"{abs(now - before):,}", f"{before:,}") if before else NO_PAST


def change_of_rate(now: int | None, before: int | None) -> Change:
    """Compare rates, in per mille. None: of nothing.

    >>> change_of_rate(667, 1000)
    Change(text='↓ 33.3 pts', direction='down', note='from 100.0%')
    """
    if now is None or before is None:
        return NO_PAST
    return change_by(now - before, f"{abs(now - before) / 10:.1f} pts", percent(before))


def percent(share: int | None) -> str:
    """Return a rate in percent.

    >>> percent(882), percent(None) == NOTHING
    ('88.2%', True)
    """
    return NOTHING if share is None else f"{share / 10:.1f}%"


def change_by(change: int, text: str, before: str, *, is_more_good: bool = True) -> Change:
    """Compare numbers that are written in their own way: `text` is the change without its sign.

    >>> change_by(2, "0.2", "1.5", is_more_good=False)
    Change(text='↑ 0.2', direction='down', note='from 1.5')
    """
    if not change:
        return Change(note=f"Unchanged from {before}")
    is_good = (change > 0) is is_more_good
    arrow = "↑" if change > 0 else "↓"
    return Change(f"{arrow} {text}", UP if is_good else DOWN, f"from {before}")
