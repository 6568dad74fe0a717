"""Services of the ledger: book entries, read balances."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Sum

from ledger.booking.account_ids import account_ids
from ledger.booking.posting import LARGEST_ENTRY, Booking, Kind, Unbalanced, entry_if, lock_accounts
from ledger.models import Account, Entry, Posting
from merchants.models import Business

__all__ = [
    "LARGEST_ENTRY",
    "Balance",
    "Booking",
    "InsufficientFunds",
    "Kind",
    "Unbalanced",
    "accounts_of",
    "balances",
    "balances_of",
    "book",
    "book_all",
    "covering_now",
    "entry_if",
    "last_sequences",
    "lock_accounts",
    "lock_balances",
    "topped_up",
]


BALANCE_KINDS = (Kind.WALLET, Kind.PENDING_SETTLEMENT, Kind.DISPUTES_HELD, Kind.RESERVE)


class InsufficientFunds(Exception):
    """The wallet, less what the business owes, doesn't cover the booking. Nothing was booked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Balances of a business in one currency, in minor units."""

    currency: str
    available: int  # the wallet; negative if payouts need no cover
    pending: int  # earned but not released; negative if refunds exceed it
    disputed: int = 0  # held for open disputes
    reserved: int = 0  # held back from released settlements

    @property
    def available_for_payouts(self) -> int:
        """Amount available for payouts: the wallet less what the business owes for refunds. Never negative."""
        return max(0, covering(wallet=self.available, pending=self.pending))


def covering(*, wallet: int, pending: int) -> int:
    """Return the amount that covers payouts: the wallet less what the business owes for refunds.

    >>> covering(wallet=985_000, pending=40_000), covering(wallet=985_000, pending=-1_000_000)
    (985000, -15000)
    """
    return wallet + min(pending, 0)


def book(booking: Booking, *, reserved: Callable[[], int] = lambda: 0, debited_next: int = 0) -> bool:
    """Write an entry in the caller's transaction. Return False if the same cause was booked before.

    `reserved`: see `covering_now`. `debited_next`: minor units that the caller's next entry takes from the wallet, which
    must be covered with this one.

    :raises InsufficientFunds: it must be covered, and the wallet, less what the business owes, doesn't cover it
    """
    if booking.is_covered:
        held = covering_now(booking.business_id, booking.currency, reserved=reserved, also=booking.amounts)
        if held + booking.legs.get(Kind.WALLET, 0) < debited_next and not _is_booked(booking):
            raise InsufficientFunds
    return booking.write()


def book_all(entries: Sequence[Booking]) -> None:
    """Write several entries in the caller's transaction, which may not book anything else.

    All their accounts are locked first, in one order, so that two such transactions can't deadlock.
    """
    if len(entries) > 1:
        lock_accounts({account for booking in entries for account in booking.amounts})
    for booking in entries:
        book(booking)


def covering_now(
    business_id: UUID | None, currency: str, *, reserved: Callable[[], int], also: Iterable[int] = ()
) -> int:
    """Return the amount that covers payouts, in minor units, and hold it until the caller's transaction ends.

    Locks wallet and pending settlement, and `also` further accounts. A concurrent payout or refund is either included
    or waits. `reserved` is called under the locks, and returns what will be debited to pending settlement.
    """
    ids = account_ids(business_id, currency)
    wallet, pending = ids[Kind.WALLET], ids[Kind.PENDING_SETTLEMENT]
    balances_now = lock_accounts({wallet, pending, *also})
    return covering(wallet=balances_now[wallet], pending=balances_now[pending] - reserved())


def lock_balances(business_id: UUID, currency: str, *kinds: Kind) -> dict[Kind, int]:
    """Return balances of a business, locked until the caller's transaction ends."""
    ids = account_ids(business_id, currency)
    held = lock_accounts({ids[kind] for kind in kinds})
    return {kind: held[ids[kind]] for kind in kinds}


def last_sequences(business_id: UUID, currency: str) -> dict[str, int]:
    """Return the numbers of the last postings of wallet and pending settlement, by kind. The caller holds their locks."""
    kinds = [Kind.WALLET, Kind.PENDING_SETTLEMENT]
    held = Account.objects.filter(business=business_id, currency=currency, kind__in=kinds)
    return dict(held.values_list("kind", "sequence"))


def topped_up(business: Business, currency: str) -> int:
    """Return the sum of all top-ups of a wallet, in minor units."""
    top_ups = Posting.objects.filter(
        entry__kind=Entry.Kind.TOP_UP,
        entry__business=business,
        entry__currency=currency,
        account__kind=Kind.WALLET,
    )
    return top_ups.aggregate(sum=Sum("amount"))["sum"] or 0


def _is_booked(booking: Booking) -> bool:
    return Entry.objects.filter(kind=booking.kind, cause=booking.cause).exists()


def balances(business: Business) -> list[Balance]:
    """Return a business's balances in each of its currencies and in any other with money."""
    return balances_of(business, accounts_of(business, *BALANCE_KINDS))


def accounts_of(business: Business, *kinds: Kind) -> list[Account]:
    """Return accounts of a business in all currencies."""
    return list(Account.objects.filter(business=business, kind__in=kinds).order_by("currency", "pk"))


def balances_of(business: Business, accounts: Iterable[Account]) -> list[Balance]:
    """Return the balances that `balances` returns, from accounts that were read before."""
    found: dict[str, dict[str, int]] = {currency: {} for currency in business.currencies}
    for each in accounts:
        if each.kind in BALANCE_KINDS and (each.currency in found or each.balance):
            found.setdefault(each.currency, {})[each.kind] = each.balance
    return [
        Balance(
            currency=currency,
            available=held.get(Kind.WALLET, 0),
            pending=held.get(Kind.PENDING_SETTLEMENT, 0),
            disputed=held.get(Kind.DISPUTES_HELD, 0),
            reserved=held.get(Kind.RESERVE, 0),
        )
        for currency, held in found.items()
    ]
