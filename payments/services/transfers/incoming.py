"""Apply incoming bank transfers to payments.

The session, the payment, the ledger and the event change in one database transaction. Lock order: account,
session, transaction, ledger account.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction as database

from kit.api.replays import DuplicateReference, IdempotentResult
from kit.db.clock import database_now
from ledger import services as ledger
from ledger.services import LARGEST_ENTRY
from merchants.models import Business
from payments.fingerprints import generated_fingerprint
from payments.models import Transaction
from payments.rules.fees import Flow
from payments.rules.outcomes import Outcome, amount_mismatch, transfer_received
from payments.services import fee_rules, ledger_entries, suspense
from payments.services.events import opt_in_events
from payments.services.transactions import transitions
from payments.services.transactions.intents import lock_of_session, open_intent
from payments.services.transactions.transitions import Cause
from virtual_accounts.models import Session, Transfer, UnclaimedTransfer
from virtual_accounts.services import transfer_matching, unclaimed_transfers
from virtual_accounts.services.transfer_matching import Notice, NumberReassigned, UnknownAccount

__all__ = ["Notice", "receive", "receive_notification"]

Why = UnclaimedTransfer.Why

UNCLAIMED = "unclaimed"  # the response for a transfer that no account can accept


def receive(
    notice: Notice, *, owner: Business | None = None, clock: Callable[[], datetime] = database_now
) -> IdempotentResult[Transfer]:
    """Record a transfer: it finishes a payment, creates a new one, or becomes unapplied money. Idempotent.

    :raises UnknownAccount: no account has or had the number; with `owner`, no account of that business
    :raises DuplicateReference: the bank's reference was already used for a different transfer
    """
    while True:
        # Each try is a transaction of its own, since locks of two accounts at once could deadlock.
        with suppress(NumberReassigned):
            return _receive_once(notice, owner=owner, clock=clock)


@database.atomic
def _receive_once(
    notice: Notice, *, owner: Business | None, clock: Callable[[], datetime]
) -> IdempotentResult[Transfer]:
    received = transfer_matching.record(notice, owner=owner, clock=clock)
    transfer = received.resource
    if received.is_replay:
        return received
    if transfer.session is not None:
        _settle(transfer, transfer.session)
    if transfer.is_unapplied:
        opt_in_events.publish_unapplied(transfer.unapplied, now=transfer.received_at)
        ledger.book(ledger_entries.unapplied_in(transfer, now=transfer.received_at))
    return received


@dataclass(frozen=True, slots=True, kw_only=True)
class NotificationReceipt:
    """How a notified transfer was applied."""

    bank_reference: str
    applied: str
    reason: str


def receive_notification(
    notice: Notice, *, clock: Callable[[], datetime] = database_now
) -> IdempotentResult[NotificationReceipt]:
    """Record a transfer that the bank notified, even if no account can accept it.

    Money that has arrived is never rejected. A transfer that no account can accept is stored as unclaimed.

    :raises DuplicateReference: the bank's reference was already used for a different transfer
    """
    recorded = unclaimed_transfers.find(notice)
    if recorded is not None:
        return _kept_before(recorded, notice, now=clock())
    if notice.amount > LARGEST_ENTRY:
        return _keep_unclaimed(notice, Why.AMOUNT_TOO_LARGE, now=clock())
    try:
        received = receive(notice, clock=clock)
    except UnknownAccount:
        return _keep_unclaimed(notice, Why.UNKNOWN_ACCOUNT, now=clock())
    except DuplicateReference:
        unclaimed_transfers.record(notice, Why.CONFLICT, now=clock())
        raise
    transfer = received.resource
    return IdempotentResult(
        NotificationReceipt(
            bank_reference=transfer.bank_reference, applied=transfer.applied, reason=transfer.reason
        ),
        is_replay=received.is_replay,
    )


def _keep_unclaimed(
    notice: Notice, why: UnclaimedTransfer.Why, *, now: datetime
) -> IdempotentResult[NotificationReceipt]:
    if transfer_matching.is_recorded(notice.bank_reference):
        unclaimed_transfers.record(notice, Why.CONFLICT, now=now)
        raise transfer_matching.other_content()
    with database.atomic():
        kept = unclaimed_transfers.record(notice, why, now=now)
        if kept is not None:
            suspense.book_arrival(kept, now=now)
    if kept is not None:
        return IdempotentResult(_unclaimed(notice, why), is_replay=False)
    recorded = unclaimed_transfers.find(notice)  # a concurrent notification was first
    if recorded is None:
        raise UnclaimedTransfer.DoesNotExist
    return _kept_before(recorded, notice, now=now)


def _kept_before(
    recorded: UnclaimedTransfer, notice: Notice, *, now: datetime
) -> IdempotentResult[NotificationReceipt]:
    if not unclaimed_transfers.has_content(recorded, notice):
        unclaimed_transfers.record(notice, Why.CONFLICT, now=now)
        raise transfer_matching.other_content()
    return IdempotentResult(_unclaimed(notice, Why(recorded.why)), is_replay=True)


def _unclaimed(notice: Notice, why: UnclaimedTransfer.Why) -> NotificationReceipt:
    return NotificationReceipt(bank_reference=notice.bank_reference, applied=UNCLAIMED, reason=why)


def _settle(transfer: Transfer, session: Session) -> None:
    is_expected = transfer.applied != Transfer.Applied.NEW_PAYMENT
    payment = lock_of_session(session) if is_expected else _new_payment(transfer, session)
    outcome = _outcome(transfer, session)
    transitions.finish(payment, outcome, cause=Cause.TRANSFER, now=transfer.received_at)


def _outcome(transfer: Transfer, session: Session) -> Outcome:
    if transfer.amount == session.expected_amount:
        return transfer_received(
            amount=transfer.amount, currency=transfer.currency, sender=transfer.sender_name
        )
    return amount_mismatch(
        expected=session.expected_amount, received=transfer.amount, currency=transfer.currency
    )


def _new_payment(transfer: Transfer, session: Session) -> Transaction:
    """Create the payment of an unexpected transfer to a static account."""
    account = session.account
    intent = open_intent(
        business=account.business,
        reference=f"va_{transfer.pk.hex}",
        fingerprint=generated_fingerprint(transfer=str(transfer.pk)),
        now=transfer.received_at,
        request_type=Transaction.RequestType.PAYMENT,
        method=Transaction.Method.VIRTUAL_ACCOUNT,
        awaiting=Transaction.Awaiting.TRANSFER,
        next_query_at=None,
        session_id=session.pk,
        fee_rule=fee_rules.snapshot_or_free(account.business, Flow.VIRTUAL_ACCOUNT, transfer.currency),
        amount=transfer.amount,
        currency=transfer.currency,
        customer_name=account.holder_name,
        customer_email=account.email,
        customer_reference=account.reference,
    )
    intent.resource.session = session
    return intent.resource
