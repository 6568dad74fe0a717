"""Unapplied money: somebody decides whether its owner keeps it or its sender gets it back.

Either way it goes to the owner's wallet first. A return takes it out again at once, by a payout without a fee;
should the bank refuse that payout, the money is in the wallet as after any failed payout, and not lost.
"""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from rest_framework import status

from ledger import services as ledger
from ledger.services import Kind
from merchants import audit
from merchants.audit import Actor
from merchants.errors import Problem
from merchants.idempotency import keyed_hash
from payments import banks, fees
from payments.models import InvalidState, Transaction
from payments.services import bookings
from payments.services.connectors import bank_for
from payments.services.finishing import ask_if_new
from payments.services.intents import Intent, open_intent
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
    _to_wallet(money, now=now)
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
    bank = bank_for(unapplied.owner(unapplied_id))
    with database.atomic():
        money = _lock_open(unapplied_id)
        intent = _order_return(
            money, bank.name, account_number=account_number, bank_code=bank_code, reason=reason, now=now
        )
        money.decide(
            UnappliedMoney.State.RETURNED,
            reason=reason,
            actor=actor.name,
            reference=intent.transaction.reference,
            now=now,
        )
        _to_wallet(money, now=now)
        ledger.book(bookings.payout_accepted(intent.transaction, fee=0, now=now))
        _record("unapplied.returned", money, actor=actor, now=now)
    ask_if_new(intent, lambda new: bank.send(payout_order(new)))
    return money


def _lock_open(unapplied_id: UUID) -> UnappliedMoney:
    money = unapplied.lock(unapplied_id)
    if not money.is_open:
        raise NotOpen
    return money


def _order_return(
    money: UnappliedMoney, connector: str, *, account_number: str, bank_code: str, reason: str, now: datetime
) -> Intent:
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


def _to_wallet(money: UnappliedMoney, *, now: datetime) -> None:
    ledger.book(
        bookings.unapplied_out(
            transfer=money.transfer_id,
            business_id=money.business_id,
            currency=money.currency,
            amount=money.amount,
            to=Kind.WALLET,
            now=now,
            reason=money.reason,
        )
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
