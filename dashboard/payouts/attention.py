"""What a member has to do about payouts: what waits for approval, and what came back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from typing import cast

from django.urls import reverse

from dashboard.memberships import Membership
from dashboard.payouts.list_summary import ListSummary
from dashboard.transactions.detail.payout_failures import failure_of
from dashboard.ui.components.todo import Item
from kit.money.money import money
from kit.text.plurals import counted
from payments.models import PayoutReturn, Transaction
from payments.services.refunds.refused_returns import money_of

SHOWN = 2
RETURNED_WITHIN = timedelta(days=7)
AGAIN = "The money is in your balance. Ask for another account to pay again."


def attention(
    membership: Membership, summary: ListSummary, rows: Sequence[Transaction | PayoutReturn], *, now: datetime
) -> list[Item]:
    """Return the first of them: the newest batch that waits, and what the rows of the list say."""
    payouts = [each for each in rows if isinstance(each, Transaction)]
    waiting = [_waiting(each) for each in payouts if each.awaiting == Transaction.Awaiting.APPROVAL]
    recent = [each for each in rows if isinstance(each, PayoutReturn) and each.at > now - RETURNED_WITHIN]
    returned = [_returned(each, may_pay=membership.may["pay_out"]) for each in recent[:SHOWN]]
    of_approval = [*_waiting_batch(summary), *waiting]
    # What came back has a place beside all that waits.
    return [*of_approval[: SHOWN - bool(returned)], *returned][:SHOWN]


def _waiting_batch(summary: ListSummary) -> Iterator[Item]:
    if summary.waiting is None:
        return
    amount = money(summary.waiting_amount or 0, summary.waiting_currency or "")
    yield Item(
        tone="",
        icon="user-group",
        what=f"“{summary.waiting_title}” needs approval",
        why=f"{counted(summary.waiting_number or 0, 'payout')}, {amount}. Without a decision it is cancelled",
        until=summary.waiting_until,
        address=reverse("dashboard-batch", args=[summary.waiting]),
        action="View batch",
    )


def _waiting(payout: Transaction) -> Item:
    return Item(
        tone="",
        icon="user-group",
        what=f"{money(payout.amount, payout.currency)} to {payout.customer_name} needs approval",
        why="An owner or finance member other than its maker may approve or reject it.",
        address=reverse("dashboard-payout-approval", args=[payout.pk]),
        action="View payout",
    )


def _returned(returned: PayoutReturn, *, may_pay: bool) -> Item:
    payout = cast("Transaction", returned.transaction)  # an applied return has one
    is_whole = returned.amount == payout.amount
    failure = failure_of(payout, reopened=money_of(payout.reference) if is_whole else None)
    money_is = failure.text if failure else AGAIN
    said = (
        f"{payout.bank_name}: {returned.reason}." if returned.reason else f"{payout.bank_name} sent it back."
    )
    return Item(
        tone="note",
        icon="arrow-uturn-left",
        what=f"{money(returned.amount, returned.currency)} to {payout.customer_name} was returned",
        why=f"{said} {money_is}",
        address=failure.address if failure and may_pay else reverse("dashboard-payout", args=[payout.pk]),
        action=failure.action if failure and may_pay else "View payout",
    )
