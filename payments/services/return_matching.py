"""Apply payout returns to payouts: whether a return fits, its credit, and returns that came before the payout ended.

The caller has locked the payout, and books the returned entries last, together with its own.
"""

from datetime import datetime

from django.db import transaction as database

from kit.db.clock import database_now
from ledger import services as ledger
from ledger.services import Booking, Kind
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import PayoutReturn, Reversal, Transaction
from payments.representation.payments import RETURNED_BY_BANK
from payments.services import ledger_entries, suspense
from payments.services.events import opt_in_events
from payments.services.refunds import refused_returns
from payments.services.transactions.intents import lock

Applied, Why = PayoutReturn.Applied, PayoutReturn.Why

BANK = Actor(name="bank")


def why_not(payout: Transaction, *, amount: int, currency: str) -> PayoutReturn.Why:
    """Return why a return can't be applied to a payout, or `Why.NONE`."""
    if currency != payout.currency:
        return Why.OTHER_CURRENCY
    if payout.status == Transaction.Status.FAILED:
        return Why.ALREADY_FAILED
    if amount > amount_left(payout):
        return Why.TOO_MUCH
    if amount < payout.amount and payout.status == Transaction.Status.PENDING:
        return Why.PARTIAL
    # The earlier release credited parts to the wallet. The rest of such a return can't be open as a whole, so it follows.
    if amount < payout.amount and not payout.amount_returned and refused_returns.is_return(payout):
        return Why.PARTIAL_RETURN
    return Why.NONE


def amount_left(payout: Transaction) -> int:
    """Return the amount of a payout that has not been returned."""
    left = payout.amount - payout.amount_returned
    # During an upgrade, a host with the first release may have reversed the whole payout.
    is_reversed = left == payout.amount and Reversal.objects.filter(transaction=payout).exists()
    return 0 if is_reversed else left


def credit(payout: Transaction, payout_return: PayoutReturn, *, actor: Actor, now: datetime) -> Booking:
    """Credit a return of a successful payout, with its event and audit entry, and return the ledger entry.

    It goes to the wallet. The return of unapplied money goes back to unapplied money, which is open again as a whole.
    """
    payout.add_return(payout_return.amount)
    opt_in_events.publish_reversal(payout, payout_return, now=now)
    to = Kind.WALLET
    if payout_return.amount == payout.amount and refused_returns.is_return(payout):
        money = refused_returns.reopen(payout, reason=payout_return.reason or RETURNED_BY_BANK)
        opt_in_events.publish_unapplied(money, returned=payout_return, now=now)
        to = Kind.UNAPPLIED
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
        now=now,
    )
    return ledger_entries.payout_reversed(payout, payout_return, to=to, now=now)


def match_early(payout: Transaction, *, now: datetime) -> list[Booking]:
    """Apply the returns that came before the payout ended."""
    early = PayoutReturn.objects.open().filter(transaction=payout, why=Why.PARTIAL)
    bookings: list[Booking] = []
    for payout_return in early.select_for_update().order_by("pk"):
        amount, currency = payout_return.amount, payout_return.currency
        payout_return.why = why_not(payout, amount=amount, currency=currency)
        if payout_return.why == Why.NONE:
            payout_return.applied = Applied.REVERSED
        payout_return.save(update_fields=["applied", "why"])
        if payout_return.applied == Applied.REVERSED:
            bookings += suspense.leaving(payout_return, reason=payout_return.reason, now=now)
            bookings.append(credit(payout, payout_return, actor=BANK, now=now))
    return bookings


def match_ended() -> int:
    """Apply early returns that arrived while their payout was being sent, and return the number of payouts.

    `transitions.finish` applies the others. It doesn't look for returns of a payout that the bank answers at once.
    """
    early = PayoutReturn.objects.open().filter(why=Why.PARTIAL)
    ended = early.exclude(transaction__status=Transaction.Status.PENDING).values_list(
        "transaction", flat=True
    )
    payouts = sorted(set(ended))
    for transaction_id in payouts:
        with database.atomic():
            ledger.book_all(match_early(lock(transaction_id), now=database_now()))
    return len(payouts)
