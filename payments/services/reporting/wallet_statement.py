"""The wallet statement: movements of a wallet, or of another account of the business, with their causes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from uuid import UUID

from ledger.models import Entry, Posting
from payments.models import (
    CardOperation,
    PayoutReturn,
    ReserveHold,
    ReserveReturn,
    SettlementBatch,
    Transaction,
)
from payments.services.refunds import refused_returns
from virtual_accounts.models import UnappliedMoney

Kind = Entry.Kind


@dataclass(frozen=True, slots=True)
class Cause:
    """The cause of a movement: the reference that merchants look it up by, its id, and whom or what it is about."""

    reference: str
    id: UUID
    about: str = ""  # the beneficiary of a payout, the sender of a transfer, the day of a settlement


@dataclass(frozen=True, slots=True)
class Movement:
    """A posting of a wallet with its cause."""

    posting: Posting
    cause: Cause

    @property
    def reason(self) -> str:
        """Return why staff booked it, in plain words; empty for other movements."""
        entry = self.posting.entry
        return entry.note if entry.kind == Kind.JOURNAL else ""

    @property
    def id(self) -> str:
        """Return the currency and the position in the statement: stable, and unique within the business."""
        return f"{self.posting.account.currency}-{self.posting.sequence}"


def movements(postings: Sequence[Posting]) -> list[Movement]:
    """Return postings of wallets with their causes, with one query for each kind of cause."""
    causes: dict[tuple[str, UUID], Cause] = {}
    for kinds, look_up in _LOOKUPS:
        wanted = {posting.entry.cause for posting in postings if posting.entry.kind in kinds}
        if wanted:
            found = look_up(wanted)
            causes |= {(kind, each): cause for kind in kinds for each, cause in found.items()}
    return [
        Movement(
            posting,
            causes.get((posting.entry.kind, posting.entry.cause))
            or Cause(str(posting.entry.cause), posting.entry.cause),
        )
        for posting in postings
    ]


def _transactions(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = Transaction.objects.filter(pk__in=ids)
    found = rows.values_list("pk", "reference", "customer_name", "customer_email")
    return {pk: Cause(reference, pk, name or email) for pk, reference, name, email in found}


def _refunds(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = CardOperation.objects.filter(pk__in=ids)
    found = rows.values_list("pk", "reference", "transaction__customer_name", "transaction__customer_email")
    return {pk: Cause(reference or str(pk), pk, name or email) for pk, reference, name, email in found}


def _returned_payouts(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = PayoutReturn.objects.filter(pk__in=ids)
    found = rows.values_list("pk", "transaction__reference", "transaction_id", "transaction__customer_name")
    return {pk: Cause(reference, payout, name) for pk, reference, payout, name in found}


def _settlements(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = SettlementBatch.objects.filter(pk__in=ids).values_list("pk", "day")
    return {pk: _of_batch(pk, day) for pk, day in rows}


def _holds(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = ReserveHold.objects.filter(pk__in=ids).values_list("pk", "batch_id", "batch__day")
    return {pk: _of_batch(batch, day) for pk, batch, day in rows}


def _returned_holds(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = ReserveReturn.objects.filter(pk__in=ids).values_list("pk", "hold__batch_id", "hold__batch__day")
    return {pk: _of_batch(batch, day) for pk, batch, day in rows}


def _of_batch(batch: UUID, day: date) -> Cause:
    return Cause(str(batch), batch, f"{day:%-d %b %Y}")


def _unapplied_transfers(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = UnappliedMoney.objects.filter(transfer__in=ids).values_list(
        "transfer_id", "pk", "transfer__sender_name"
    )
    return {transfer: Cause(str(pk), pk, name) for transfer, pk, name in rows} | _after_refused_returns(ids)


def _after_refused_returns(payouts: Iterable[UUID]) -> dict[UUID, Cause]:
    """Return the unapplied transfers that were decided about after these payouts were refused."""
    references = Transaction.objects.filter(pk__in=payouts).values_list("pk", "reference")
    of_payouts = {
        payout: money for payout, reference in references if (money := refused_returns.money_of(reference))
    }
    found = UnappliedMoney.objects.select_related("transfer").in_bulk(of_payouts.values())
    return {
        payout: Cause(str(money), money, found[money].transfer.sender_name)
        for payout, money in of_payouts.items()
    }


# The kinds of entries that change a wallet, with their labels.
MOVEMENT_KINDS = {
    Kind.PAYOUT_ACCEPTED: "Payout",
    Kind.PAYOUT_FAILED: "Failed payout",
    Kind.PAYOUT_REVERSED: "Returned payout",
    Kind.SETTLEMENT_RELEASED: "Settlement",
    Kind.RESERVE_HELD: "Held in reserve",
    Kind.RESERVE_RETURNED: "Returned from reserve",
    Kind.UNAPPLIED_OUT: "Unapplied transfer",
    Kind.TAX: "Tax",
    Kind.TOP_UP: "Top-up",
    Kind.JOURNAL: "Correction",
}
PAYOUTS = (Kind.PAYOUT_ACCEPTED, Kind.PAYOUT_FAILED, Kind.TAX)
_LOOKUPS: tuple[tuple[tuple[Entry.Kind, ...], Callable[[Iterable[UUID]], dict[UUID, Cause]]], ...] = (
    ((*PAYOUTS, Kind.PAYOUT_SENT, Kind.CARD, Kind.VIRTUAL_ACCOUNT), _transactions),
    ((Kind.REFUND,), _refunds),
    ((Kind.PAYOUT_REVERSED,), _returned_payouts),
    ((Kind.SETTLEMENT_RELEASED,), _settlements),
    ((Kind.RESERVE_HELD,), _holds),
    ((Kind.RESERVE_RETURNED,), _returned_holds),
    ((Kind.UNAPPLIED_IN, Kind.UNAPPLIED_OUT), _unapplied_transfers),
)
