"""What a checker of a batch should see beside its rows: who is paid for the first time, and what changed since last time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from django.db.models import Subquery

from payments.services.payouts.controls import payout_limits
from payout_batches.models import PayoutBatch, PayoutBatchItem

Account = tuple[str, str]  # its bank and number


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparison:
    """A batch beside the last one with its title that was sent. Amounts are minor units."""

    previous: PayoutBatch
    difference: int
    added: int  # accounts that the last one didn't pay
    removed: int
    number: int  # payouts of the last one
    changes: Mapping[Account, int]  # how much more each account of both is paid

    @property
    def changed(self) -> int:
        """Return how many accounts are paid another amount."""
        return sum(1 for change in self.changes.values() if change)

    @property
    def size(self) -> int:
        return abs(self.difference)


def new_accounts(batch: PayoutBatch, items: Iterable[PayoutBatchItem]) -> set[Account]:
    """Return the accounts of an unsent batch's items that the business has not paid before."""
    accounts = {_account(item) for item in items}
    before = payout_limits.counted(batch.business).filter(
        account_number__in={number for _, number in accounts}
    )
    return accounts - set(before.values_list("bank_code", "account_number"))


def compare(batch: PayoutBatch, items: Iterable[PayoutBatchItem]) -> Comparison | None:
    """Compare a batch's items with the last one with its title that was sent. None: there is no such batch, or it is a retry."""
    if batch.retry_of_id is not None:
        return None
    sent = PayoutBatch.objects.of(batch.business).filter(
        title=batch.title, currency=batch.currency, retry_of=None, started_at__isnull=False, pk__lt=batch.pk
    )
    last = sent.order_by("-id").values("pk")[:1]
    items_then = list(PayoutBatchItem.objects.kept().filter(batch=Subquery(last)).select_related("batch"))
    if not items_then:
        return None
    now, then = _sums(items), _sums(items_then)
    return Comparison(
        previous=items_then[0].batch,
        difference=sum(now.values()) - sum(then.values()),
        added=len(now.keys() - then.keys()),
        removed=len(then.keys() - now.keys()),
        number=len(items_then),
        changes={each: now[each] - then[each] for each in now.keys() & then.keys()},
    )


def _account(item: PayoutBatchItem) -> Account:
    return item.bank_code, item.account_number


def _sums(items: Iterable[PayoutBatchItem]) -> dict[Account, int]:
    sums: dict[Account, int] = {}
    for item in items:
        sums[_account(item)] = sums.get(_account(item), 0) + item.amount
    return sums
