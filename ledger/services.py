"""Services of the ledger: book entries, read balances, top up wallets."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction
from django.db.models import Sum

from ledger.account_ids import account_ids
from ledger.models import Account, Entry, Posting
from ledger.posting import LARGEST_ENTRY, Booking, Kind, Unbalanced, entry_if, lock_accounts
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor

__all__ = [
    "LARGEST_ENTRY",
    "Balance",
    "Booking",
    "InsufficientFunds",
    "Kind",
    "Unbalanced",
    "balances",
    "book",
    "book_all",
    "covering_now",
    "entry_if",
    "last_sequences",
    "lock_for_top_up",
    "top_up",
    "topped_up",
]


class InsufficientFunds(Exception):
    """The wallet, less what the business owes, doesn't cover the booking. Nothing was booked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Balance:
    """Balances of a business in one currency, in minor units."""

    currency: str
    available: int  # the wallet; negative if payouts need no cover
    pending: int  # earned but not released; negative if refunds exceed it

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


def book(booking: Booking, *, reserved: Callable[[], int] = lambda: 0) -> bool:
    """Write an entry in the caller's transaction. Return False if the same cause was booked before.

    `reserved`: see `covering_now`.

    :raises InsufficientFunds: it must be covered, and the wallet, less what the business owes, doesn't cover it
    """
    if booking.is_covered:
        held = covering_now(booking.business_id, booking.currency, reserved=reserved, also=booking.amounts)
        if held + booking.legs.get(Kind.WALLET, 0) < 0 and not _is_booked(booking):
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


def last_sequences(business_id: UUID, currency: str) -> dict[str, int]:
    """Return the numbers of the last postings of wallet and pending settlement, by kind. The caller holds their locks."""
    kinds = [Kind.WALLET, Kind.PENDING_SETTLEMENT]
    held = Account.objects.filter(business=business_id, currency=currency, kind__in=kinds)
    return dict(held.values_list("kind", "sequence"))


@transaction.atomic
def top_up(
    *, business: Business, currency: str, amount: int, reason: str, cause: UUID, actor: Actor, now: datetime
) -> bool:
    """Add money to a wallet; return False if this was done before.

    `cause` identifies the submitted form, so that submitting it twice adds the money once.
    """
    booking = Booking(
        kind=Entry.Kind.TOP_UP,
        cause=cause,
        business_id=business.pk,
        currency=currency,
        legs={Kind.BANK_CLEARING: -amount, Kind.WALLET: amount},
        at=now,
        note=reason,
    )
    if not booking.write():
        return False
    audit.record(
        action="wallet.topped_up",
        actor=actor,
        business=business,
        target=str(cause),
        after={"currency": currency, "amount": amount, "reason": reason},
        now=now,
    )
    return True


def topped_up(business: Business, currency: str) -> int:
    """Return the sum of all top-ups of a wallet, in minor units."""
    top_ups = Posting.objects.filter(
        entry__kind=Entry.Kind.TOP_UP,
        entry__business=business,
        entry__currency=currency,
        account__kind=Kind.WALLET,
    )
    return top_ups.aggregate(sum=Sum("amount"))["sum"] or 0


def lock_for_top_up(business: Business, currency: str) -> None:
    """Lock the accounts that a top-up moves until the caller's transaction ends."""
    ids = account_ids(business.pk, currency)
    lock_accounts({ids[Kind.BANK_CLEARING], ids[Kind.WALLET]})


def _is_booked(booking: Booking) -> bool:
    return Entry.objects.filter(kind=booking.kind, cause=booking.cause).exists()


def balances(business: Business) -> list[Balance]:
    """Return a business's balances in each of its currencies and in any other with money."""
    found: dict[str, dict[str, int]] = {currency: {} for currency in business.currencies}
    shown = Account.objects.filter(business=business, kind__in=[Kind.WALLET, Kind.PENDING_SETTLEMENT])
    for currency, kind, balance in shown.values_list("currency", "kind", "balance"):
        if currency in found or balance:
            found.setdefault(currency, {})[kind] = balance
    return [
        Balance(
            currency=currency,
            available=held.get(Kind.WALLET, 0),
            pending=held.get(Kind.PENDING_SETTLEMENT, 0),
        )
        for currency, held in found.items()
    ]
