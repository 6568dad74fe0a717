"""Resolve the subjects of events. `Delivery.subject` is the id of the outcome; its subject is what merchants look up."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from merchants.models import Business
from payments.models import CardOperation, PayoutReturn, Transaction, dispute_steps
from payments.services.refunds import refused_returns
from virtual_accounts.models import VirtualAccount
from webhooks.models import Category, Delivery, category_of

# Versions of UUIDs: of rows, and of the reopenings that are derived from them.
TIME_ORDERED, REOPENINGS = 7, 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The subject of an event. `reference` and `request_type` are None if it has none."""

    type: str  # transaction, refund, transfer, settlement, virtual_account, payout_batch, dispute or journal
    id: UUID
    reference: str | None = None
    request_type: str | None = None
    transaction_id: UUID | None = None  # the payment or payout, if any
    amount: int | None = None  # minor units; None if the event is about no money of its own
    currency: str = ""


def subjects_of(deliveries: Sequence[Delivery]) -> dict[UUID, Subject]:
    """Return the subject of each delivery by the delivery's id, in at most one query per kind of outcome."""
    found: dict[UUID, Subject] = {}
    for read in dict.fromkeys(_READERS.values()):
        outcomes = [one.subject for one in deliveries if one.subject and _reader(one) is read]
        if outcomes:
            found |= read(outcomes)
    return {one.pk: found[one.subject] for one in deliveries if one.subject in found}


def outcomes_with_reference(business: Business, reference: str) -> list[UUID]:
    """Return the outcomes of the payment, payout or refund with this reference. Uses indexes only."""
    transactions = list(
        Transaction.objects.of(business).filter(reference=reference).values_list("pk", flat=True)
    )
    refunds = CardOperation.objects.filter(business=business, reference=reference)
    returns = PayoutReturn.objects.filter(transaction__in=transactions)
    return [
        *transactions,
        *refunds.values_list("pk", flat=True),
        *(returns.values_list("pk", flat=True) if transactions else ()),
        *(_steps_of(transactions) if transactions else ()),
    ]


def outcomes_of_transaction(transaction_id: UUID) -> list[UUID]:
    """Return the outcomes with events about a transaction: itself, its refunds, returns and steps of its disputes."""
    of_transaction = {"transaction": transaction_id}
    refunds = CardOperation.objects.filter(**of_transaction, kind=CardOperation.Kind.REFUND)
    returns = PayoutReturn.objects.filter(**of_transaction)
    return [
        transaction_id,
        *refunds.values_list("pk", flat=True),
        *returns.values_list("pk", flat=True),
        *_steps_of([transaction_id]),
    ]


def _steps_of(transactions: list[UUID]) -> Iterable[UUID]:
    return dispute_steps().filter(dispute__transaction__in=transactions).values_list("pk", flat=True)


Reader = Callable[[Iterable[UUID]], dict[UUID, Subject]]


def _transactions(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    rows = Transaction.objects.filter(pk__in=outcomes).values_list(
        "pk", "reference", "request_type", "amount", "currency"
    )
    return {
        key: Subject(
            type="transaction",
            id=key,
            reference=reference,
            request_type=request_type,
            transaction_id=key,
            amount=amount,
            currency=currency,
        )
        for key, reference, request_type, amount, currency in rows
    }


def _refunds(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    rows = CardOperation.objects.filter(pk__in=outcomes).values_list(
        "pk", "reference", "transaction_id", "amount", "transaction__currency"
    )
    return {
        key: Subject(
            type="refund",
            id=key,
            reference=reference,
            transaction_id=transaction_id,
            amount=amount,
            currency=currency,
        )
        for key, reference, transaction_id, amount, currency in rows
    }


def _returned_payouts(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    rows = PayoutReturn.objects.filter(pk__in=outcomes).values_list(
        "pk", "transaction_id", "transaction__reference", "transaction__request_type"
    )
    return {
        key: Subject(
            type="transaction",
            id=payout,
            reference=reference,
            request_type=request_type,
            transaction_id=payout,
        )
        for key, payout, reference, request_type in rows
    }


def reopening_by(return_id: UUID) -> UUID:
    """Return the outcome that a returned payout opened unapplied money again. The return itself is another outcome.

    >>> str(reopening_by(UUID("019b3f00-0000-7000-8000-000000000001")))
    '019b3f00-0000-8000-8000-000000000001'
    """
    return _in_version(return_id, REOPENINGS)


def _in_version(key: UUID, version: int) -> UUID:
    digits = key.hex
    return UUID(f"{digits[:12]}{version}{digits[13:]}")


def _transfers(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    """Return the subjects of arrivals, whose outcome is the money, and of returns that came back."""
    keys = list(outcomes)
    returns = {_in_version(key, TIME_ORDERED): key for key in keys if key.version == REOPENINGS}
    found = {key: Subject(type="transfer", id=key) for key in keys if key.version != REOPENINGS}
    payouts = PayoutReturn.objects.filter(pk__in=returns).values_list("pk", "transaction__reference")
    for key, reference in payouts:
        money = refused_returns.money_of(reference)
        if money is not None:
            found[returns[key]] = Subject(type="transfer", id=money)
    return found


def _settlements(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    return {key: Subject(type="settlement", id=key) for key in outcomes}


def _accounts(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    rows = VirtualAccount.objects.filter(pk__in=outcomes).values_list("pk", "reference")
    return {key: Subject(type="virtual_account", id=key, reference=reference) for key, reference in rows}


def _payout_batches(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    return {key: Subject(type="payout_batch", id=key) for key in outcomes}


def _disputes(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    rows = dispute_steps().filter(pk__in=outcomes)
    named = rows.values_list("pk", "dispute_id", "dispute__transaction_id", "dispute__transaction__reference")
    return {
        key: Subject(type="dispute", id=dispute, reference=reference, transaction_id=payment)
        for key, dispute, payment, reference in named
    }


def _journals(outcomes: Iterable[UUID]) -> dict[UUID, Subject]:
    return {key: Subject(type="journal", id=key) for key in outcomes}


_READERS: dict[Category, Reader] = {
    Category.PAYMENT: _transactions,
    Category.PAYOUT: _transactions,
    Category.REFUND: _refunds,
    Category.REVERSAL: _returned_payouts,
    Category.UNAPPLIED: _transfers,
    Category.SETTLEMENT: _settlements,
    Category.ACCOUNT: _accounts,
    Category.PAYOUT_BATCH: _payout_batches,
    Category.DISPUTE: _disputes,
    Category.BALANCE: _journals,
}


def _reader(delivery: Delivery) -> Reader:
    return _READERS[category_of(delivery.event)]
