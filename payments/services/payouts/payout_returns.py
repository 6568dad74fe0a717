"""Payout returns, received from the bank or entered by staff. Both credit the wallet.

A successful payout keeps its status. Each return is a row and a ledger entry, and the payout's `amount_returned` never
exceeds its amount. Lock order: transaction, ledger account.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from kit.api.replays import DuplicateReference, IdempotentResult
from kit.db.clock import database_now
from kit.db.prepared_statements import insert, insert_if_absent
from ledger import services as ledger
from merchants import audit
from merchants.audit import Actor
from merchants.models import Business
from payments import outcomes
from payments.identifiers import new_id
from payments.models import CardOperation, InvalidState, PayoutReturn, Reversal, Transaction
from payments.services import ledger_entries, opt_in_events, transitions
from payments.services.intents import lock
from payments.services.state_descriptions import described
from payments.services.transitions import Cause

Applied, Why = PayoutReturn.Applied, PayoutReturn.Why

BANK = Actor(name="bank")
# Our reference of a payout at the bank: its id, with or without hyphens.
PAYOUT_ID = re.compile(r"[0-9a-fA-F]{32}|[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReturnNotice:
    """A returned payout as the bank reports it. The amount is in minor units."""

    bank_reference: str
    payout_reference: str
    amount: int
    currency: str
    reason: str = ""
    extra_members: Mapping[str, str] = field(default_factory=dict)


@database.atomic
def receive(
    notice: ReturnNotice, *, clock: Callable[[], datetime] = database_now
) -> IdempotentResult[PayoutReturn]:
    """Record a return once per bank reference, and apply it to its payout.

    A successful payout is reversed, and a pending one fails. A return that can't be applied is recorded as unmatched,
    for operators.

    :raises DuplicateReference: the bank reference was already used for a different return
    """
    payout, missing = _lock_payout(notice.payout_reference)
    now = clock()
    applied, why = _decide(payout, missing, amount=notice.amount, currency=notice.currency)
    payout_return = PayoutReturn(
        id=new_id(now),
        transaction=payout,
        bank_reference=notice.bank_reference,
        payout_reference=notice.payout_reference,
        amount=notice.amount,
        currency=notice.currency,
        reason=notice.reason,
        applied=applied,
        why=why,
        actor=BANK.name,
        extra_members=dict(notice.extra_members),
        at=now,
    )
    if not insert_if_absent(payout_return):
        return _replay(notice)
    if payout is not None and applied == Applied.REVERSED:
        _credit(payout, payout_return, actor=BANK)
    elif payout is not None and applied == Applied.FAILED:
        transitions.finish(payout, outcomes.payout_failure(""), cause=Cause.RETURN, now=now)
    return IdempotentResult(payout_return, is_replay=False)


@database.atomic
def reverse(
    *, transaction_id: UUID, reason: str, actor: Actor, now: datetime, amount: int | None = None
) -> PayoutReturn | None:
    """Credit the rest of a successful payout to the wallet. Returns None if it was already returned in full.

    The fee isn't refunded. `amount` is the rest at the time of the proposal.

    :raises InvalidState: it isn't a successful payout, or the rest differs from the proposed amount
    """
    payout = lock(transaction_id)
    if not can_be_reversed(payout):
        raise InvalidState(f"Only a successful payout can be reversed. {described(payout)}")
    left = amount_left(payout)
    if not left:
        return None
    if amount not in {None, left}:
        raise InvalidState("The bank has returned more of this payout in the meantime.")
    payout_return = PayoutReturn(
        id=new_id(now),
        transaction=payout,
        amount=left,
        currency=payout.currency,
        reason=reason,
        applied=Applied.REVERSED,
        actor=actor.name,
        at=now,
    )
    insert(payout_return)
    _credit(payout, payout_return, actor=actor)
    return payout_return


def can_be_reversed(transaction: Transaction) -> bool:
    return _is_payout(transaction) and transaction.status == Transaction.Status.SUCCESS


def _credit(payout: Transaction, payout_return: PayoutReturn, *, actor: Actor) -> None:
    """Credit a return of a successful payout to the wallet, with its event and audit entry."""
    payout.add_return(payout_return.amount)
    opt_in_events.publish_reversal(payout, payout_return)
    ledger.book(ledger_entries.payout_reversed(payout, payout_return))
    audit.record(
        action="payout.reversed",
        actor=actor,
        business=payout.business,
        target=str(payout.pk),
        after={
            "amount": payout_return.amount,
            "currency": payout_return.currency,
            "reason": payout_return.reason,
        },
        now=payout_return.at,
    )


def _lock_payout(reference: str) -> tuple[Transaction | None, PayoutReturn.Why]:
    """Lock and return the payout with a bank's reference, or return why there is none."""
    payout = _lock_by_id(reference)
    if payout is not None:
        return payout, Why.NONE
    if _is_refund(reference):
        return None, Why.REFUND
    keys = _keys_by_merchant_reference(reference)
    if len(keys) == 1:
        return lock(keys[0]), Why.NONE
    return None, Why.AMBIGUOUS if keys else Why.UNKNOWN_PAYOUT


