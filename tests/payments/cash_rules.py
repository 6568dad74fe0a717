"""Statements, breaks and journals, as rules of the state machine of money: one bank account of ours, in NGN."""

import io
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from cash.models import Break, MatchedItem, MatchedLine
from cash.services.imports import Source, last_statement
from ledger.invariants import check
from ledger.services import Kind
from merchants.models import Business, User
from payments.invariants.cash import expected_lines
from payments.models import Journal, JournalLeg, Transaction
from payments.rules.settlement.business_days import business_day
from payments.services.journals.drafts import Draft, Leg, can_be_reversed
from payments.services.reconciliation import breaks, ledger_lines, report
from payments.services.reconciliation.ledger_line import LedgerLine
from payments.services.reconciliation.sums import DaySums
from payments.services.staff.actions import break_matches, journal_actions
from tests.bank_statements import bank_account, csv_statement
from tests.settling import STAFF

ANY = st.integers(min_value=0)  # picks one of the existing ones
FAULTS = st.sampled_from(["none", "none", "none", "missing", "doubled", "split", "merged", "wrong"])
OPENING = 100_000
MOST_IN_A_FILE = 10**12  # minor units: files of tests are written with floating point numbers
Line = tuple[str, int, str]  # day, amount and the bank's reference


class CashRules(RuleBasedStateMachine):
    """The bank sends statements. People match what remains, or explain it by journals."""

    business: Business
    second: User
    clock: datetime
    tick: Callable[[], datetime]
    refusable: Callable[[Callable[[], object]], bool]
    submit: Callable[..., None]
    bank = "gtbank"

    def begin_cash(self) -> None:
        tied = {"pays_out": ["sandbox"], "receives": ["hosting_bank", "sandbox", "top_ups"]}
        self.account = bank_account(name=self.bank, **tied)
        self.import_lines([(self.today(), 1, "interest")])

    def today(self) -> str:
        return business_day(self.clock).isoformat()

    def import_lines(self, lines: list[Line]) -> None:
        last = last_statement(self.account)
        opening = last.closing if last else OPENING
        content = csv_statement(*lines, opening=f"{opening / 100:.2f}").encode()
        source = Source(file=io.BytesIO(content), name="s.csv")
        breaks.import_file(self.account, source, actor=STAFF, now=self.tick())

    def expected_lines(self) -> list[LedgerLine]:
        """Return what a right statement would have: acquirers pay the sum of a day."""
        since = self.account.statements.earliest("first_day").first_day
        items = list(ledger_lines.expected(self.account, since))
        of_sums = [item for item in items if item.sum_of and not item.may_be_missing]
        days = DaySums(self.account.pk, of_sums).days.values()
        return [*(item for item in items if not item.sum_of), *days]

    @rule(days=st.sampled_from([1, 1, 4]), faults=st.lists(FAULTS, min_size=4, max_size=4))
    def import_a_statement(self, days: int, faults: list[str]) -> None:
        self.tell(days, faults)

    def tell(self, days: int, faults: list[str]) -> None:
        """Import what is expected some days later. Some of it is missing, doubled, split, merged or wrong."""
        self.clock += timedelta(days=days)
        lines: list[Line] = []
        for place, item in enumerate(self.expected_lines()):
            if item.amount and abs(item.amount) < MOST_IN_A_FILE:
                reference = str(next(iter(item.references), ""))
                fault = faults[place % len(faults)]
                lines = list(self.told(fault, item.amount, reference, lines))
        if lines:
            self.import_lines(lines)

    def told(self, fault: str, amount: int, reference: str, before: list[Line]) -> Iterator[Line]:
        """Yield the lines of a statement with one more, as a bank with a fault has it."""
        day = self.today()
        if fault == "merged" and before:
            yield from before[:-1]
            if before[-1][1] + amount:
                yield (day, before[-1][1] + amount, "merged")
            return
        yield from before
        if fault == "split" and abs(amount) > 1:
            yield (day, amount // 2, reference)
            yield (day, amount - amount // 2, "")
        elif fault == "wrong":
            yield (day, amount + (99 if amount > 0 else -99), reference)
        elif fault != "missing":
            yield from [(day, amount, reference)] * (2 if fault == "doubled" else 1)

    def open_breaks(self) -> list[Break]:
        return list(Break.objects.filter(ended_at=None).select_related("account").order_by("pk"))

    @precondition(lambda self: self.open_breaks())
    @rule(which=ANY, more=st.integers(0, 3), has_costs=st.booleans())
    def match_breaks(self, which: int, more: int, *, has_costs: bool) -> None:
        """Two people say that lines and expected items belong together."""
        found = self.open_breaks()
        chosen = [found[(which + step) % len(found)].pk for step in range(more + 1)]
        costs = "other" if has_costs else ""
        self.submit(lambda: break_matches.match(chosen, reason="Seen on paper", costs=costs))

    @precondition(lambda self: self.open_breaks())
    @rule(which=ANY, kind=st.sampled_from([Kind.COSTS, Kind.WRITE_OFFS, Kind.WALLET]))
    def explain_a_break(self, which: int, kind: Kind) -> None:
        """A journal explains the difference: as a cost, a loss, or money of the business."""
        found = self.open_breaks()
        chosen = found[which % len(found)]
        name = "other" if kind == Kind.COSTS else ""
        legs = Leg(Kind.BANK, self.bank, -chosen.difference), Leg(kind, name, chosen.difference)
        self.book(*legs, explained=chosen)

    @precondition(lambda self: self.open_breaks())
    @rule(costs=st.just("other"))
    def resolve_all_breaks(self, costs: str) -> None:
        """Once people have matched everything, nothing differs, and nothing is left to match."""
        found = [each for each in self.open_breaks() if each.line_id or each.ledger_amount < MOST_IN_A_FILE]
        if sum(each.difference for each in found) == 0 or not any(each.line_id for each in found):
            costs = ""
        breaks.match_breaks(
            [each.pk for each in found], reason="All of it", actor=STAFF, now=self.tick(), costs=costs
        )
        assert breaks.update(self.account, now=self.tick()) == 0

    @rule()
    def look_two_weeks_later(self) -> None:
        """By then, whatever the ledger says of the account is matched or a break."""
        self.clock += timedelta(days=15)
        breaks.update(self.account, now=self.tick())
        assert [one.broken for one in check(expected_lines.INVARIANTS) if not one.holds] == []

    # Journals

    @precondition(lambda self: self.own_transactions().exists())
    @rule(
        which=ANY,
        amount=st.sampled_from([500, 250_000, -500, -250_000]),
        code=st.sampled_from([Journal.Code.CORRECTION, Journal.Code.GOODWILL, Journal.Code.RECOVERY]),
    )
    def adjust_the_wallet(self, which: int, amount: int, code: str) -> None:
        """Only what the business owes may take its wallet below zero."""
        every = self.own_transactions().order_by("id")
        legs = Leg(Kind.WALLET, "", amount), Leg(Kind.WRITE_OFFS, "", -amount)
        self.book(*legs, code=code, transaction=every[which % len(every)])

    def own_transactions(self) -> "Transaction.objects":
        return Transaction.objects.filter(business=self.business, currency="NGN")

    def book(self, *legs: Leg, code: str = Journal.Code.CORRECTION, **about: object) -> None:
        has_own = any(leg.is_of_business for leg in legs)
        key: UUID = uuid4()
        draft = Draft(
            id=key,
            code=Journal.Code(code),
            text="Checked by two",
            business=self.business if has_own else None,
            currency="NGN",
            legs=legs,
            **about,
        )
        self.submit(lambda: journal_actions.journal(draft))

    @precondition(lambda self: Journal.objects.filter(business=self.business).exists())
    @rule(which=ANY)
    def reverse_a_journal(self, which: int) -> None:
        """A journal is undone once, and its reversal never."""
        every = Journal.objects.select_related("business").order_by("pk")
        chosen = every[which % len(every)]
        can_be = can_be_reversed(chosen)
        key = uuid4()
        self.submit(lambda: journal_actions.reversal(chosen, reason="Wrong one", journal_id=key))
        assert can_be or not Journal.objects.filter(pk=key).exists()

    # Invariants after each step

    @invariant()
    def breaks_explain_each_difference_with_the_bank(self) -> None:
        for balances in report.balances_now():
            assert balances.difference == balances.explained

    @invariant()
    def nothing_is_matched_twice(self) -> None:
        for model, column in ((MatchedLine, "line"), (MatchedItem, "item")):
            found = model.objects.exclude(**{column: None}).values_list(column, flat=True)
            assert max(Counter(found).values(), default=1) == 1

    @invariant()
    def each_journal_sums_to_zero_and_is_reversed_once(self) -> None:
        sums: Counter[UUID] = Counter()
        for journal, amount in JournalLeg.objects.values_list("journal", "amount"):
            sums[journal] += amount
        assert not any(sums.values())
        reversed_ones = Counter(Journal.objects.exclude(reverses=None).values_list("reverses", flat=True))
        assert max(reversed_ones.values(), default=1) == 1
