"""Cancel a payment that awaits its payer's 3-D Secure challenge or transfer, or a payout that wasn't sent yet.

Lock order (decision 0002): session, transaction, ledger account.
"""

from collections.abc import Callable
from datetime import datetime
from uuid import UUID

from django.db import transaction as database

from kit.api.replays import IdempotentResult
from kit.db.clock import database_now
from payments.models import InvalidState, Transaction
from payments.rules.outcomes import CANCELLED
from payments.services.payouts.controls import waiting_payouts
from payments.services.transactions import transitions
from payments.services.transactions.intents import find, lock
from payments.services.transactions.state_descriptions import described
from payments.services.transactions.transitions import Cause
from virtual_accounts.models import Session
from virtual_accounts.services import sessions

Awaiting = Transaction.Awaiting


@database.atomic
def cancel(
    *,
    transaction_id: UUID,
    cause: Cause = Cause.MERCHANT,
    clock: Callable[[], datetime] = database_now,
) -> IdempotentResult[Transaction]:
    """Cancel a payment that awaits its payer, or a payout that waits: it fails with 20091. It is replayed then.

    `cause` is who ends it: the merchant, or the payer on a page.

    The clock is read under the locks. A concurrent transfer, payer's answer or expiry therefore comes either before
    or after the cancellation.

    :raises InvalidState: it doesn't await its payer, or its deadline has passed; or the payout was sent
    """
    found = find(transaction_id)
    if found.request_type == Transaction.RequestType.PAYOUT:
        return waiting_payouts.cancel(transaction_id, now=clock())
    session_id = found.session_id
    session = sessions.lock(session_id) if session_id else None
    transaction = lock(transaction_id)
    transaction.session = session
    if transaction.response_code == CANCELLED.code:
        return IdempotentResult(transaction, is_replay=True)
    now = clock()
    _require_waiting(transaction, session, now=now)
    if session is None:
        transitions.finish(transaction, CANCELLED, cause=cause, now=now)
    else:
        sessions.fail(session, now=now)
        transitions.fail_all([transaction], CANCELLED, cause=cause, now=now)
    return IdempotentResult(transaction, is_replay=False)


def _require_waiting(transaction: Transaction, session: Session | None, *, now: datetime) -> None:
    if transaction.awaiting not in WAITING_FOR_PAYER:
        advice = " Void it to release the authorisation." if transaction.awaiting == Awaiting.CAPTURE else ""
        raise InvalidState(
            f"Only a payment that waits for its payer can be cancelled. {described(transaction)}{advice}"
        )
    ends = session.expires_at if session is not None else transaction.expires_at
    if ends is None or ends <= now:
        raise InvalidState("The time to pay is over. The payment is about to expire.")


WAITING_FOR_PAYER = (Awaiting.PAYER, Awaiting.TRANSFER)
