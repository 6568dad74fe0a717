"""Match lines of statements with what the ledger expects: by our reference, by the bank's, then by amount and day or by sum.

The result follows from lines and items alone, whatever their order. No line and no item is matched twice.
"""

from collections import defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date
from uuid import UUID

from kit.text.masking import mask_card_numbers
from payments.services.reconciliation.ledger_line import JOURNAL, LedgerLine
from payments.services.reconciliation.open_line import OpenLine
from payments.services.reconciliation.sums import DaySums

MASK = "*"  # of a card number
OURS, THEIRS, UNIQUE = "our reference", "the bank's reference", "amount and day, unique"


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A line and an item that belong together, and why. Their amounts may differ."""

    line: OpenLine
    item: LedgerLine
    why: str

    @property
    def is_equal(self) -> bool:
        return self.line.amount == self.item.amount


@dataclass(slots=True)
class Matching:
    """Pairs, and what remains on either side."""

    pairs: list[Pair] = field(default_factory=list)
    lines: dict[int, OpenLine] = field(default_factory=dict)
    items: dict[Hashable, LedgerLine] = field(default_factory=dict)
    nothing_due: list[LedgerLine] = field(default_factory=list)  # sums of zero, of which no line is expected

    def pair(self, line: OpenLine, item: LedgerLine, why: str) -> None:
        self.pairs.append(Pair(line=line, item=item, why=why))
        del self.lines[line.pk], self.items[_key(item)]


def by_own_reference(lines: Iterable[OpenLine], items: Iterable[LedgerLine]) -> Iterator[Pair]:
    """Yield the lines that have the id and the amount of an item, the first of several, while the items are read.

    They are nearly all lines of a large statement, and need not be held until the others are matched.
    """
    named: dict[tuple[UUID | None, int], OpenLine] = {}
    for line in lines:
        named.setdefault((line.order, line.amount), line)
    for item in items if named else ():
        if found := named.pop((item.id, item.amount), None):
            yield Pair(line=found, item=item, why=OURS)


def match(
    lines: Iterable[OpenLine],
    items: Iterable[LedgerLine],
    *,
    account: UUID,
    tells_costs: bool = False,
    told_until: date | None = None,
) -> Matching:
    """Match the lines of an account with items. Equal amounts are matched first, and sums of what remains last.

    `tells_costs`: the account's lines say which of them are costs. `told_until`: the last day of its statements.
    """
    result = Matching(
        lines={line.pk: line for line in sorted(lines, key=lambda line: (line.booked_on, line.pk))},
        items={_key(item): item for item in sorted(items, key=lambda item: (item.day, item.kind, item.id))},
    )
    by_reference = _index(result)
    for may_differ in (False, True):
        for line in list(result.lines.values()):
            _match_reference(result, line, by_reference, may_differ=may_differ)
        if not may_differ:
            _match_unique(result, tells_costs=tells_costs)
    _match_sums(result, account, told_until)
    return result


def _match_sums(result: Matching, account: UUID, told_until: date | None) -> None:
    """Put sums of days in the place of the payments that an acquirer pays in sums, and match them."""
    paid = [item for item in result.items.values() if item.sum_of and not item.may_be_missing]
    for item in paid:
        del result.items[_key(item)]
    sums = DaySums(account, paid)
    for line, found, why in sums.match(result.lines.values()):
        del result.lines[line.pk]
        result.pairs.append(Pair(line=line, item=found, why=why))
    if told_until is not None:
        result.nothing_due += sums.take_nothing_due(told_until)
    result.items |= {_key(day): day for day in sums.days.values()}


def _index(result: Matching) -> dict[Hashable, list[LedgerLine]]:
    """Return the items by those of their references that a line has.

    The texts of lines are stored with card numbers masked. One in ten retrieval reference numbers of a year that ends in 5
    or 6 looks like one, so that the line has it masked.
    """
    told = {each for line in result.lines.values() for each in (line.order, line.reference) if each}
    is_masked = any(isinstance(each, str) and MASK in each for each in told)
    found: dict[Hashable, list[LedgerLine]] = defaultdict(list)
    for item in result.items.values():
        for reference in (item.id, *item.references):
            if reference in told:
                found[reference].append(item)
            elif is_masked and isinstance(reference, str) and (shown := mask_card_numbers(reference)) in told:
                found[shown].append(item)
    return found


def _match_reference(
    result: Matching, line: OpenLine, index: dict[Hashable, list[LedgerLine]], *, may_differ: bool
) -> None:
    for reference, why in ((line.order, OURS), (line.reference, THEIRS)):
        fitting = [
            item
            for item in (index.get(reference, ()) if reference else ())
            if _key(item) in result.items
            and (item.amount > 0) == (line.amount > 0)
            and (may_differ or line.amount in (item.amount, item.or_amount))
        ]
        if fitting:
            item = _likeliest(fitting, line)
            result.pair(line, item if may_differ else replace(item, amount=line.amount), why)
            return


def _likeliest(fitting: Sequence[LedgerLine], line: OpenLine) -> LedgerLine:
    """Return the first item or, of the stages of a dispute, the last that had begun when the line was booked."""
    first = fitting[0]
    begun = [
        (item.begun, item.id, item)
        for item in fitting
        if item.kind == first.kind and item.begun is not None and item.begun <= line.booked_on
    ]
    return max(begun)[-1] if begun else first


def _match_unique(result: Matching, *, tells_costs: bool) -> None:
    """Match a line without our reference with the only item of its amount and days, if it is the only such line.

    A cost of the amount of a refund isn't that refund. Only a journal may expect it.
    """
    items: dict[int, list[LedgerLine]] = defaultdict(list)
    for item in result.items.values():
        if not item.sum_of:
            items[item.amount].append(item)
    lines: dict[int, list[OpenLine]] = defaultdict(list)
    for line in result.lines.values():
        if line.order is None and line.amount in items:
            lines[line.amount].append(line)
    for amount, same in lines.items():
        for line, item in list(_only_pairs(same, items[amount])):
            if item.kind == JOURNAL or not (tells_costs and line.is_cost):
                result.pair(line, item, UNIQUE)


def _only_pairs(
    lines: Sequence[OpenLine], items: Sequence[LedgerLine]
) -> Iterator[tuple[OpenLine, LedgerLine]]:
    """Yield the pairs that fit no other one. They are compared by day, because very many may have one amount."""
    of_lines: dict[date, list[OpenLine]] = defaultdict(list)
    for line in lines:
        of_lines[line.booked_on].append(line)
    of_items: dict[tuple[date, date], list[LedgerLine]] = defaultdict(list)
    for item in items:
        of_items[item.earliest, item.due].append(item)
    for day, same in of_lines.items():
        fitting = [
            item for (first, due), found in of_items.items() if first <= day <= due for item in found[:2]
        ]
        if len(same) == len(fitting) == 1:
            (item,) = fitting
            if sum(len(found) for on, found in of_lines.items() if item.earliest <= on <= item.due) == 1:
                yield same[0], item


def _key(item: LedgerLine) -> Hashable:
    return item.kind, item.id
