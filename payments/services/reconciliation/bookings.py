"""Store matches and make their ledger entry: what a statement confirmed leaves the account that expected it."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import islice
from uuid import UUID, uuid4

from django.utils.module_loading import import_string

from cash.models import BankAccount, Match, MatchedItem, MatchedLine
from ledger.models import Entry
from ledger.services import Booking, Kind
from payments.services.reconciliation.ledger_line import COST, DISPUTE, OF_ACQUIRERS, LedgerLine

TOGETHER = 2_000  # rows in one statement of SQL


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmed:
    """Lines and what the ledger expected of them, of the same sum, and why they belong together."""

    lines: Sequence[int]  # their keys
    received: int  # their sum, in minor units
    items: Sequence[LedgerLine]  # without sums
    why: str


# Of apps above this one, by name: what follows if items of a kind are on a statement. They get the ids and the moment.
FOLLOWING = {DISPUTE: "disputes.services.acquirer_lines.debits_recorded"}
# What it locks first, where ledger accounts are locked before it. They get the ids, and return the ledger accounts.
LOCKED_FIRST = {DISPUTE: "disputes.services.acquirer_lines.lock_debits"}


class Run:
    """Matches that are stored part by part, and booked with one entry. The caller holds the account's lock."""

    def __init__(self, account: BankAccount, *, matched_by: str, reason: str = "", now: datetime) -> None:
        self._account, self._matched_by, self._reason, self._now = account, matched_by, reason, now
        self._booking = uuid4()
        self._received = 0
        self._legs: dict[Kind, int] = defaultdict(int)
        self._costs: dict[str, int] = defaultdict(int)
        self._following: dict[str, list[UUID]] = defaultdict(list)

    def store(self, confirmed: Iterable[Confirmed]) -> None:
        left = iter(confirmed)
        while together := list(islice(left, TOGETHER)):
            self._store(together)

    def entries(self) -> list[Booking]:
        """Return the entries of all that was stored, for the caller to book at the end."""
        following = [
            entry
            for kind, ids in self._following.items()
            for entry in import_string(FOLLOWING[kind])(ids, self._now)
        ]
        return [*following, *self._entry()]

    def _store(self, together: Sequence[Confirmed]) -> None:
        matches = [
            Match(
                id=uuid4(),
                account=self._account,
                why=each.why,
                reason=self._reason,
                matched_by=self._matched_by,
                booking=self._booking,
                at=self._now,
            )
            for each in together
        ]
        Match.objects.bulk_create(matches)
        both = list(zip(matches, together, strict=True))
        MatchedLine.objects.bulk_create(
            MatchedLine(match=match, line_id=line) for match, each in both for line in each.lines
        )
        MatchedItem.objects.bulk_create(
            (
                MatchedItem(match=match, kind=item.kind, item=item.id, amount=item.amount)
                for match, each in both
                for item in each.items
            ),
            batch_size=TOGETHER,
        )
        for each in together:
            self._add(each)

    def _add(self, confirmed: Confirmed) -> None:
        self._received += confirmed.received
        for item in confirmed.items:
            if item.kind == COST:
                self._costs[item.cost] += item.amount
            else:
                self._legs[_expected_by(item)] += item.amount
            if item.kind in FOLLOWING:
                self._following[item.kind].append(item.id)

    def _entry(self) -> Iterator[Booking]:
        """Yield the entry, or none if in and out are equal in each account."""
        kind, name = self._account.house_account
        named = {(Kind(kind), name): -self._received}
        named |= {(Kind.COSTS, cost): amount for cost, amount in self._costs.items()}
        named = {key: amount for key, amount in named.items() if amount}
        if named or any(self._legs.values()):
            yield Booking(
                kind=Entry.Kind.STATEMENT_MATCHED,
                cause=self._booking,
                business_id=None,
                currency=self._account.currency,
                legs=self._legs,
                named_legs=named,
                at=self._now,
            )


def store(
    account: BankAccount, confirmed: Confirmed, *, matched_by: str, reason: str, now: datetime
) -> list[Booking]:
    """Store one match, and return the entries to book. The caller holds the account's lock, and books them at the end."""
    run = Run(account, matched_by=matched_by, reason=reason, now=now)
    run.store([confirmed])
    return run.entries()


def lock_what_follows(items: Iterable[LedgerLine]) -> set[int]:
    """Lock what follows if items are on a statement, and return the ledger accounts that are posted to."""
    ids: dict[str, list[UUID]] = defaultdict(list)
    for item in items:
        ids[item.kind].append(item.id)
    return {
        account
        for kind, lock in LOCKED_FIRST.items()
        if ids[kind]
        for account in import_string(lock)(ids[kind])
    }


def _expected_by(item: LedgerLine) -> Kind:
    """Return the account that holds an item until a statement confirms it: what acquirers owe, or what banks move."""
    return Kind.ACQUIRER_RECEIVABLE if item.kind in OF_ACQUIRERS else Kind.BANK_CLEARING
