"""Payout returns, received from the bank or entered by staff. Both credit the wallet.

A successful payout keeps its status. Each return is a row and a ledger entry, and the payout's `amount_returned` never
exceeds its amount. A return that can't be applied is in suspense until it is matched to a payout, or written off. Lock
order: transaction, payout return, unapplied money, ledger account.
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
from kit.time.time_ordered_ids import new_id
from ledger import services as ledger
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import CardOperation, InvalidState, PayoutReturn, Transaction
from payments.rules import outcomes
from payments.services import suspense
from payments.services.return_matching import BANK, amount_left, credit, why_not
from payments.services.transactions import transitions
from payments.services.transactions.intents import lock
from payments.services.transactions.state_descriptions import described
from payments.services.transactions.transitions import Cause

Applied, Why = PayoutReturn.Applied, PayoutReturn.Why

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
    and booked to suspense.

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
        ledger.book(credit(payout, payout_return, actor=BANK, now=now))
    elif payout is not None and applied == Applied.FAILED:
        transitions.finish(payout, outcomes.payout_failure(""), cause=Cause.RETURN, now=now)
    else:
        suspense.book_arrival(payout_return, now=now)
    return IdempotentResult(payout_return, is_replay=False)


@database.atomic
def reverse(
    *, transaction_id: UUID, reason: str, actor: Actor, now: datetime, amount: int | None = None
) -> PayoutReturn | None:
    """Credit the rest of a successful payout. Returns None if it was already returned in full.

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
    ledger.book(credit(payout, payout_return, actor=actor, now=now))
    return payout_return


@database.atomic
def match(return_id: UUID, *, payout_id: UUID, reason: str, actor: Actor, now: datetime) -> None:
    """Apply an unmatched return to a payout that staff found, and credit it.

    :raises InvalidState: it isn't open, or doesn't fit the payout
    """
    payout = lock(payout_id)
    payout_return = lock_open(return_id)
    require_match(payout_return, payout)
    payout_return.transaction, payout_return.applied, payout_return.why = payout, Applied.REVERSED, Why.NONE
    _resolve(payout_return, reason=reason, actor=actor, now=now)
    out = suspense.leaving(payout_return, reason=reason, now=now)
    ledger.book_all([*out, credit(payout, payout_return, actor=actor, now=now)])
    _record("payout_return.matched", payout_return, business=payout.business, actor=actor, now=now)


@database.atomic
def write_off(return_id: UUID, *, reason: str, actor: Actor, now: datetime) -> None:
    """Take an unmatched return out of suspense without an owner.

    :raises InvalidState: it isn't open
    """
    payout_return = lock_open(return_id)
    _resolve(payout_return, reason=reason, actor=actor, now=now)
    ledger.book_all(suspense.written_off(payout_return, reason=reason, now=now))
    _record("payout_return.written_off", payout_return, business=None, actor=actor, now=now)


def lock_open(return_id: UUID) -> PayoutReturn:
    """Return an unmatched return without a decision, locked until the transaction ends.

    :raises InvalidState: it isn't open
    """
    payout_return = PayoutReturn.objects.select_for_update().get(pk=return_id)
    require_open(payout_return)
    return payout_return


def require_open(payout_return: PayoutReturn) -> None:
    """:raises InvalidState: the return was applied to a payout or written off"""
    if not payout_return.is_open:
        raise InvalidState("This return was already applied to a payout, or written off.")


def require_match(payout_return: PayoutReturn, payout: Transaction) -> None:
    """Check that a return can be applied to a payout.

    :raises InvalidState: it isn't a successful payout, the return doesn't fit, or the ledger can't take the amount
    """
    if not can_be_reversed(payout):
        raise InvalidState(f"Only a successful payout can be reversed. {described(payout)}")
    why = why_not(payout, amount=payout_return.amount, currency=payout_return.currency)
    if why != Why.NONE:
        raise InvalidState(f"The return does not match this payout: {why.label.lower()}.")


def _resolve(payout_return: PayoutReturn, *, reason: str, actor: Actor, now: datetime) -> None:
    payout_return.resolution, payout_return.resolved_by, payout_return.resolved_at = reason, actor.name, now
    payout_return.save(
        update_fields=["transaction", "applied", "why", "resolution", "resolved_by", "resolved_at"]
    )


def _record(
    action: str, payout_return: PayoutReturn, *, business: Business | None, actor: Actor, now: datetime
) -> None:
    audit.record(
        action=action,
        actor=actor,
        business=business,
        target=str(payout_return.pk),
        before={"state": "open"},
        after={
            "bank_reference": payout_return.bank_reference,
            "amount": payout_return.amount,
            "currency": payout_return.currency,
            "reason": payout_return.resolution,
        },
        now=now,
    )


def can_be_reversed(transaction: Transaction) -> bool:
    return _is_payout(transaction) and transaction.status == Transaction.Status.SUCCESS


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
    """Return whether a bank's reference is the id of a transfer payment's refund. See decision 0024."""
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
    why = missing if payout is None else why_not(payout, amount=amount, currency=currency)
    if payout is None or why != Why.NONE:
        return Applied.UNMATCHED, why
    succeeded = payout.status == Transaction.Status.SUCCESS
    return Applied.REVERSED if succeeded else Applied.FAILED, Why.NONE


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
