"""What a batch amounts to now: its items by state, and its cost beside the balance."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

from django.db.models import Count, Sum

from ledger.services import balances
from merchants.models import Business
from payments.models import Transaction
from payments.rules.fees import Charge, FeeRule, Flow, charge
from payments.services import fee_rules
from payments.services.fee_rules import NoPrice
from payout_batches.models import PayoutBatch, PayoutBatchItem, PayoutBatchItemQuerySet
from payout_batches.representation import ShownBatch


def shown(
    batch: PayoutBatch, *, available: int | None = None, items: Sequence[PayoutBatchItem] | None = None
) -> ShownBatch:
    """Return a batch as its answers and pages show it. `items`: all of them, if they have been read."""
    totals = batch.items.totals() if items is None else _totals(items)
    if available is None:
        available = available_of(batch.business, batch.currency)
    return ShownBatch(
        batch=batch,
        counts={state: count for state, count, _ in totals},
        sums={state: amount for state, _, amount in totals},
        available=available,
        missing=max(0, unsent_cost(batch, items) - available),
    )


def _totals(items: Iterable[PayoutBatchItem]) -> list[tuple[str, int, int]]:
    amounts: dict[str, list[int]] = {}
    for item in items:
        amounts.setdefault(item.status, []).append(item.amount)
    return [(state, len(each), sum(each)) for state, each in amounts.items()]


def shown_all(batches: Iterable[PayoutBatch], business: Business) -> list[ShownBatch]:
    """Return batches of one business, reading its balances once."""
    available = {each.currency: each.available_for_payouts for each in balances(business)}
    return [shown(each, available=available.get(each.currency, 0)) for each in batches]


def sizes(batches: Iterable[PayoutBatch]) -> list[tuple[PayoutBatch, int, int]]:
    """Return batches with the number and sum of their payouts, as `ShownBatch` has them."""
    batches = list(batches)
    cancelled = PayoutBatchItem.objects.filter(batch__in=batches, state=PayoutBatchItem.State.CANCELLED)
    rows = cancelled.order_by().values_list("batch").annotate(Count("pk"), Sum("amount"))
    less = {batch: (number, amount) for batch, number, amount in rows}
    found = []
    for batch in batches:
        number, amount = less.get(batch.pk, (0, 0))
        if number == batch.item_count:  # cancelled as a whole
            number = amount = 0
        found.append((batch, batch.item_count - number, batch.amount - amount))
    return found


def available_of(business: Business, currency: str) -> int:
    """Return what a business has for payouts in a currency, in minor units."""
    held = (each for each in balances(business) if each.currency == currency)
    return next((each.available_for_payouts for each in held), 0)


def unsent_cost(batch: PayoutBatch, items: Iterable[PayoutBatchItem] | None = None) -> int:
    """Return the amounts of the items that can still be sent, with their fees and taxes.

    Without a price there are none: each item fails when it is sent.
    """
    rows = batch.items.unsent().only("amount", "purpose", "state") if items is None else items
    unsent = [(item.amount, item.purpose) for item in rows if item.state not in PayoutBatchItem.ENDED]
    cost = sum(amount for amount, _ in unsent)
    with suppress(NoPrice):
        cost += charge_of(batch.business, batch.currency, unsent).total
    return cost


def charge_of(business: Business, currency: str, items: Iterable[tuple[int, str]]) -> Charge:
    """Return what payouts of these amounts and purposes cost together.

    :raises NoPrice: payouts aren't offered in the currency
    """
    rules = {
        purpose: FeeRule.from_snapshot(fee_rules.snapshot(business, Flow.PAYOUT, currency, purpose=purpose))
        for purpose in ("", *Transaction.Purpose.values)
    }
    return _sum(charge(rules[purpose], amount) for amount, purpose in items)


def charge_of_sent(items: PayoutBatchItemQuerySet) -> Charge:
    """Return what payouts that were sent cost together, at the terms of then."""
    sent = items.values_list("payout__fee_rule", "amount")
    return _sum(charge(FeeRule.from_snapshot(rule), amount) for rule, amount in sent.iterator())


def _sum(each_charge: Iterable[Charge]) -> Charge:
    charges = list(each_charge)
    return Charge(
        sum(each.fee for each in charges),
        sum(each.tax for each in charges),
        sum(each.stamp_duty for each in charges),
    )
