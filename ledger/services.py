"""Services of the ledger: book entries, read balances, top up wallets."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from uuid import UUID

from django.db import transaction

from ledger.account_ids import account_ids
from ledger.models import Account, Entry
from ledger.posting import Booking, Kind, Unbalanced, entry_if, lock_accounts
from merchants import audit
from merchants.audit import Actor
from merchants.models import Business

__all__ = [
    "Balance",
    "Booking",
    "InsufficientFunds",
    "Kind",
    "Unbalanced",
    "balances",
    "book",
    "book_all",
    "book_if_covered",
    "entry_if",
    "top_up",
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


def book(booking: Booking) -> bool:
    """Write an entry in the caller's transaction. Return False if the same cause was booked before."""
    return booking.write()


def book_all(entries: Sequence[Booking]) -> None:
    """Write several entries in the caller's transaction, which may not book anything else.

    All their accounts are locked first, in one order, so that two such transactions can't deadlock.
    """
    lock_accounts({account for booking in entries for account in booking.amounts})
    for booking in entries:
        booking.write()


def book_if_covered(booking: Booking) -> bool:
    """Book a payout if the wallet, less what the business owes, covers it. Call within a transaction.

    The pending account is also locked, so that a concurrent refund is either included or waits.

    :raises InsufficientFunds: the wallet doesn't cover it
    """
    ids = account_ids(booking.business_id, booking.currency)
    wallet, pending = ids[Kind.WALLET], ids[Kind.PENDING_SETTLEMENT]
    balances_now = lock_accounts({wallet, pending, *booking.amounts})
    held = covering(wallet=balances_now[wallet], pending=balances_now[pending])
    if held + booking.legs.get(Kind.WALLET, 0) < 0 and not _is_booked(booking):
        raise InsufficientFunds
    return replace(booking, is_covered=True).write()


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
