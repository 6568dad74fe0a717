"""Credit unapplied money to the business, or return it to the sender.

Both credit the wallet first. A return then debits it at once, by a payout without a fee. If the bank refuses that
payout, the money is unapplied and open again (`refused_returns`). A return to an account that somebody entered may wait
for the approval of another member first, like any payout.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction as database
from rest_framework import status

from kit import banks
from kit.api.errors import Problem
from kit.api.replays import IdempotentResult
from ledger import services as ledger
from ledger.services import Booking, Kind
from merchants.people import audit
from merchants.people.audit import Actor
from payments.fingerprints import generated_fingerprint
from payments.models import InvalidState, Transaction
from payments.rails import RailUnavailable
from payments.rails.protocol import PayoutBank
from payments.rules import fees
from payments.services import ledger_entries
from payments.services.payouts import beneficiaries
from payments.services.payouts.controls import acceptance
from payments.services.payouts.controls.approvals import PayoutItem
from payments.services.payouts.controls.makers import NO_MAKER, Maker
from payments.services.rails import rail_choices
from payments.services.rails.rail_orders import payout_order
from payments.services.rails.rail_queries import rail_blocks
from payments.services.refunds import refused_returns
from payments.services.transactions.intents import FIRST_QUERY_AFTER, find_of, open_intent
from payments.services.transactions.transitions import Cause, call_rail
from payments.services.transfers import return_destinations
from payments.services.transfers.return_destinations import Destination
from virtual_accounts.models import Transfer, UnappliedMoney
from virtual_accounts.services import unapplied_queries


class NotOpen(InvalidState):
    """The money was already returned or credited."""

    default_detail = "This money was already returned or credited."


class NotShort(InvalidState):
    """The money isn't less than a payment expected."""

    default_detail = (
        "Only a transfer of less than its payment expected can be accepted for it. Credit it instead."
    )


class SenderUnknown(Problem):
    """The bank sent no account of the sender that payouts can reach."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "invalid_request"
    default_detail = "Enter the sender's account number and bank. The bank did not send them."


class SenderKnown(Problem):
    """An account was entered although the sender's account is known."""

    status_code = status.HTTP_400_BAD_REQUEST
    default_code = "invalid_request"
    default_detail = "Leave account number and bank empty. The money goes back to the sender's account, which the bank sent."


@database.atomic
def credit(unapplied_id: UUID, *, reason: str, actor: Actor, now: datetime) -> UnappliedMoney:
    """Credit the money to the wallet of the business whose account it arrived at.

    :raises NotOpen: it was returned or credited before
    """
    money = lock_open(unapplied_id)
    credit_locked(money, reason=reason, actor=actor, now=now)
    return money


@database.atomic
def accept(unapplied_id: UUID, *, reason: str, actor: Actor, now: datetime) -> UnappliedMoney:
    """Credit money that is less than its payment expected, and record that it is for the payment, which stays failed.

    :raises NotOpen: it was returned or credited before
    :raises NotShort: it isn't less than a payment expected
    """
    money = lock_open(unapplied_id)
    if not money.is_short:
        raise NotShort
    credit_locked(money, reason=reason, actor=actor, now=now, is_accepted=True)
    return money


def credit_locked(
    money: UnappliedMoney, *, reason: str, actor: Actor, now: datetime, is_accepted: bool = False
) -> None:
    """Credit open money that the caller has locked."""
    booking = _to_wallet(money, reason=reason, now=now)
    state = UnappliedMoney.State.CREDITED
    money.decide(state, reason=reason, actor=actor.name, reference="", now=now, is_accepted=is_accepted)
    ledger.book(booking)
    _record("unapplied.accepted" if is_accepted else "unapplied.credited", money, actor=actor, now=now)


def return_to_sender(
    unapplied_id: UUID,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
    maker: Maker = NO_MAKER,
    account_number: str = "",
    bank_code: str = "",
) -> UnappliedMoney:
    """Return the money by a payout to the sender's account.

    Pass an account only if the bank didn't send one. `maker` may not approve the payout, if it waits for approval.

    :raises NotOpen: it was already returned or credited
    :raises SenderKnown: an account is passed although the sender's account is known
    :raises SenderUnknown: no account is passed, and the sender's account is unknown
    :raises OtherCurrency: the bank of the account uses another currency
    :raises RailUnavailable: no bank is configured for payouts
    """
    opened = open_return(
        unapplied_id,
        reason=reason,
        actor=actor,
        now=now,
        maker=maker,
        account_number=account_number,
        bank_code=bank_code,
    )
    opened.send()
    return opened.money


@dataclass(frozen=True, slots=True)
class OpenedReturn:
    """A booked return with its payout, which has not been sent to the bank yet."""

    money: UnappliedMoney
    intent: IdempotentResult[Transaction]
    bank: PayoutBank

    def send(self) -> None:
        """Send the payout to the bank, unless it waits for approval. Call it after the commit."""
        payout = self.intent.resource
        if not self.intent.is_replay and payout.awaiting == Transaction.Awaiting.RAIL:
            call_rail(payout, partial(self.bank.send, payout_order(payout)), cause=Cause.RAIL)
        self.money.refresh_from_db()  # open again if the bank refused


@database.atomic
def open_return(
    unapplied_id: UUID,
    *,
    reason: str,
    actor: Actor,
    now: datetime,
    maker: Maker = NO_MAKER,
    account_number: str = "",
    bank_code: str = "",
) -> OpenedReturn:
    """Book the return of money to its sender, and create its payout.

    :raises NotOpen: it was already returned or credited
    :raises SenderKnown: an account is passed although the sender's account is known
    :raises SenderUnknown: no account is passed, and the sender's account is unknown
    :raises OtherCurrency: the bank of the account uses another currency
    :raises RailUnavailable: no bank is configured for payouts
    """
    arrived = unapplied_queries.find(unapplied_id)
    bank = rail_choices.attempt(lambda: rail_choices.bank_for_return(arrived.business, arrived.transfer))
    money = lock_open(unapplied_id)
    require_destination(money.transfer, account_number=account_number, bank_code=bank_code)
    named = _named(money.transfer, account_number=account_number, bank_code=bank_code)
    return return_locked(money, named=named, bank=bank, reason=reason, actor=actor, now=now, maker=maker)


