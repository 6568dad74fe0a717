"""What a person has to do about the payouts that a list shows: those that wait for approval, and those that came back."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta

from django.urls import reverse

from dashboard.ui.todo import Item
from kit.money.money import money
from payments.models import Transaction

SHOWN = 2
RETURNED_WITHIN = timedelta(days=7)  # of the payout


def attention(payouts: Sequence[Transaction], *, now: datetime) -> list[Item]:
    """Return the first of them. It reads nothing: batches that wait are on the overview and in their own list."""
    waiting = [_waiting(each) for each in payouts if each.awaiting == Transaction.Awaiting.APPROVAL]
    recent = [each for each in payouts if each.created_at > now - RETURNED_WITHIN]
    returned = [_returned(each) for each in recent if each.amount_returned == each.amount]
    return [*waiting[:SHOWN], *returned[:SHOWN]][:SHOWN]


def _waiting(payout: Transaction) -> Item:
    return Item(
        tone="",
        icon="user-group",
        what=f"{money(payout.amount, payout.currency)} to {payout.customer_name} needs approval",
        why="An owner or finance member other than its maker may approve or reject it.",
        address=reverse("dashboard-payout-approval", args=[payout.pk]),
        action="View payout",
    )


def _returned(payout: Transaction) -> Item:
    return Item(
        tone="note",
        icon="arrow-uturn-left",
        what=f"{money(payout.amount, payout.currency)} to {payout.customer_name} was returned",
        why=f"{payout.bank_name} sent it back. The money is in your balance. Ask for another account to pay again.",
        address=reverse("dashboard-payout", args=[payout.pk]),
        action="View payout",
    )