def _lock_by_id(reference: str) -> Transaction | None:
    if not PAYOUT_ID.fullmatch(reference):
        return None
    try:
        found = lock(UUID(reference))
    except Transaction.DoesNotExist:
        return None
    return found if _is_payout(found) else None


def _is_refund(reference: str) -> bool:
    """Return whether a bank's reference is the id of a transfer payment's refund. See decision 0047."""
    if not PAYOUT_ID.fullmatch(reference):
        return False
    return CardOperation.objects.filter(pk=UUID(reference)).exclude(connector="").exists()


def _keys_by_merchant_reference(reference: str) -> list[UUID]:
    """Return at most two payouts with this merchant's reference, from any business.

    Rails send it in addition to our own. It is only unique per business, and the index starts with the business.
    """
    businesses = list(Business.objects.values_list("pk", flat=True))
    payouts = Transaction.objects.filter(
        business__in=businesses, reference=reference, request_type=Transaction.RequestType.PAYOUT
    )
    return list(payouts.values_list("pk", flat=True)[:2])


def _decide(
    payout: Transaction | None, missing: PayoutReturn.Why, *, amount: int, currency: str
) -> tuple[PayoutReturn.Applied, PayoutReturn.Why]:
    """Return how a return is applied to a locked payout. Without a payout, `missing` is the reason."""
    why = missing if payout is None else _why_not(payout, amount=amount, currency=currency)
    if payout is None or why != Why.NONE:
        return Applied.UNMATCHED, why
    succeeded = payout.status == Transaction.Status.SUCCESS
    return Applied.REVERSED if succeeded else Applied.FAILED, Why.NONE


def _why_not(payout: Transaction, *, amount: int, currency: str) -> PayoutReturn.Why:
    """Return why a return can't be applied to a payout, or `Why.NONE`."""
    if currency != payout.currency:
        return Why.OTHER_CURRENCY
    if payout.status == Transaction.Status.FAILED:
        return Why.ALREADY_FAILED
    if amount > amount_left(payout):
        return Why.TOO_MUCH
    if payout.status == Transaction.Status.PENDING and amount < payout.amount:
        return Why.PARTIAL
    return Why.NONE


def amount_left(payout: Transaction) -> int:
    """Return the amount of a payout that has not been returned."""
    left = payout.amount - payout.amount_returned
    # During an upgrade, a host with the first release may have reversed the whole payout.
    is_reversed = left == payout.amount and Reversal.objects.filter(transaction=payout).exists()
    return 0 if is_reversed else left


def _replay(notice: ReturnNotice) -> IdempotentResult[PayoutReturn]:
    """Return the return that was recorded with the same bank reference."""
    first = PayoutReturn.objects.get(bank_reference=notice.bank_reference)
    recorded = (first.payout_reference, first.amount, first.currency)
    if recorded != (notice.payout_reference, notice.amount, notice.currency):
        raise DuplicateReference(
            "This bank reference was already used for a return with a different payout reference, amount or currency."
        )
    return IdempotentResult(first, is_replay=True)


def _is_payout(transaction: Transaction) -> bool:
    return transaction.request_type == Transaction.RequestType.PAYOUT
