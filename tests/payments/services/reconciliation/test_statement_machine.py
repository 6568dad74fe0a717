"""Statements with lines that are missing, doubled, split, merged, late and of wrong amounts: people match what remains, or
explain it by journals, and in the end nothing differs.

STATEMENT_SEEDS=2000 plays more of them.
"""

import io
import os
import random
from collections import Counter
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from uuid import UUID

import pytest
from django.db.models import Sum
from django.utils import timezone
from freezegun import freeze_time
from hypothesis import given
from hypothesis import strategies as st

from cash.models import Break, MatchedItem, MatchedLine, StatementLine
from cash.services.imports import Source
from kit.db import clock
from ledger.invariants import check
from ledger.models import Account
from ledger.services import Kind
from payments.invariants.cash import cash, expected_lines, journals
from payments.services.journals.drafts import Leg
from payments.services.reconciliation import breaks, matching, report
from payments.services.reconciliation.ledger_line import PAYMENT, LedgerLine
from payments.services.transfers import unclaimed_decisions
from payments.services.transfers.incoming import Notice, receive_notification
from tests.bank_statements import bank_account, csv_statement
from tests.factories import ApiKeyFactory, BusinessFactory
from tests.journals import adjusted
from tests.transactions import captured_payment
from virtual_accounts.models import UnclaimedTransfer

SEEDS = int(os.environ.get("STATEMENT_SEEDS", "6"))
MONDAY = datetime(2026, 1, 5, 10, tzinfo=UTC)
FIRST, LATER = "2026-01-06", "2026-01-14"
ACTOR = breaks.Actor(name="people")
INVARIANTS = (*cash.INVARIANTS, *expected_lines.INVARIANTS, *journals.INVARIANTS)
JOURNALS = 0.4  # of the breaks are explained by journals
WRITTEN_OFF = 0.3  # of the unclaimed transfers


@dataclass
class Bank:
    """What a bank makes of the money that it received: lines at once, and lines a week later."""

    pick: random.Random
    first: list[tuple[str, int, str]] = field(default_factory=list)
    later: list[tuple[str, int, str]] = field(default_factory=list)

    def book(self, amount: int, reference: str) -> None:
        fault = self.pick.choice(["none", "none", "late", "doubled", "split", "merged", "wrong", "corrected"])
        getattr(self, fault)(amount, reference)

    def none(self, amount: int, reference: str) -> None:
        self.first.append((FIRST, amount, reference))

    def late(self, amount: int, reference: str) -> None:
        self.later.append((LATER, amount, reference))

    def doubled(self, amount: int, reference: str) -> None:
        self.first += [(FIRST, amount, reference)] * 2
        self.later.append((LATER, -amount, f"taken back {reference}"))

    def split(self, amount: int, reference: str) -> None:
        part = self.pick.randint(1, amount - 1)
        self.first += [(FIRST, part, reference), (FIRST, amount - part, "")]

    def merged(self, amount: int, _reference: str) -> None:
        if self.first:
            day, before, _ = self.first.pop()
            self.first.append((day, before + amount, "merged"))
        else:
            self.first.append((FIRST, amount, "alone"))

    def wrong(self, amount: int, reference: str) -> None:
        self.first.append((FIRST, amount + self.pick.choice([-1, 1, 99]), reference))

    def corrected(self, amount: int, reference: str) -> None:
        self.first.append((FIRST, amount - 1, reference))
        self.later.append((LATER, 1, f"rest of {reference}"))


def import_lines(account, lines, opening):
    content = csv_statement(*lines, opening=f"{opening / 100:.2f}").encode()
    breaks.import_file(account, Source(file=io.BytesIO(content), name="s.csv"), actor=ACTOR, now=clock.now())


def assert_consistent():
    assert [one.invariant.name for one in check(INVARIANTS) if not one.holds] == []
    (shown,) = report.balances_now()
    assert shown.difference == shown.explained
    for model, column in ((MatchedLine, "line"), (MatchedItem, "item")):
        twice = Counter(model.objects.exclude(**{column: None}).values_list(column, flat=True))
        assert max(twice.values(), default=1) == 1


def explain(found):
    """Book a journal of a break's difference."""
    legs = Leg(Kind.BANK, found.account.name, -found.difference), Leg(Kind.COSTS, "other", found.difference)
    adjusted(None, 0, legs=legs, transaction=None, explained=found)