def return_locked(
    money: UnappliedMoney,
    *,
    named: Mapping[str, str] | None,
    bank: PayoutBank | RailUnavailable,
    reason: str,
    actor: Actor,
    now: datetime,
    maker: Maker = NO_MAKER,
) -> OpenedReturn:
    """Book the return of open money that the caller has locked. All returns use this function.

    :raises ValidationError: the destination is missing, or isn't allowed because the sender is known
    :raises OtherCurrency: the bank of the account uses another currency
    :raises PayoutsFrozen: staff have frozen the payouts of the business
    :raises BeneficiaryBlocked: the named account is blocked
    :raises RailUnavailable: no bank is configured for payouts
    """
    destination = return_destinations.choose(money.transfer, named)
    return_destinations.require_currency(destination, money.currency, advice="Credit it instead.")
    bank = rail_choices.require(bank)
    item = _item(money, destination, reason=reason)
    verdict = acceptance.judge_return(
        business=money.business, item=item, is_to_sender=named is None, maker=maker
    )
    if verdict.refusal is not None:
        raise verdict.refusal
    if named is not None:
        beneficiaries.require_open(
            money.business, account_number=item.account_number, bank_code=item.bank_code
        )
    if verdict.awaiting == Transaction.Awaiting.RAIL:
        rail_blocks.require_open(bank, currency=money.currency, amount=money.amount, now=now)
    booking = _to_wallet(money, reason=reason, now=now)
    intent = _order_return(money, rail_choices.columns(bank), item, awaiting=verdict.awaiting, now=now)
    money.decide(
        UnappliedMoney.State.RETURNED,
        reason=reason,
        actor=actor.name,
        reference=intent.resource.reference,
        now=now,
    )
    # Covered by the entry before it, even if the business owes more.
    payout = ledger_entries.payout_accepted(intent.resource, fee=0, is_covered=False, now=now)
    ledger.book_all([booking, payout])
    acceptance.record(verdict, intent.resource, maker=maker, now=now)
    _record("unapplied.returned", money, actor=actor, now=now)
    return OpenedReturn(money, intent, bank)


def lock_open(unapplied_id: UUID) -> UnappliedMoney:
    """Return open money, locked until the transaction ends.

    :raises NotOpen: it was already returned or credited
    """
    money = unapplied_queries.lock(unapplied_id)
    if not money.is_open:
        raise NotOpen(f"This money was already {money.state}.")
    return money


def require_destination(transfer: Transfer, *, account_number: str, bank_code: str) -> None:
    """Check the entered account of a return. It must be empty if the sender's account is known.

    :raises SenderKnown: an account is passed although the sender's account is known
    :raises SenderUnknown: no account is passed, and the sender's account is unknown
    """
    named = _named(transfer, account_number=account_number, bank_code=bank_code)
    if return_destinations.sender_of(transfer) is not None:
        if named is not None:
            raise SenderKnown
    elif named is None or not return_destinations.is_payable(named):
        raise SenderUnknown


def _named(transfer: Transfer, *, account_number: str, bank_code: str) -> dict[str, str] | None:
    """Return the entered destination. Empty parts are taken from the bank's notification."""
    if not account_number and not bank_code:
        return None
    bank = banks.find(bank_code or transfer.sender_bank_code)
    return {
        "name": transfer.sender_name,
        "account_number": account_number or transfer.sender_account_number,
        "bank_code": bank.code if bank else "",
    }


def _item(money: UnappliedMoney, destination: Destination, *, reason: str) -> PayoutItem:
    """Return the payout of a return, as it is approved and sent."""
    return PayoutItem(
        reference=refused_returns.next_reference(money),
        amount=money.amount,
        currency=money.currency,
        account_number=destination.account_number,
        bank_code=destination.bank_code,
        name=destination.name,
        narration=reason,
    )


def _order_return(
    money: UnappliedMoney,
    sent_to: dict[str, Any],
    item: PayoutItem,
    *,
    awaiting: Transaction.Awaiting,
    now: datetime,
) -> IdempotentResult[Transaction]:
    """Create the payout of a return. It has no fee."""
    return open_intent(
        business=money.business,
        reference=item.reference,
        fingerprint=generated_fingerprint(unapplied=str(money.pk)),
        **sent_to,
        now=now,
        request_type=Transaction.RequestType.PAYOUT,
        method=Transaction.Method.BANK,
        fee_rule=fees.FREE.snapshot,
        amount=item.amount,
        currency=item.currency,
        narration=item.narration,
        customer_name=item.name,
        account_number=item.account_number,
        bank_code=item.bank_code,
        awaiting=awaiting,
        next_query_at=now + FIRST_QUERY_AFTER if awaiting == Transaction.Awaiting.RAIL else None,
    )


def _to_wallet(money: UnappliedMoney, *, reason: str, now: datetime) -> Booking:
    """Return the entry of a decision about open money. Call it before the decision is recorded."""
    refused = find_of(money.business, money.reference) if money.reference else None
    return ledger_entries.unapplied_out(
        cause=refused.pk if refused else money.transfer_id,
        business_id=money.business_id,
        currency=money.currency,
        amount=money.amount,
        to=Kind.WALLET,
        now=now,
        reason=reason,
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
