"""The wallet statement: movements of a wallet with their causes."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from uuid import UUID

from ledger.models import Entry, Posting
from payments.models import PayoutReturn, SettlementBatch, Transaction
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
    rows = Transaction.objects.filter(pk__in=ids).values_list("pk", "reference", "customer_name")
    return {pk: Cause(reference, pk, name) for pk, reference, name in rows}


def _returned_payouts(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = PayoutReturn.objects.filter(pk__in=ids)
    found = rows.values_list("pk", "transaction__reference", "transaction_id", "transaction__customer_name")
    return {pk: Cause(reference, payout, name) for pk, reference, payout, name in found}


def _settlements(ids: Iterable[UUID]) -> dict[UUID, Cause]:
    rows = SettlementBatch.objects.filter(pk__in=ids).values_list("pk", "day")
    return {pk: Cause(str(pk), pk, f"{day:%-d %b %Y}") for pk, day in rows}


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
    Kind.UNAPPLIED_OUT: "Unapplied transfer",
    Kind.TOP_UP: "Top-up",
}
PAYOUTS = (Kind.PAYOUT_ACCEPTED, Kind.PAYOUT_FAILED)
_LOOKUPS: tuple[tuple[tuple[Entry.Kind, ...], Callable[[Iterable[UUID]], dict[UUID, Cause]]], ...] = (
    (PAYOUTS, _transactions),
    ((Kind.PAYOUT_REVERSED,), _returned_payouts),
    ((Kind.SETTLEMENT_RELEASED,), _settlements),
    ((Kind.UNAPPLIED_OUT,), _unapplied_transfers),
)
