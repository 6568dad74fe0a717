"""Freezes of a business's payouts by staff: nothing new is accepted or sent. What was sent continues."""

from datetime import datetime
from uuid import UUID

from django.db import transaction as database
from django.db.models import F, Value
from django.db.models.functions import Greatest
from rest_framework import status

from kit.api.errors import Problem
from merchants.models import Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import CardOperation, InvalidState, PayoutApproval, PayoutControls, Transaction
from payments.services.rails.rail_queries import rail_outages


class PayoutsFrozen(Problem):
    """Staff have frozen the business's payouts."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "payouts_frozen"
    default_detail = "The operator has frozen the payouts of this business. Nothing was stored."


def is_frozen(subject: Transaction | CardOperation) -> bool:
    """Return whether an order is a payout that must wait. Refunds aren't frozen."""
    if isinstance(subject, CardOperation) or subject.request_type != Transaction.RequestType.PAYOUT:
        return False
    return is_frozen_business(subject.business_id)


def is_frozen_business(business_id: UUID) -> bool:
    return PayoutControls.objects.filter(business=business_id, frozen_at__isnull=False).exists()


def require_not_frozen(business_id: UUID) -> None:
    """:raises PayoutsFrozen: the payouts of the business are frozen"""
    if is_frozen_business(business_id):
        raise PayoutsFrozen("The operator has frozen the payouts of this business.")


@database.atomic
def freeze(business: Business, *, reason: str, actor: Actor, now: datetime) -> None:
    """Freeze the payouts of a business.

    :raises InvalidState: they are frozen
    """
    PayoutControls.objects.get_or_create(business=business)
    controls = PayoutControls.objects.select_for_update().get(business=business)
    if controls.frozen_at is not None:
        raise InvalidState("The payouts of this business are frozen already.")
    controls.frozen_at, controls.freeze_reason = now, reason
    controls.save(update_fields=["frozen_at", "freeze_reason"])
    audit.record(
        action="payouts.frozen",
        actor=actor,
        business=business,
        target=str(business.pk),
        after={"reason": reason},
        now=now,
    )


def frozen_controls(business_id: UUID) -> tuple[PayoutControls, datetime]:
    """Return the controls of a business with frozen payouts, and since when they are frozen.

    :raises InvalidState: they aren't frozen, or the business is closed, and they stay so
    """
    _require_open(Business.objects.get(pk=business_id))
    return _require_frozen(PayoutControls.objects.filter(business=business_id).first())


def lock_frozen(business_id: UUID) -> tuple[PayoutControls, datetime]:
    """Return the same, locked until the database transaction ends. The business is locked first, as its closing does.

    :raises InvalidState: they aren't frozen, or the business is closed, and they stay so
    """
    _require_open(Business.objects.select_for_update(no_key=True).get(pk=business_id))
    locked = PayoutControls.objects.select_for_update().filter(business=business_id)
    return _require_frozen(locked.first())


def _require_open(business: Business) -> None:
    if not business.is_active:
        raise InvalidState("This business is closed. Reopen it before you lift the freeze.")


def _require_frozen(controls: PayoutControls | None) -> tuple[PayoutControls, datetime]:
    if controls is None or controls.frozen_at is None:
        raise InvalidState("The payouts of this business aren't frozen.")
    return controls, controls.frozen_at


@database.atomic
def lift(business: Business, *, reason: str, actor: Actor, now: datetime) -> None:
    """Lift the freeze. Approvals have as much time left as when it began, or when they were asked for. Unsent payouts are due.

    :raises InvalidState: the payouts aren't frozen, or the business is closed
    """
    controls, frozen_at = lock_frozen(business.pk)
    before = controls.freeze_reason
    controls.frozen_at, controls.freeze_reason = None, ""
    controls.save(update_fields=["frozen_at", "freeze_reason"])
    waiting = PayoutApproval.objects.filter(business=business, state=PayoutApproval.State.WAITING)
    since = Greatest("created_at", Value(frozen_at))  # batches are asked about while payouts are frozen, too
    waiting.update(expires_at=F("expires_at") + (Value(now) - since))
    unsent = Transaction.objects.unanswered().filter(
        business=business, request_type=Transaction.RequestType.PAYOUT
    )
    rail_outages.bring_forward(unsent, now=now)
    audit.record(
        action="payouts.unfrozen",
        actor=actor,
        business=business,
        target=str(business.pk),
        before={"reason": before},
        after={"reason": reason},
        now=now,
    )
