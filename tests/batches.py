"""Payout batches for tests."""

from django.utils import timezone

from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import PayoutControls
from payments.services.payouts.controls.makers import NO_MAKER
from payout_batches.models import PayoutBatch
from payout_batches.serializers import PayoutBatchSerializer
from payout_batches.services import batches, checks, sending
from tests import orders

ACTOR = Actor(name="test")


def checked_batch(business: Business, *items: dict[str, object], **changes: str) -> PayoutBatch:
    """Store a batch and have its accounts checked."""
    request = PayoutBatchSerializer().run_validation(orders.payout_batch(*items, **changes))
    made = batches.create(
        business=business, request=request, maker=NO_MAKER, actor=ACTOR, now=timezone.now()
    ).resource
    checks.check_due()
    made.refresh_from_db()
    return made


def completed_batch(business: Business, *items: dict[str, object], **changes: str) -> PayoutBatch:
    """Have a batch checked, approved and sent."""
    made = checked_batch(business, *items, **changes)
    batches.approve(made.pk, actor=ACTOR, now=timezone.now())
    sending.send_due()
    made.refresh_from_db()
    return made


def waiting_batch(business: Business, *items: dict[str, object]) -> PayoutBatch:
    """Have a batch wait for approval by members."""
    PayoutControls.objects.update_or_create(business=business, defaults={"approval": "always"})
    made = checked_batch(business, *items)
    return batches.approve(made.pk, actor=ACTOR, now=timezone.now()).resource


def cancelled_batch(business: Business, *items: dict[str, object]) -> PayoutBatch:
    made = checked_batch(business, *items)
    return batches.cancel(made.pk, actor=ACTOR, now=timezone.now()).resource
