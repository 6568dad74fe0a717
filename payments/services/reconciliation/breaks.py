"""Match what is new on statements and in the ledger, book it, and keep the breaks: what remains on either side."""

from collections.abc import Iterable, Iterator
from datetime import date, datetime, timedelta
from functools import partial
from itertools import islice
from typing import NamedTuple
from uuid import UUID, uuid5

from django.db import transaction

from cash.models import BankAccount, Break, MatchedItem, StatementLine
from cash.services import imports
from cash.services.imports import Imported, Source
from kit.db.one_by_one import one_by_one
from ledger import services as ledger
from ledger.services import Booking
from merchants.people.audit import Actor
from payments.models import InvalidState, Journal
from payments.rules.settlement.business_days import business_day
from payments.services.reconciliation import bookings, ledger_lines, matching
from payments.services.reconciliation.bookings import TOGETHER, Confirmed, Run
from payments.services.reconciliation.ledger_line import CARD_DAY, COST, PAID_OUT, LedgerLine
from payments.services.reconciliation.matching import Matching, Pair
from payments.services.reconciliation.open_line import FEE, OpenLine, named_lines, open_lines
from payments.services.reconciliation.sums import DaySums

AUTOMATIC, BY_PEOPLE, BY_JOURNAL = "reconciliation", "decided by people", "explained by a journal"
REPORTED_COST, REPORTED_PAYMENT = "a cost that the acquirer reported", "paid out to our bank"
NOTHING_DUE = "payments and refunds of the day are the same sum"
# What happened before the first statement may be one of its lines, or part of its opening balance.
BOOKED_WITHIN = timedelta(days=7)


class Changed(InvalidState):
    default_detail = "What the ledger expects has changed since these breaks were opened. Look at them again."


def update_all(*, now: datetime) -> None:
    """Match and find breaks of every account that has statements or tied connectors."""
    accounts = BankAccount.objects.order_by("name")
    for _ in one_by_one(partial(update, now=now), accounts, failure="statements not matched"):
        pass


@transaction.atomic
def import_file(
    account: BankAccount, source: Source, *, actor: Actor, now: datetime
) -> tuple[list[Imported], int]:
    """Import the statements of a file, and match their lines. Return the statements, and how many lines were matched.

    :raises InvalidFile: the file is refused as a whole
    """
    imported = imports.import_file(account, source, actor=actor, now=now)
    opening = [each.opening for each in imported if each.opening]
    return imported, update(account, now=now, also=opening)


@transaction.atomic
def update(account: BankAccount, *, now: datetime, also: Iterable[Booking] = ()) -> int:
    """Match and book what belongs together, and open and end breaks. Return how many lines were matched.

    `also`: entries of the same database transaction.
    """
    account = BankAccount.objects.select_for_update().get(pk=account.pk)
    since = _since(account)
    run = Run(account, matched_by=AUTOMATIC, now=now)
    lines, first = imports.lines_of(account), since - BOOKED_WITHIN
    named = matching.by_own_reference(named_lines(lines), ledger_lines.expected(account, first))
    # All are read first: the query would pass over each match that is stored meanwhile, for each item.
    matched = _store(run, account, iter(list(named)), now=now)
    last = imports.last_statement(account)
    found = matching.match(
        open_lines(lines),
        ledger_lines.expected(account, first),
        account=account.pk,
        tells_costs=not account.is_at_bank,
        told_until=last.last_day if last else None,
    )
    if not account.is_at_bank:
        _add_told(found, account)
    matched += _store(run, account, (pair for pair in found.pairs if pair.is_equal), now=now)
    run.store(map(_nothing_due, found.nothing_due))
    entries = run.entries()
    _keep(account, found, since=since, now=now)
    ledger.book_all([*also, *entries])
    return matched


def _store(run: Run, account: BankAccount, pairs: Iterator[Pair], *, now: datetime) -> int:
    """Store pairs of equal amounts, part by part, and return how many there were."""
    count = 0
    while together := list(islice(pairs, TOGETHER)):
        run.store(map(_confirmed, together))
        _record_late(account, together, now=now)
        count += len(together)
    return count


def _confirmed(pair: Pair) -> Confirmed:
    return Confirmed(lines=(pair.line.pk,), received=pair.line.amount, items=pair.item.leaves, why=pair.why)


def _nothing_due(item: LedgerLine) -> Confirmed:
    return Confirmed(lines=(), received=0, items=item.leaves, why=NOTHING_DUE)


def _since(account: BankAccount) -> date:
    first = account.statements.order_by("last_day", "pk").first()
    return first.first_day if first else business_day(account.created_at)


