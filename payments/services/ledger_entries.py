"""Ledger entries of each money event: the accounts credited and debited.

A refund is debited to pending settlement, even if its payment has been released. The balance may become negative and
is netted in the next batch. A payout's fee is debited with its amount when it is accepted, credited with it when it
fails, and earned when it is sent. Its tax is debited by an entry of its own, which is a line of the wallet's statement.
A return after success credits only the amount, because the transfer was made.
"""

from collections.abc import Mapping
from datetime import datetime
from types import MappingProxyType
from uuid import UUID

from ledger.models import Entry
from ledger.services import Booking, Kind
from payments.models import (
    CardOperation,
    PayoutReturn,
    ReserveHold,
    ReserveReturn,
    SettlementBatch,
    Transaction,
    WatchedAuthorisation,
)
from payments.rules.fees import Charge
from virtual_accounts.models import Transfer, UnclaimedTransfer


def card_captured(transaction: Transaction, *, now: datetime) -> Booking:
    return _of(
        transaction,
        Entry.Kind.CARD,
        {
            Kind.ACQUIRER_RECEIVABLE: -transaction.amount_captured,
            Kind.PENDING_SETTLEMENT: transaction.amount_captured - transaction.charge.total,
            Kind.FEES: transaction.fee,
            Kind.TAXES_PAYABLE: transaction.fee_tax,
        },
        now=now,
    )


def refunded(refund: CardOperation, *, now: datetime) -> Booking:
    """A successful refund, payable to the acquirer or sent by the bank."""
    paid_by = Kind.BANK_CLEARING if refund.is_transfer_refund else Kind.REFUNDS_PAYABLE
    return Booking(
        kind=Entry.Kind.REFUND,
        cause=refund.pk,
        business_id=refund.business_id,
        currency=refund.transaction.currency,
        legs={Kind.PENDING_SETTLEMENT: -refund.amount, paid_by: refund.amount},
        at=now,
    )


def transfer_received(transaction: Transaction, *, now: datetime) -> Booking:
    """A bank transfer of the exact amount of a virtual account payment."""
    return _of(
        transaction,
        Entry.Kind.VIRTUAL_ACCOUNT,
        {
            Kind.BANK_CLEARING: -transaction.amount,
            Kind.PENDING_SETTLEMENT: transaction.amount - transaction.charge.total,
            Kind.FEES: transaction.fee,
            Kind.TAXES_PAYABLE: transaction.fee_tax,
        },
        now=now,
    )


def payout_accepted(transaction: Transaction, *, fee: int, is_covered: bool, now: datetime) -> Booking:
    """An accepted payout. `is_covered`: the wallet, less what the business owes, must cover it."""
    return _taken(
        transaction, Entry.Kind.PAYOUT_ACCEPTED, transaction.amount + fee, is_covered=is_covered, now=now
    )


def payout_taxed(transaction: Transaction, *, taxes: int, is_covered: bool, now: datetime) -> Booking:
    """The taxes of an accepted payout, covered like the payout."""
    return _taken(transaction, Entry.Kind.TAX, taxes, is_covered=is_covered, now=now)


def _taken(
    transaction: Transaction, kind: Entry.Kind, amount: int, *, is_covered: bool, now: datetime
) -> Booking:
    legs = {Kind.WALLET: -amount, Kind.PAYOUTS_IN_FLIGHT: amount}
    return _of(transaction, kind, legs, is_covered=is_covered, now=now)


def payout_sent(transaction: Transaction, *, now: datetime) -> Booking:
    return _of(
        transaction,
        Entry.Kind.PAYOUT_SENT,
        {
            Kind.PAYOUTS_IN_FLIGHT: -(transaction.amount + transaction.charge.total),
            Kind.BANK_CLEARING: transaction.amount,
            Kind.FEES: transaction.fee,
            Kind.TAXES_PAYABLE: transaction.charge.taxes,
        },
        now=now,
    )


def payout_failed(transaction: Transaction, *, charge: Charge, to: Kind, now: datetime) -> Booking:
    """A failed payout, back to the wallet with its fee and tax. The return of unapplied money goes back to `UNAPPLIED`."""
    taken = transaction.amount + charge.total
    return _of(
        transaction,
        Entry.Kind.PAYOUT_FAILED,
        {Kind.PAYOUTS_IN_FLIGHT: -taken, to: taken},
        now=now,
    )


def payout_reversed(
    transaction: Transaction, payout_return: PayoutReturn, *, to: Kind, now: datetime
) -> Booking:
    """A returned payout, back to the wallet. The return of unapplied money goes back to `UNAPPLIED`."""
    return Booking(
        kind=Entry.Kind.PAYOUT_REVERSED,
        cause=payout_return.pk,
        business_id=transaction.business_id,
        currency=payout_return.currency,
        legs={Kind.BANK_CLEARING: -payout_return.amount, to: payout_return.amount},
        at=now,
        note=payout_return.reason,
    )


def suspense_in(money: UnclaimedTransfer | PayoutReturn, *, now: datetime) -> Booking:
    """Money that arrived and whose owner is unknown."""
    return _of_house(Entry.Kind.SUSPENSE_IN, money, {Kind.BANK_CLEARING: -1, Kind.SUSPENSE: 1}, now=now)


def suspense_out(money: UnclaimedTransfer | PayoutReturn, *, now: datetime, reason: str) -> Booking:
    """Money that leaves suspense. An entry of its owner, if it has one now, debits the bank again."""
    legs = {Kind.SUSPENSE: -1, Kind.BANK_CLEARING: 1}
    return _of_house(Entry.Kind.SUSPENSE_OUT, money, legs, now=now, note=reason)


