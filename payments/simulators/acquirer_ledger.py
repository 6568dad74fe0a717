"""The simulated acquirer's books and answers.

It decides by the sandbox's outcome table and meets the requirements of `docs/rails.md`: a repeated message gets the
first answer again, and an authorisation that arrives after its reversal is declined. It stores no card data.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, date, datetime

from iso4217 import Currency

from payments.rails.iso8583 import answers
from payments.rails.iso8583.messages import PURCHASE, RETURN, Message, answer_to
from payments.rules import sandbox_triggers
from payments.rules.cards import has_expired
from payments.rules.outcomes import EXPIRED_CARD, Outcome
from payments.rules.sandbox_triggers import Special
from payments.rules.settlement.business_days import business_day
from payments.simulators.statement_lines import COLUMNS, IN, OUT

APPROVED, INVALID, TOO_LARGE, ALREADY_REVERSED, NOT_FOUND = "00", "12", "13", "21", "25"


@dataclass(frozen=True, slots=True)
class Cleared:
    """A line of the statement: a message that moved money. Minor units."""

    rrn: str
    amount: int
    direction: str
    day: date


@dataclass(slots=True)
class Entry:
    """An authorisation, purchase or card check, with its current state. Minor units."""

    is_purchase: bool
    amount: int
    code: str
    currency: str  # numeric
    captured: int = 0
    refunded: int = 0
    is_reversed: bool = False
    cleared: list[Cleared] = field(default_factory=list)  # statement lines, unless it is reversed

    @property
    def charged(self) -> int:
        """Return the amount charged to the cardholder, before refunds."""
        if self.is_reversed or not self.is_approved:
            return 0
        return self.amount if self.is_purchase else self.captured

    @property
    def is_approved(self) -> bool:
        return self.code in answers.APPROVED | {answers.NO_REASON_TO_DECLINE, answers.PARTLY_APPROVED}

    def clear(self, message: Message, amount: int, direction: str) -> None:
        day = business_day(datetime.now(UTC))
        self.cleared.append(Cleared(message.fields[37], amount, direction, day))

    @property
    def reserved(self) -> int:
        is_open = not self.is_purchase and not self.is_reversed and not self.captured
        return self.amount if is_open and self.is_approved else 0


class AcquirerLedger:
    """Answers messages, one at a time. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.next_codes: deque[str] = deque()  # of the next authorisations, instead of the table's
        self._answers: dict[tuple[str, str, str], Message] = {}  # the first answers, by class, STAN and RRN
        self._entries: dict[tuple[str, str], Entry] = {}  # by STAN and transmission time
        self._early_reversals: set[tuple[str, str]] = set()
        self._by_rrn: dict[str, tuple[str, str]] = {}  # RRN to STAN and transmission time

    def answer(self, question: Message) -> Message:
        with self._lock:
            known = self._answers.get(question.match_key)
            if known is None:
                known = self._answers[question.match_key] = self._decide(question)
            return known

    def position(self, rrn: str) -> dict[str, int]:
        """Return the amounts of an authorisation or purchase, which are zero if it never arrived."""
        with self._lock:
            entry = self._entries.get(self._by_rrn.get(rrn, ("", "")))
            if entry is None:
                return {"charged": 0, "reserved": 0, "refunded": 0}
            return {"charged": entry.charged, "reserved": entry.reserved, "refunded": entry.refunded}

    def delete_reversals(self) -> None:
        """Delete reversals of authorisations that haven't arrived, which would then be accepted."""
        with self._lock:
            self._early_reversals.clear()

    def delete_authorisations(self) -> None:
        """Delete the authorisations, whose reversals will then find no original."""
        with self._lock:
            self._entries.clear()

    def positions(self) -> dict[str, dict[str, int]]:
        return {rrn: self.position(rrn) for rrn in list(self._by_rrn)}

    def statement(self) -> Iterator[str]:
        """Yield the lines of the acquirer's statement as CSV, with amounts in minor units."""
        with self._lock:
            entries = list(self._entries.values())
        yield ",".join(COLUMNS)
        for entry in entries:
            for line in [] if entry.is_reversed else entry.cleared:
                yield f"{line.rrn},{line.amount},{_alphabetic(entry.currency)},{line.day},{line.direction}"

    def _decide(self, question: Message) -> Message:
        kind = question.type[1:3]
        if kind == "40":
            return answer_to(question, self._reverse(question))
        if kind == "22":
            return answer_to(question, self._capture(question))
        if question.fields[3] == RETURN:
            return answer_to(question, self._refund(question))
        return self._authorise(question)

    def _authorise(self, question: Message) -> Message:
        place = question.fields[11], question.fields[7]
        code = self.next_codes.popleft() if self.next_codes else card_decision(question)
        entry = Entry(
            is_purchase=question.type[1] == "2",
            amount=int(question.fields[4]) // (2 if code == answers.PARTLY_APPROVED else 1),
            code=INVALID if place in self._early_reversals else code,
            currency=question.fields[49],
        )
        if entry.is_purchase and entry.is_approved:
            entry.clear(question, entry.amount, IN)
        self._entries[place] = entry
        self._by_rrn[question.fields[37]] = place
        number = int(question.fields[11]) * 10_000 + int(question.fields[7][-4:])
        more = {"f38": f"{number % 10**6:06}"} if entry.is_approved else {}
        return answer_to(question, entry.code, f63=f"{number:021}", **more)

    def _capture(self, question: Message) -> str:
        entry, amount = self._original(question), int(question.fields[4])
        if entry is None or not entry.reserved:
            return INVALID
        if amount > entry.reserved:
            return TOO_LARGE
        entry.captured = amount
        entry.clear(question, amount, IN)
        return APPROVED

    def _refund(self, question: Message) -> str:
        entry, amount = self._original(question), int(question.fields[4])
        if entry is None or amount > entry.charged - entry.refunded:
            return INVALID
        decided = sandbox_triggers.by_amount(amount, sandbox_triggers.REFUND_AMOUNTS)
        if isinstance(decided, Outcome):
            return decided.gateway_code
        entry.refunded += amount
        entry.clear(question, amount, OUT)
        return APPROVED

    def _reverse(self, question: Message) -> str:
        entry = self._original(question)
        if entry is None:
            self._early_reversals.add(_place_of_original(question))
            return NOT_FOUND
        if entry.is_reversed:
            return ALREADY_REVERSED
        if entry.captured or entry.refunded:
            return INVALID
        entry.is_reversed = True
        return APPROVED

    def _original(self, question: Message) -> Entry | None:
        return self._entries.get(_place_of_original(question))