def _add_told(found: Matching, account: BankAccount) -> None:
    """Match the lines that an acquirer's statement explains itself: what it kept, and what it paid out to our bank."""
    orders = [line.order for line in found.lines.values() if line.order]
    # The same sum on a second line is no more money. It remains a break.
    told = set(MatchedItem.objects.filter(kind=PAID_OUT, item__in=orders).values_list("item", flat=True))
    for line in list(found.lines.values()):
        if line.is_cost:
            item, why = _told(line, COST, uuid5(account.pk, str(line.pk))), REPORTED_COST
        elif line.kind.lower() == PAID_OUT and line.order and line.order not in told:
            told.add(line.order)
            item, why = _told(line, PAID_OUT, line.order), REPORTED_PAYMENT
        else:
            continue
        del found.lines[line.pk]
        found.pairs.append(Pair(line=line, item=item, why=why))


def _told(line: OpenLine, kind: str, key: UUID) -> LedgerLine:
    return LedgerLine(
        kind=kind,
        id=key,
        references=(),
        amount=line.amount,
        day=line.booked_on,
        cost=line.kind.lower().removesuffix(FEE),
    )


def match_breaks(ids: list[int], *, reason: str, actor: Actor, now: datetime, costs: str = "") -> None:
    """Match the lines and items of breaks of one account as people decided, and end the breaks. The caller holds its lock.

    `costs` names the cost that the difference of their sums is, if they differ.

    :raises Changed: the payments of a day's sum aren't the same any more
    """
    chosen = list(Break.objects.filter(pk__in=ids).select_related("account", "line").order_by("pk"))
    account = chosen[0].account
    items = [item for each in chosen if each.item for item in _items_of(each)]
    lines = [each.line for each in chosen if each.line]
    received = sum(line.amount for line in lines)
    difference = received - sum(item.amount for item in items)
    if difference:
        items.append(_cost(account, ids, difference, name=costs, now=now))
    confirmed = Confirmed(lines=[line.pk for line in lines], received=received, items=items, why=BY_PEOPLE)
    entries = bookings.store(account, confirmed, matched_by=actor.name, reason=reason, now=now)
    Break.objects.filter(pk__in=ids).update(ended_at=now, ended_by=Break.End.MATCH)
    ledger.book_all(entries)


def end_by_journal(ended: Break, journal: Journal, *, now: datetime) -> list[Booking]:
    """Match a break's line and item with the journal that explains them, and end it. Return the entry of the line.

    The caller holds the account's lock, and has checked that the journal explains the difference.
    """
    legs = ledger_lines.legs_of(ended.account).filter(journal=journal).select_related("journal")
    items = [*_items_of(ended), *(ledger_lines.line_of(leg) for leg in legs)]
    lines = [ended.line.pk] if ended.line else []
    confirmed = Confirmed(lines=lines, received=ended.bank_amount, items=items, why=BY_JOURNAL)
    Break.objects.filter(pk=ended.pk).update(ended_at=now, ended_by=Break.End.JOURNAL)
    return bookings.store(
        ended.account, confirmed, matched_by=journal.booked_by, reason=journal.text, now=now
    )


def lock_what_follows(explained: Break) -> set[int]:
    """Lock what ending a break by a journal changes beside the account, and return the ledger accounts that it posts to.

    :raises Changed: the payments of a day's sum aren't the same any more
    """
    return bookings.lock_what_follows(_items_of(explained))


def settle_reversed(journal: Journal, reversal: Journal, *, now: datetime) -> None:
    """Expect no line of a journal's legs, nor of its reversal's, if none has come before it is reversed.

    The caller holds the locks of the legs' accounts.
    """
    for account in BankAccount.objects.filter(currency=journal.currency).order_by("pk"):
        for leg in ledger_lines.legs_of(account).filter(journal=journal).select_related("journal"):
            item = ledger_lines.line_of(leg)
            if MatchedItem.objects.filter(kind=item.kind, item=item.id).exists():
                continue
            undone = ledger_lines.legs_of(account).select_related("journal").get(journal=reversal)
            items = [item, ledger_lines.line_of(undone)]
            both = Confirmed(lines=[], received=0, items=items, why=BY_JOURNAL)
            bookings.store(account, both, matched_by=reversal.booked_by, reason=reversal.text, now=now)
            _end_without_item(account, item, now=now)


def _end_without_item(account: BankAccount, item: LedgerLine, *, now: datetime) -> None:
    """End the break of an item that expects no line any more. A line that it had is unknown from now on."""
    ended = Break.objects.filter(item=item.id, item_kind=item.kind, ended_at=None)
    lines = list(open_lines(StatementLine.objects.filter(breaks__in=ended)))
    ended.update(ended_at=now, ended_by=Break.End.JOURNAL)
    unknown = [_Sides(Break.Kind.UNKNOWN, line=line) for line in lines]
    Break.objects.bulk_create(_row(account, each, now=now) for each in unknown)


