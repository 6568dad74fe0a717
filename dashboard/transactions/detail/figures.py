"""The strip of figures at the top of a transaction's page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from kit.money.money import money
from payments.models import Transaction
from payments.rules.fees import Charge, FeeRule
from payments.rules.outcomes import WALLET_TOO_LOW
from payments.services.transactions.transitions import charge_of

UNAPPLIED_AGAIN = "Back in its unapplied transfer"


@dataclass(frozen=True, slots=True, kw_only=True)
class Figure:
    """An amount in minor units, with a note."""

    name: str
    amount: int
    note: str = ""


def figures_of(transaction: Transaction, *, is_unapplied_again: bool = False) -> list[Figure]:
    """Return at most five figures: what was paid, what it costs, what was taken back and what remains.

    `is_unapplied_again`: a payout went back to the unapplied transfer that it returned.
    """
    if transaction.request_type == Transaction.RequestType.PAYOUT:
        return list(_of_payout(transaction, is_unapplied_again=is_unapplied_again))
    if transaction.request_type == Transaction.RequestType.PAYMENT:
        return list(_of_payment(transaction))
    return []


def _of_payment(payment: Transaction) -> Iterator[Figure]:
    collected = payment.amount_collected
    yield Figure(name="Amount", amount=payment.amount)
    if payment.status != Transaction.Status.SUCCESS:
        return
    if collected != payment.amount:
        yield Figure(name="Captured", amount=collected)
    yield Figure(name="Fee", amount=-payment.fee, note=_fee_note(payment))
    if payment.fee_tax and not (payment.amount_disputed and payment.amount_refunded):  # there is no room
        yield Figure(name="Tax", amount=-payment.fee_tax, note="On the fee")
    if payment.amount_refunded or payment.amount_being_refunded:
        yield Figure(name="Refunded", amount=-payment.amount_refunded, note=refund_left_note(payment))
    if payment.amount_disputed:
        yield Figure(name="Disputed", amount=-payment.amount_disputed, note="Held, or lost to the cardholder")
        if payment.amount_refunded:
            return
    if collected == payment.amount or not payment.amount_refunded:
        taken = payment.amount_refunded + payment.amount_disputed
        yield Figure(name="Net", amount=collected - payment.charge.total - taken)


def refund_left_note(payment: Transaction) -> str:
    """Return what refunds in progress take, or what is left to refund."""
    pending = payment.amount_being_refunded
    if pending:
        return f"{money(pending, payment.currency)} pending"
    return f"{money(payment.amount_refundable, payment.currency)} left"


def _of_payout(payout: Transaction, *, is_unapplied_again: bool) -> Iterator[Figure]:
    yield Figure(name="Amount", amount=payout.amount)
    if payout.status == Transaction.Status.FAILED:
        yield Figure(name="Fee", amount=0)
        note = UNAPPLIED_AGAIN if is_unapplied_again else _why_not_debited(payout)
        yield Figure(name="Debited", amount=0, note=note)
        return
    charge = charge_of(payout)
    yield Figure(name="Fee", amount=charge.fee)
    if charge.taxes:
        yield Figure(name="Tax", amount=charge.taxes, note=_tax_note(charge, payout.currency))
    yield Figure(name="Debited", amount=debited_by(payout), note="From your balance")
    if payout.amount_returned:
        note = UNAPPLIED_AGAIN if is_unapplied_again else "To your balance"
        yield Figure(name="Returned", amount=payout.amount_returned, note=note)


def _tax_note(charge: Charge, currency: str) -> str:
    if not charge.stamp_duty:
        return "On the fee"
    return f"{money(charge.stamp_duty, currency)} stamp duty" if charge.tax else "Stamp duty"


def debited_by(payout: Transaction) -> int:
    """Return what a payout debits when it is accepted: its amount, and fee and tax, which are stored only at its end."""
    return payout.amount + charge_of(payout).total


def was_never_debited(payout: Transaction) -> bool:
    """Return whether a payout failed because the balance was too low. Others are debited when they are accepted."""
    is_failed = payout.status == Transaction.Status.FAILED
    return is_failed and payout.response_code == WALLET_TOO_LOW.code


def _why_not_debited(failed: Transaction) -> str:
    if was_never_debited(failed):
        return "Your balance was too low"
    return f"{money(debited_by(failed), failed.currency)} credited back"


def _fee_note(payment: Transaction) -> str:
    """Return how the fee was calculated, such as "1.5%, capped"."""
    rule = FeeRule.from_snapshot(payment.fee_rule)
    if not rule.basis_points:
        return ""
    percentage = f"{rule.basis_points / 100:g}%"
    if rule.cap is not None and payment.fee == rule.cap:
        return f"{percentage}, capped"
    is_waived = payment.amount_collected < rule.fixed_waived_below
    return (
        percentage if is_waived or not rule.fixed else f"{percentage} + {money(rule.fixed, payment.currency)}"
    )
