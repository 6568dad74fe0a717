"""Sums in which an acquirer pays without a detail: the payments of a day, or of all days that are due together, less refunds.

A line is such a sum if exactly one line and one sum have the amount: of the payments, or of the payments less what the
acquirer said it keeps of each. The only line of a due day that names the acquirer is what was due then, with any amount.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import date, timedelta
from uuid import UUID, uuid5

from payments.services.reconciliation.ledger_line import CARD_DAY, COST, LedgerLine
from payments.services.reconciliation.open_line import OpenLine

DAY_AND_SUM, NAMED = "day and sum", "the acquirer's name"
LATE_WITHIN = timedelta(days=7)  # after the due day, a line may still be found by its sum alone

Found = tuple[OpenLine, LedgerLine, str]


class DaySums:
    """The sums of days of a bank account's acquirers."""

    def __init__(self, account: UUID, items: Iterable[LedgerLine]) -> None:
        self._account = account
        parts: dict[tuple[date, str], list[LedgerLine]] = defaultdict(list)
        for item in items:
            parts[item.day, item.sum_of].append(item)
        self.days = {
            key: self._sum(parts[key]) for key in sorted(parts)
        }  # that aren't matched yet, oldest first

    def all(self) -> list[LedgerLine]:
        """Return the sum of each day, and of all days of an acquirer that are due together, such as a weekend's."""
        due: dict[tuple[date, str], list[LedgerLine]] = defaultdict(list)
        for day in self.days.values():
            due[day.due, day.sum_of].append(day)
        together = (days for days in due.values() if len(days) > 1)
        return [
            *self.days.values(),
            *(self._sum([part for day in days for part in day.parts]) for days in together),
        ]

    def match(self, lines: Iterable[OpenLine]) -> Iterator[Found]:
        """Yield lines with their sums, and remove those. First what came in time; last, sums of other amounts."""
        left = {line.pk: line for line in lines if line.order is None}
        for late in (timedelta(0), LATE_WITHIN):
            for line, found in list(self._only_pairs(left.values(), late)):
                if self._take(found):
                    del left[line.pk]
                    yield line, found, DAY_AND_SUM
        for line, found in list(self._named(left.values())):
            if self._take(found):
                yield line, found, NAMED

    def _candidates(self) -> Iterator[LedgerLine]:
        """Yield the sums. A day isn't one if the others that are due with it add nothing: it is all of them."""
        every = self.all()
        together = {(each.due, each.sum_of): each for each in every}  # of several days, rather than of one
        for each in every:
            due = together[each.due, each.sum_of]
            if each is due or each.amount != due.amount:
                yield each

    def _only_pairs(
        self, lines: Iterable[OpenLine], late: timedelta
    ) -> Iterator[tuple[OpenLine, LedgerLine]]:
        """Yield the pairs of a line and a sum of its amount that fit no other one."""
        by_amount: dict[int, list[LedgerLine]] = defaultdict(list)
        for each in self._candidates():
            for candidate in (each, self._net(each)) if _told_cost(each) else (each,):
                by_amount[candidate.amount].append(candidate)
        fitting = [
            (line, each)
            for line in lines
            for each in by_amount.get(line.amount, ())
            if each.day <= line.booked_on <= each.due + late
        ]
        keys = [(line.pk, each.id) for line, each in fitting]
        of_lines, of_sums = (Counter(pair[side] for pair in keys) for side in (0, 1))
        for line, each in fitting:
            if of_lines[line.pk] == of_sums[each.id] == 1:
                yield line, each

    def _named(self, lines: Iterable[OpenLine]) -> Iterator[tuple[OpenLine, LedgerLine]]:
        due = {(each.due, each.sum_of): each for each in self.all()}  # of several days, rather than of one
        naming: dict[tuple[date, str], list[OpenLine]] = defaultdict(list)
        for line in lines:
            told = f"{line.kind} {line.counterparty} {line.text} {line.reference}".lower()
            for day, acquirer in due:
                if day == line.booked_on and acquirer in told:
                    naming[day, acquirer].append(line)
        for key, found in naming.items():
            if len(found) == 1:
                yield found[0], due[key]

    def take_nothing_due(self, until: date) -> Iterator[LedgerLine]:
        """Yield and remove the sums of zero that were due by a day: for them, no bank has a line."""
        for each in reversed(self.all()):  # of several days, rather than of one
            if not each.amount and each.due <= until and self._take(each):
                yield each

    def _take(self, found: LedgerLine) -> bool:
        """Remove the days of a sum. Return False if one of them is taken."""
        keys = {(part.day, part.sum_of) for part in found.parts if part.sum_of}
        if not keys <= self.days.keys():
            return False
        for key in keys:
            del self.days[key]
        return True

    def _net(self, each: LedgerLine) -> LedgerLine:
        """Return the sum less what the acquirer said it keeps."""
        kept = LedgerLine(
            kind=COST,
            id=uuid5(each.id, COST),
            references=(),
            amount=-_told_cost(each),
            day=each.day,
            cost="provider",
        )
        return self._sum([*each.parts, kept])

    def _sum(self, parts: Sequence[LedgerLine]) -> LedgerLine:
        of, days = parts[0], sorted({part.day for part in parts})
        name = f"{of.sum_of} {days[0]}" if len(days) == 1 else f"{of.sum_of} {days[0]} to {days[-1]}"
        return LedgerLine(
            kind=CARD_DAY,
            id=uuid5(self._account, name),
            references=(name,),
            amount=sum(part.amount for part in parts),
            day=days[0],
            settles_after=of.settles_after,
            holidays=of.holidays,
            sum_of=of.sum_of,
            parts=tuple(parts),
        )


def _told_cost(each: LedgerLine) -> int:
    return sum(part.told_cost for part in each.parts)