def unconfirmed():
    """Return what banks and acquirers haven't confirmed, of all businesses and the house."""
    kinds = ("bank_clearing", "acquirer_receivable")
    return Account.objects.filter(kind__in=kinds).aggregate(sum=Sum("balance"))["sum"]


@pytest.mark.django_db
@pytest.mark.parametrize("seed", range(SEEDS))
def test_everything_can_be_resolved(seed, db):
    pick = random.Random(seed)
    bank = Bank(pick)
    with freeze_time(MONDAY) as moment:
        account = bank_account(receives=["hosting_bank", "sandbox"])
        for number in range(pick.randint(1, 8)):
            amount, reference = pick.choice([500, 500, 70_000, pick.randint(2, 10**6)]), f"NIP-{number}"
            receive_notification(
                Notice(
                    bank_reference=reference,
                    account_number="0000000000",
                    amount=amount,
                    currency="NGN",
                    sender_name="Ada",
                )
            )
            bank.book(amount, reference)
        UnclaimedTransfer.objects.update(received_at=timezone.now())  # PostgreSQL's clock isn't frozen
        if pick.random() < 0.7:
            business = ApiKeyFactory(business=BusinessFactory()).business
            cards = [
                captured_payment(business=business, now=clock.now(), amount=pick.randint(2, 10**5))
                for _ in range(pick.randint(1, 3))
            ]
            bank.book(sum(each.amount for each in cards), "SANDBOX SETTLEMENT")
        import_lines(account, [("2026-01-04", 1, "interest")], 99_999)
        moment.tick(timedelta(days=9))
        if bank.first:
            import_lines(account, bank.first, 100_000)
            assert_consistent()
        if bank.later:
            import_lines(account, bank.later, 100_000 + sum(amount for _, amount, _ in bank.first))
            assert_consistent()

        for unclaimed in UnclaimedTransfer.objects.order_by("pk"):
            if pick.random() < WRITTEN_OFF:
                unclaimed_decisions.write_off(unclaimed.pk, reason="Given up", actor=ACTOR, now=clock.now())
                assert_consistent()
        for each in Break.objects.filter(ended_at=None).order_by("pk"):
            if pick.random() < JOURNALS:
                explain(each)
                assert_consistent()
        left = Break.objects.filter(ended_at=None)
        if ids := list(left.values_list("pk", flat=True)):
            differs = sum(each.difference for each in left) != 0
            breaks.match_breaks(
                ids, reason="All of it", actor=ACTOR, now=clock.now(), costs="other" if differs else ""
            )

        assert_consistent()
        assert breaks.update(account, now=clock.now()) == 0
        assert not Break.objects.filter(ended_at=None).exists()
        (shown,) = report.balances_now()
        assert shown.difference == 0
        # Nothing awaits a bank any more. The opening balance stands for the time before.
        assert unconfirmed() == 99_999


DAYS = st.integers(0, 9).map(lambda days: date(2026, 1, 5) + timedelta(days=days))
AMOUNTS = st.integers(-3, 12).filter(bool)


@given(
    paid=st.lists(st.tuples(AMOUNTS, DAYS, st.integers(0, 2)), max_size=8),
    told=st.lists(st.tuples(AMOUNTS, DAYS, st.sampled_from(["", "SANDBOX"])), max_size=8),
    order=st.randoms(),
)
def test_sums_are_matched_once_and_in_any_order(paid, told, order):
    items = [
        LedgerLine(
            kind=PAYMENT,
            id=UUID(int=n),
            references=(),
            amount=amount,
            day=day,
            sum_of="sandbox",
            told_cost=cost,
        )
        for n, (amount, day, cost) in enumerate(paid)
    ]
    lines = [
        StatementLine(pk=n, amount=amount, booked_on=day, text=text)
        for n, (amount, day, text) in enumerate(told)
    ]

    def matched():
        found = matching.match(lines, items, account=UUID(int=7))
        pairs = [(pair.line.pk, pair.item.id, pair.why, pair.is_equal) for pair in found.pairs]
        leaves = [part.id for pair in found.pairs for part in pair.item.parts if part.kind == PAYMENT]
        left = [part.id for item in found.items.values() for part in item.parts]
        assert sorted([*leaves, *left]) == sorted(item.id for item in items)
        assert len({pair[0] for pair in pairs}) == len(pairs)
        return sorted(pairs)

    before = matched()
    order.shuffle(items)
    order.shuffle(lines)
    assert matched() == before
