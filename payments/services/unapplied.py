"""Unapplied money: somebody decides whether its owner keeps it or its sender gets it back.

Either way it goes to the owner's wallet first. A return takes it out again at once, by a payout without a fee;
should the bank refuse that payout, the money is in the wallet as after any failed payout, and not lost.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from rest_framework import status

from ledger import services as ledger
from ledger.services import Booking, Kind
from merchants import audit
from merchants.audit import Actor
from merchants.errors import Problem
from merchants.idempotency import keyed_hash
from payments import banks, fees
from payments.idempotency import IdempotentResult
from payments.models import InvalidState, Transaction
from payments.rails.protocol import PayoutBank
from payments.services import bookings
from payments.services.connectors import bank_for
from payments.services.finishing import ask_if_new
from payments.services.intents import open_intent
from payments.services.orders import payout_order
from virtual_accounts.models import UnappliedMoney
from virtual_accounts.services import unapplied


class NotOpen(InvalidState):
    """Somebody has decided about this money before."""

    default_detail = "This money was returned or credited before."


class SenderUnknown(Problem):
    """Nobody knows the account that the money came from."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "invalid_request"
    default_detail = "Name the sender's account number and bank: the bank did not tell them."


@database.atomic
def credit(unapplied_id: UUID, *, reason: str, actor: Actor, now: datetime) -> UnappliedMoney:
    """Give the money to the business whose account it arrived at: into its wallet.

    :raises NotOpen: it was returned or credited before
    """
    money = _lock_open(unapplied_id)
    money.decide(UnappliedMoney.State.CREDITED, reason=reason, actor=actor.name, reference="", now=now)
    ledger.book(_to_wallet(money, now=now))
    _record("unapplied.credited", money, actor=actor, now=now)
    return money


def return_to_sender(
    unapplied_id: UUID,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
    account_number: str = "",
    bank_code: str = "",
) -> UnappliedMoney:
    """Send the money back by a payout: to the account it came from, or to the one that is named.

    :raises NotOpen: it was returned or credited before
    :raises SenderUnknown: no account is named, and the bank told none
    :raises RailUnavailable: no bank is configured for payouts
    """
    opened = open_return(
        unapplied_id,
        reason=reason,
        actor=actor,
        now=now,
        account_number=account_number,
        bank_code=bank_code,
    )
    opened.send()
    return opened.money


@dataclass(frozen=True, slots=True)
class OpenedReturn:
    """A return that is booked, with the payout that the bank has yet to be asked for."""

    money: UnappliedMoney
    intent: IdempotentResult[Transaction]
    bank: PayoutBank

    def send(self) -> None:
        """Ask the bank for the payout. Call it after the commit."""
        ask_if_new(self.intent, lambda new: self.bank.send(payout_order(new)))


@database.atomic
def open_return(
    unapplied_id: UUID,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
    account_number: str = "",
    bank_code: str = "",
) -> OpenedReturn:
    """Book the return of money to its sender, and write the payout that carries it.

    :raises NotOpen: it was returned or credited before
    :raises SenderUnknown: no account is named, and the bank told none
    :raises RailUnavailable: no bank is configured for payouts
    """
    bank = bank_for(unapplied.owner(unapplied_id))
    money = _lock_open(unapplied_id)
    intent = _order_return(
        money, bank.name, account_number=account_number, bank_code=bank_code, reason=reason, now=now
    )
    money.decide(
        UnappliedMoney.State.RETURNED,
        reason=reason,
        actor=actor.name,
        reference=intent.resource.reference,
        now=now,
    )
    payout = bookings.payout_accepted(intent.resource, fee=0, now=now)
    ledger.book_all([_to_wallet(money, now=now), payout])
    _record("unapplied.returned", money, actor=actor, now=now)
    return OpenedReturn(money, intent, bank)


def _lock_open(unapplied_id: UUID) -> UnappliedMoney:
    money = unapplied.lock(unapplied_id)
    if not money.is_open:
        raise NotOpen
    return money


def _order_return(
    money: UnappliedMoney, connector: str, *, account_number: str, bank_code: str, reason: str, now: datetime
) -> IdempotentResult[Transaction]:
    """Write the payout to the sender; nobody is charged for it."""
    transfer = money.transfer
    account_number = account_number or transfer.sender_account_number
    bank = banks.find(bank_code or transfer.sender_bank_code)
    if not account_number or bank is None:
        raise SenderUnknown
    return open_intent(
        business=money.business,
        reference=f"return_{money.pk.hex}",
        fingerprint=keyed_hash({"unapplied": str(money.pk)}),
        connector=connector,
        now=now,
        request_type=Transaction.RequestType.PAYOUT,
        method=Transaction.Method.BANK,
        fee_rule=fees.FREE.snapshot,
        amount=money.amount,
        currency=money.currency,
        narration=reason,
        customer_name=transfer.sender_name,
        account_number=account_number,
        bank_code=bank.code,
    )


def _to_wallet(money: UnappliedMoney, *, now: datetime) -> Booking:
    return bookings.unapplied_out(
        transfer=money.transfer_id,
        business_id=money.business_id,
        currency=money.currency,
        amount=money.amount,
        to=Kind.WALLET,
        now=now,
        reason=money.reason,
    )


def _record(action: str, money: UnappliedMoney, *, actor: Actor, now: datetime) -> None:
    audit.record(
        action=action,
        actor=actor,
        business=money.business,
        target=str(money.pk),
        before={"state": UnappliedMoney.State.OPEN.value},
        after={"state": str(money.state), "reason": money.reason, "reference": money.reference},
        now=now,
    )
