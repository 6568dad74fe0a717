"""The reserve of a business: held back when a batch is released, returned when its days are over, or collected for a debt.

Every change holds the locks of the wallet, the pending and the reserve account, and of the house's, and reads after that.
"""

from collections.abc import Iterable, Iterator
from datetime import datetime
from functools import partial
from itertools import chain
from uuid import UUID

from django.db import transaction as database
from django.db.models import F, Sum

from kit.db.one_by_one import one_by_one
from kit.money.money import money
from kit.time.time_ordered_ids import new_id
from ledger import services as ledger
from ledger.booking.account_ids import account_ids, named_account_id
from ledger.models import Account
from ledger.services import Booking, Kind
from payments.models import InvalidState, ReserveHold, ReserveHoldQuerySet, ReserveReturn, SettlementBatch
from payments.services import ledger_entries
from payments.services.settlement import risk_terms

Reason = ReserveReturn.Reason
OWN = (Kind.WALLET, Kind.PENDING_SETTLEMENT, Kind.RESERVE)
MIRRORS = (Kind.RESERVES, Kind.RESERVES_CONTRA)  # of the house


def hold(batch: SettlementBatch, *, now: datetime) -> list[Booking]:
    """Store what is held back of a batch that is being released. Returns the entries to book after its own."""
    terms = risk_terms.current(batch.business_id, batch.currency)
    if terms is None or not batch.net:
        return []
    _lock(batch.business_id, batch.currency)
    share, missing = (
        terms.share_of(batch.net),
        terms.reserve_fixed - _fixed_held(batch.business_id, batch.currency),
    )
    parts = [
        (share, terms.returns_at(now)),
        (min(max(missing, 0), batch.net - share), None),
    ]
    holds = [_hold(batch, amount, returns_at, now=now) for amount, returns_at in parts if amount]
    batch.reserved = sum(each.amount for each in holds)
    batch.save(update_fields=["reserved"])
    return [booking for each in holds for booking in ledger_entries.reserve_held(each, now=now)]


def _hold(batch: SettlementBatch, amount: int, returns_at: datetime | None, *, now: datetime) -> ReserveHold:
    return ReserveHold.objects.create(
        id=new_id(now),
        business_id=batch.business_id,
        currency=batch.currency,
        batch=batch,
        amount=amount,
        left=amount,
        returns_at=returns_at,
        created_at=now,
    )


def return_due(*, now: datetime) -> int:
    """Return every hold whose days are over, unless its business owes. Returns the number of returns."""
    returned = one_by_one(
        partial(_return_due_of, now=now), sorted(due(now=now)), failure="reserve not returned"
    )
    return sum(filter(None, returned))


def due(*, now: datetime) -> set[tuple[UUID, str]]:
    """Return the businesses and currencies that have something to return, whether or not they owe."""
    columns = ("business_id", "currency")
    dated = ReserveHold.objects.due(at=now).values_list(*columns)
    fixed = ReserveHold.objects.open().filter(returns_at=None).values_list(*columns).distinct()
    return {*dated, *(each for each in fixed if _surplus(*each) > 0)}


@database.atomic
def _return_due_of(owner: tuple[UUID, str], *, now: datetime) -> int:
    """Return a business's holds that are due in a currency, unless it owes. Returns the number of returns."""
    business_id, currency = owner
    if owed(_lock(business_id, currency)):
        return 0
    of_business = _open(business_id, currency)
    dated = of_business.filter(returns_at__lte=now).order_by("pk")
    fixed = of_business.filter(returns_at=None).order_by("pk")
    surplus = _up_to(_surplus(business_id, currency), fixed)
    return _return(chain(_all_of(dated), surplus), Reason.DUE, now=now)


def return_now(batch: SettlementBatch, *, now: datetime) -> int:
    """Return what is held of a batch by its rate, unless the business owes. The caller has opened a transaction."""
    if owed(_lock(batch.business_id, batch.currency)):
        return 0
    dated = ReserveHold.objects.open().filter(batch=batch, returns_at__isnull=False)
    return _return(_all_of(dated), Reason.DUE, now=now)


def collect(business_id: UUID, currency: str, amount: int, *, note: str, now: datetime) -> None:
    """Set an amount of the reserve off against what a business owes: first what would be returned first.

    The caller has opened a transaction.

    :raises InvalidState: the business owes less, or less is in reserve
    """
    balances = _lock(business_id, currency)
    owes, held = owed(balances), balances[Kind.RESERVE]
    if amount > min(owes, held):
        raise InvalidState(
            f"The business owes {money(owes, currency)} now, and {money(held, currency)} is in its reserve."
        )
    holds = _open(business_id, currency).order_by(F("returns_at").asc(nulls_last=True), "pk")
    _return(_up_to(amount, holds), Reason.COLLECTED, now=now, note=note)


def owed_and_held(business_id: UUID, currency: str) -> tuple[int, int]:
    """Return what a business owes and what is in its reserve now, without locks."""
    held = Account.objects.filter(business=business_id, currency=currency, kind__in=OWN)
    balances = dict.fromkeys(OWN, 0) | {
        Kind(kind): each for kind, each in held.values_list("kind", "balance")
    }
    return owed(balances), balances[Kind.RESERVE]


def owed(balances: dict[Kind, int]) -> int:
    """Return what a business owes: the amount by which wallet and pending together are below 0."""
    return max(0, -(balances[Kind.WALLET] + balances[Kind.PENDING_SETTLEMENT]))


def _lock(business_id: UUID, currency: str) -> dict[Kind, int]:
    """Lock what a change of the reserve depends on and posts to; return the balances of the business's accounts."""
    ids = account_ids(business_id, currency)
    mirrors = {named_account_id(currency, kind, "") for kind in MIRRORS}
    held = ledger.lock_accounts({*(ids[kind] for kind in OWN), *mirrors})
    return {kind: held[ids[kind]] for kind in OWN}


def _open(business_id: UUID, currency: str) -> ReserveHoldQuerySet:
    return ReserveHold.objects.open().filter(business=business_id, currency=currency)


def _fixed_held(business_id: UUID, currency: str) -> int:
    fixed = _open(business_id, currency).filter(returns_at=None)
    return fixed.aggregate(sum=Sum("left"))["sum"] or 0


def _surplus(business_id: UUID, currency: str) -> int:
    """Return by how much the fixed part exceeds what is agreed."""
    return _fixed_held(business_id, currency) - risk_terms.fixed_of(business_id, currency)


def _all_of(holds: Iterable[ReserveHold]) -> Iterator[tuple[ReserveHold, int]]:
    for each in holds:
        yield each, each.left


def _up_to(amount: int, holds: Iterable[ReserveHold]) -> Iterator[tuple[ReserveHold, int]]:
    """Yield holds with what is taken of each, until they make up an amount."""
    for each in holds:
        if amount <= 0:
            return
        taken = min(each.left, amount)
        amount -= taken
        yield each, taken


def _return(
    parts: Iterable[tuple[ReserveHold, int]], reason: Reason, *, now: datetime, note: str = ""
) -> int:
    """Return amounts of holds to the wallet. The caller has locked the accounts."""
    bookings = []
    for held, amount in parts:
        held.left -= amount
        held.save(update_fields=["left"])
        returned = ReserveReturn.objects.create(
            id=new_id(now), hold=held, amount=amount, reason=reason, at=now
        )
        bookings += ledger_entries.reserve_returned(returned, now=now, reason=note)
    ledger.book_all(bookings)
    return len(bookings) // 2  # each has its mirror