def card_decision(question: Message) -> str:
    """Return the response code for a card and an amount by the sandbox's outcome table."""
    number, expiry = question.fields.get(2, ""), question.fields.get(14, "")
    if has_expired(month=expiry[2:], year=f"20{expiry[:2]}", now=datetime.now(UTC)):
        return EXPIRED_CARD.gateway_code
    decided = sandbox_triggers.by_card(number[:6], number[-4:]) or sandbox_triggers.by_amount(
        int(question.fields[4]), sandbox_triggers.CARD_AMOUNTS
    )
    return decided.gateway_code if isinstance(decided, Outcome) else APPROVED


def loses_answer(question: Message) -> bool:
    """Return whether the outcome table says that the first answer is lost."""
    table = _LOSSES.get((question.type, question.fields.get(3, "")), {})
    return sandbox_triggers.by_amount(int(question.fields.get(4, "0")), table) is Special.LOST_ANSWER


_LOSSES = {
    ("0100", PURCHASE): sandbox_triggers.CARD_AMOUNTS,
    ("0200", PURCHASE): sandbox_triggers.CARD_AMOUNTS,
    ("0200", RETURN): sandbox_triggers.REFUND_AMOUNTS,
    ("0220", PURCHASE): sandbox_triggers.CAPTURE_AMOUNTS,
}


def _alphabetic(number: str) -> str:
    return next(currency.code for currency in Currency if f"{currency.number:03}" == number)


def _place_of_original(question: Message) -> tuple[str, str]:
    """Return the STAN and the transmission time from field 90."""
    elements = question.fields[90]
    return elements[4:10], elements[10:20]