def suspense_written_off(money: UnclaimedTransfer | PayoutReturn, *, now: datetime, reason: str) -> Booking:
    """Money that leaves suspense without an owner. A statement has it, or a break says that none does."""
    given_up = {(Kind.WRITE_OFFS, ""): money.amount}
    return _of_house(
        Entry.Kind.SUSPENSE_OUT, money, {Kind.SUSPENSE: -1}, named=given_up, now=now, note=reason
    )


def late_charge_found(watch: WatchedAuthorisation, *, now: datetime) -> Booking:
    """A charge of a failed payment. The acquirer owes it to us, and we to the payer."""
    legs = {Kind.ACQUIRER_RECEIVABLE: -1, Kind.LATE_CHARGES: 1}
    return _late_charge(Entry.Kind.LATE_CHARGE_IN, watch, legs, now=now)


def late_charge_returned(watch: WatchedAuthorisation, *, now: datetime) -> Booking:
    """A charge of a failed payment that the acquirer has voided or refunded."""
    legs = {Kind.LATE_CHARGES: -1, Kind.ACQUIRER_RECEIVABLE: 1}
    return _late_charge(Entry.Kind.LATE_CHARGE_OUT, watch, legs, now=now)


def settlement_released(batch: SettlementBatch, *, now: datetime) -> Booking:
    return Booking(
        kind=Entry.Kind.SETTLEMENT_RELEASED,
        cause=batch.pk,
        business_id=batch.business_id,
        currency=batch.currency,
        legs={Kind.PENDING_SETTLEMENT: -batch.net, Kind.WALLET: batch.net},
        at=now,
    )


def reserve_held(hold: ReserveHold, *, now: datetime) -> list[Booking]:
    """A part of a released net, held back from the wallet."""
    legs = {Kind.WALLET: -hold.amount, Kind.RESERVE: hold.amount}
    held = _of_reserve(Entry.Kind.RESERVE_HELD, hold, hold.pk, legs, now=now)
    return [held, _reserves_mirrored(held)]


def reserve_returned(returned: ReserveReturn, *, now: datetime, reason: str = "") -> list[Booking]:
    """What was held back, or a part of it, back in the wallet."""
    legs = {Kind.RESERVE: -returned.amount, Kind.WALLET: returned.amount}
    back = _of_reserve(Entry.Kind.RESERVE_RETURNED, returned.hold, returned.pk, legs, now=now, note=reason)
    return [back, _reserves_mirrored(back)]


def unapplied_in(transfer: Transfer, *, now: datetime) -> Booking:
    """A bank transfer that matches no payment, held for the business."""
    return Booking(
        kind=Entry.Kind.UNAPPLIED_IN,
        cause=transfer.pk,
        business_id=transfer.account.business_id,
        currency=transfer.currency,
        legs={Kind.BANK_CLEARING: -transfer.amount, Kind.UNAPPLIED: transfer.amount},
        at=now,
    )


def unapplied_out(
    *, cause: UUID, business_id: UUID, currency: str, amount: int, to: Kind, now: datetime, reason: str
) -> Booking:
    """Unapplied money that is returned or credited to the business (to `WALLET`).

    The cause is what it was booked by: the transfer, or the payout that was its last return and came back.
    """
    return Booking(
        kind=Entry.Kind.UNAPPLIED_OUT,
        cause=cause,
        business_id=business_id,
        currency=currency,
        legs={Kind.UNAPPLIED: -amount, to: amount},
        at=now,
        note=reason,
    )


def _of_reserve(
    kind: Entry.Kind, hold: ReserveHold, cause: UUID, legs: dict[Kind, int], *, now: datetime, note: str = ""
) -> Booking:
    return Booking(
        kind=kind,
        cause=cause,
        business_id=hold.business_id,
        currency=hold.currency,
        legs=legs,
        at=now,
        note=note,
    )


def _reserves_mirrored(moved: Booking) -> Booking:
    """What an entry changes of all reserves, in the house accounts."""
    amount = moved.legs[Kind.RESERVE]
    return Booking(
        kind=Entry.Kind.RESERVES_MIRRORED,
        cause=moved.cause,
        business_id=None,
        currency=moved.currency,
        legs={},
        named_legs={(Kind.RESERVES, ""): amount, (Kind.RESERVES_CONTRA, ""): -amount},
        at=moved.at,
    )


def _late_charge(
    kind: Entry.Kind, watch: WatchedAuthorisation, signs: dict[Kind, int], *, now: datetime
) -> Booking:
    return Booking(
        kind=kind,
        cause=watch.pk,
        business_id=None,
        currency=watch.transaction.currency,
        legs={account: sign * (watch.amount or 0) for account, sign in signs.items()},
        at=now,
    )


def _of_house(
    kind: Entry.Kind,
    money: UnclaimedTransfer | PayoutReturn,
    signs: dict[Kind, int],
    *,
    named: Mapping[tuple[Kind, str], int] = MappingProxyType({}),
    now: datetime,
    note: str = "",
) -> Booking:
    return Booking(
        kind=kind,
        cause=money.pk,
        business_id=None,
        currency=money.currency,
        legs={account: sign * money.amount for account, sign in signs.items()},
        named_legs=named,
        at=now,
        note=note,
    )


def _of(
    transaction: Transaction,
    kind: Entry.Kind,
    legs: dict[Kind, int],
    *,
    now: datetime,
    is_covered: bool = False,
) -> Booking:
    return Booking(
        kind=kind,
        cause=transaction.pk,
        business_id=transaction.business_id,
        currency=transaction.currency,
        legs=legs,
        at=now,
        is_covered=is_covered,
    )