def _cost(account: BankAccount, ids: list[int], amount: int, *, name: str, now: datetime) -> LedgerLine:
    key = uuid5(account.pk, f"breaks {sorted(ids)}")
    return LedgerLine(kind=COST, id=key, references=(), amount=amount, day=business_day(now), cost=name)


def _items_of(each: Break) -> tuple[LedgerLine, ...]:
    """Return what is matched if a break is.

    :raises Changed: see above
    """
    account, key, amount = each.account, each.item, each.ledger_amount
    if key is None:
        return ()
    if each.item_kind != CARD_DAY:
        return (LedgerLine(kind=each.item_kind, id=key, references=(), amount=amount, day=each.since),)
    expected = ledger_lines.expected(account, _since(account) - BOOKED_WITHIN)
    sums = DaySums(account.pk, (item for item in expected if item.sum_of and not item.may_be_missing)).all()
    found = next((one for one in sums if (one.id, one.amount) == (key, amount)), None)
    if found is None:
        raise Changed
    return found.parts


def _record_late(account: BankAccount, pairs: Iterable[Pair], *, now: datetime) -> None:
    """Keep a break, ended by its line, of each item whose line the bank booked after the item was due."""
    Break.objects.bulk_create(
        _row(account, _Sides(Break.Kind.LATE, item=pair.item), now=now, ended=True)
        for pair in pairs
        if pair.line.booked_on > pair.item.due
    )


class _Sides(NamedTuple):
    """What a break has: smaller than its row, because there may be very many."""

    kind: Break.Kind
    line: OpenLine | None = None
    item: LedgerLine | None = None

    @property
    def key(self) -> tuple[object, ...]:
        line, item = self.line, self.item
        return (
            line.pk if line else None,
            item.kind if item else "",
            item.id if item else None,
            line.amount if line else 0,
            item.amount if item else 0,
        )


def _keep(account: BankAccount, found: Matching, *, since: date, now: datetime) -> None:
    """End the breaks that are none any more, and open new ones. The others keep their owner, notes and age."""
    columns = ("line_id", "item_kind", "item", "bank_amount", "ledger_amount")
    held = {
        tuple(sides): key
        for key, *sides in account.breaks.filter(ended_at=None).values_list("pk", *columns).iterator()
    }
    kept = {each.key for each in _breaks(found, since=since, now=now) if each.key in held}
    ended = [key for sides, key in held.items() if sides not in kept]
    for start in range(0, len(ended), TOGETHER):
        Break.objects.filter(pk__in=ended[start : start + TOGETHER]).update(
            ended_at=now, ended_by=Break.End.LINE
        )
    new = (each for each in _breaks(found, since=since, now=now) if each.key not in held)
    while together := list(islice(new, TOGETHER)):
        _end_elsewhere(account, together, now=now)
        Break.objects.bulk_create(_row(account, each, now=now) for each in together)


def _end_elsewhere(account: BankAccount, new: Iterable[_Sides], *, now: datetime) -> None:
    """End the breaks of other accounts about the same items, which are expected here now, or found here."""
    items = [each.item.id for each in new if each.item]
    if items:
        others = Break.objects.filter(item__in=items, ended_at=None).exclude(account=account)
        others.update(ended_at=now, ended_by=Break.End.LINE)


def _breaks(found: Matching, *, since: date, now: datetime) -> Iterator[_Sides]:
    today = business_day(now)
    for pair in found.pairs:
        if not pair.is_equal:
            yield _Sides(Break.Kind.DIFFERS, line=pair.line, item=pair.item)
    for line in found.lines.values():
        yield _Sides(Break.Kind.UNKNOWN, line=line)
    for item in found.items.values():
        is_missing = not item.may_be_missing and today > item.due
        if item.day >= since and is_missing and item.amount:
            yield _Sides(Break.Kind.MISSING, item=item)


def _row(account: BankAccount, sides: _Sides, *, now: datetime, ended: bool = False) -> Break:
    line, item = sides.line, sides.item
    return Break(
        account=account,
        kind=sides.kind,
        line_id=line.pk if line else None,
        item_kind=item.kind if item else "",
        item=item.id if item else None,
        reference=_reference(line, item),
        bank_amount=line.amount if line else 0,
        ledger_amount=item.amount if item else 0,
        since=line.booked_on if line else item.day if item else now.date(),
        opened_at=now,
        ended_at=now if ended else None,
        ended_by=Break.End.LINE if ended else "",
    )


def _reference(line: OpenLine | None, item: LedgerLine | None) -> str:
    if line:
        return (line.reference or line.counterparty or line.text)[:100]
    return str(next(iter(item.references), item.id.hex))[:100] if item else ""
