"""The checkouts of a payment link, with their payers' answers: on its page and in exports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from dashboard.ui.lists import exports
from kit.files.tables import Column, Table, attributes
from kit.money.money import decimal_amount
from payments.models import Checkout, PaymentLink, Transaction
from payments.representation.links import CheckoutWithAttempts
from payments.services.checkouts import checkouts

STATUSES = {
    Checkout.State.OPEN: "open",
    Checkout.State.PAYING: "pending",
    Checkout.State.PAID: "success",
    Checkout.State.CLOSED: "closed",
}  # what they look like


@dataclass(frozen=True, slots=True)
class Answer:
    label: str
    text: str

    def __str__(self) -> str:
        """Return question and answer.

        >>> str(Answer("T-shirt size", "M")), str(Answer("What can't you eat?", "Nuts"))
        ('T-shirt size: M', "What can't you eat? Nuts")
        """
        return f"{self.label}{'' if self.label.endswith(('?', ':')) else ':'} {self.text}"


@dataclass(frozen=True, slots=True)
class CheckoutRow:
    """A checkout with what its attempts say, and its answers in the order of the questions."""

    shown: CheckoutWithAttempts
    answers: Sequence[Answer]
    payment: Transaction | None = None  # the attempt that paid, else the last one, where it is shown

    @property
    def checkout(self) -> Checkout:
        return self.shown.checkout

    @property
    def nameless(self) -> str:
        """Return what stands in for the name and email of a payer who gave neither, or whose data was erased."""
        return "Details erased" if self.checkout.is_erased else "Not given"

    @property
    def lines(self) -> Iterator[str]:
        """Yield what else the payer entered: email, phone and answers."""
        if self.checkout.name and self.checkout.email:
            yield self.checkout.email
        if self.checkout.phone:
            yield self.checkout.phone
        for answer in self.answers:
            yield str(answer)

    @property
    def status(self) -> str:
        return STATUSES[self.shown.state]

    @property
    def status_name(self) -> str:
        return str(self.shown.state.label)


def payers_of(made: Iterable[Checkout], *, link: PaymentLink, now: datetime) -> list[CheckoutRow]:
    """Return checkouts with the attempt that paid, or the last one, in two queries."""
    rows = rows_of(made, link=link, now=now)
    attempts = Transaction.objects.select_related("session__account").in_bulk(
        [row.shown.payment_id for row in rows if row.shown.payment_id]
    )
    return [
        replace(row, payment=attempts[row.shown.payment_id] if row.shown.payment_id else None) for row in rows
    ]


def rows_of(made: Iterable[Checkout], *, link: PaymentLink, now: datetime) -> list[CheckoutRow]:
    """Return checkouts with their attempts, in one query."""
    found = checkouts.shown_with_attempts(made, now=now)
    return [CheckoutRow(each, list(_answers(each.checkout, link))) for each in found]


def _answers(checkout: Checkout, link: PaymentLink) -> Iterator[Answer]:
    """Yield the answers. Those to questions that the link no longer asks come last, under their keys."""
    labels = {question["key"]: question["label"] for question in link.custom_fields}
    for key in [*labels, *(key for key in checkout.answers if key not in labels)]:
        if checkout.answers.get(key):
            yield Answer(labels.get(key, key), str(checkout.answers[key]))


def table_of(link: PaymentLink, *, now: datetime) -> Table[CheckoutWithAttempts]:
    """Return all checkouts of a link, newest first, read in chunks.

    Each question of the link has a column. Answers to questions that it no longer asks are in the last one.
    """
    labels = {str(question["key"]): str(question["label"]) for question in link.custom_fields}
    answers = (Column(f"answer_{key}", partial(_answer, key=key), label) for key, label in labels.items())
    columns = [*COLUMNS, *answers, Column("other_answers", partial(_other_answers, keys=[*labels]))]
    return Table(columns=columns, rows=_all_rows(link, now=now))


def _all_rows(link: PaymentLink, *, now: datetime) -> Iterator[CheckoutWithAttempts]:
    rows = exports.rows_of([Checkout.objects.filter(link=link).defer(*UNUSED)])
    for chunk in exports.in_chunks(rows):
        yield from checkouts.shown_with_attempts(chunk, now=now)


def _answer(row: CheckoutWithAttempts, *, key: str) -> str:
    return str(row.checkout.answers.get(key, ""))


def _other_answers(row: CheckoutWithAttempts, *, keys: Sequence[str]) -> str:
    others = {key: text for key, text in row.checkout.answers.items() if key not in keys}
    return "; ".join(f"{key}: {text}" for key, text in others.items())


UNUSED = ("token", "address", "network")  # the payer's credential and address stay out of files
COLUMNS: list[Column[CheckoutWithAttempts]] = [
    Column("id", lambda row: row.checkout.pk),
    Column("status", lambda row: str(row.state)),
    Column("amount", lambda row: decimal_amount(row.checkout.amount, row.checkout.currency)),
    Column("currency", lambda row: row.checkout.currency),
    Column("quantity", lambda row: row.checkout.quantity),
    Column("name", lambda row: row.checkout.name),
    Column("email", lambda row: row.checkout.email),
    Column("phone", lambda row: row.checkout.phone),
    *attributes("attempts", "payment_reference"),
    Column("created_at", lambda row: row.checkout.created_at),
]
