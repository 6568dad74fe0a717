"""Payouts that wait, and changes of controls that wait."""

from typing import Any

from django.utils import timezone

from kit.time.time_ordered_ids import new_id
from merchants.models import Business, User
from payments.models import PayoutControls, PayoutControlsChange, Transaction
from tests import orders
from tests.transactions import start


def waiting_payout(business: Business, **changes: Any) -> Transaction:
    """Return a payout that waits for approval, of a business whose other payouts don't."""
    PayoutControls.objects.update_or_create(business=business, defaults={"approval": "always"})
    payout = start(orders.payout(**changes), business=business, now=timezone.now())
    PayoutControls.objects.update(approval="never")
    return payout


def waiting_change(business: Business, *, made_by: User) -> PayoutControlsChange:
    """Return a change that a second owner must confirm."""
    now = timezone.now()
    change: PayoutControlsChange = PayoutControlsChange.objects.create(
        id=new_id(now), business=business, changes={"number_per_day": None}, made_by=made_by, created_at=now
    )
    return change
