"""The suspense account of the house: money that arrived and whose owner is unknown.

An unclaimed transfer or an unmatched payout return is booked to it with the row, and leaves it with the decision.
"""

from datetime import datetime

from ledger import services as ledger
from ledger.services import Booking
from payments.models import PayoutReturn
from payments.services import ledger_entries
from virtual_accounts.models import UnclaimedTransfer


def book_arrival(money: UnclaimedTransfer | PayoutReturn, *, now: datetime) -> None:
    """Book money that has just been stored, in the same transaction. Amounts beyond the ledger's limit stay rows."""
    if money.is_bookable:
        ledger.book(ledger_entries.suspense_in(money, now=now))


def leaving(money: UnclaimedTransfer | PayoutReturn, *, reason: str, now: datetime) -> list[Booking]:
    """Return the entries that take money out of suspense.

    The first is its arrival, which is only written if a host of the earlier release stored the row.
    """
    return _out(money, ledger_entries.suspense_out(money, now=now, reason=reason), now=now)


def written_off(money: UnclaimedTransfer | PayoutReturn, *, reason: str, now: datetime) -> list[Booking]:
    """Return the entries that take money out of suspense without an owner, as `leaving` does."""
    return _out(money, ledger_entries.suspense_written_off(money, now=now, reason=reason), now=now)


def _out(money: UnclaimedTransfer | PayoutReturn, entry: Booking, *, now: datetime) -> list[Booking]:
    return [ledger_entries.suspense_in(money, now=now), entry] if money.is_bookable else []
