"""Closing a business, and reopening it, as actions of staff.

A closed business begins nothing: its keys are revoked, its members and links are shut out, transfers to its accounts
become unapplied money, and its payouts are frozen. What has begun ends as it would have: payments get their outcome,
settlement batches are approved and released to its wallet, refunds and disputes are booked. Nothing is deleted.
"""

from datetime import datetime
from functools import partial

from django.db import transaction

from kit.text.plurals import counted
from merchants.api.api_keys import revoke_key
from merchants.models import ApiKey, Business
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, Proposal
from payments.services.payouts.controls import payout_freezes
from payments.services.staff.actions import closing_mail
from payments.services.staff.staff_action import StaffAction

Action = Proposal.Action
ACTIONS = (Action.CLOSE_BUSINESS, Action.REOPEN_BUSINESS)


class AlreadyClosed(InvalidState):
    default_detail = "This business is closed already."


class NotClosed(InvalidState):
    default_detail = "This business isn't closed."


def closing(business: Business, *, reason: str) -> StaffAction:
    """Return the closing of a business.

    :raises AlreadyClosed: it is closed
    """
    if not business.is_active:
        raise AlreadyClosed
    return _action(Action.CLOSE_BUSINESS, business, reason)


def reopening(business: Business, *, reason: str) -> StaffAction:
    """Return the reopening of a business. Its owners then create new keys, and its payouts stay frozen.

    :raises NotClosed: it isn't closed
    """
    if business.is_active:
        raise NotClosed
    return _action(Action.REOPEN_BUSINESS, business, reason)


def lock_and_make(action: StaffAction) -> StaffAction:
    """Lock the business, and make the same action about its present state."""
    business = Business.objects.select_for_update(no_key=True).get(pk=action.target)
    make = closing if action.kind == Action.CLOSE_BUSINESS else reopening
    return make(business, reason=action.reason)


def perform(action: StaffAction, actor: Actor, now: datetime) -> None:
    """Close or reopen the business, in the caller's transaction."""
    business = Business.objects.get(pk=action.target)
    closes = action.kind == Action.CLOSE_BUSINESS
    business.is_active = not closes
    business.closing_requested_at = None
    business.save(update_fields=["is_active", "closing_requested_at"])
    # Also when it is reopened: a key that was created while it was being closed must not begin to work then.
    revoked = _revoke_keys(business, actor=actor, now=now)
    if closes and not payout_freezes.is_frozen_business(business.pk):
        payout_freezes.freeze(business, reason=f"Closed: {action.reason}"[:255], actor=actor, now=now)
    audit.record(
        action="business.closed" if closes else "business.reopened",
        actor=actor,
        business=business,
        target=str(business.pk),
        before={"is_active": closes},
        after={
            "is_active": not closes,
            "reason": action.reason,
            "revoked": counted(revoked, "key pair"),
        },
        now=now,
    )
    transaction.on_commit(partial(closing_mail.mail_owners, business), robust=True)


def _revoke_keys(business: Business, *, actor: Actor, now: datetime) -> int:
    keys = list(ApiKey.objects.filter(business=business, revoked_at__isnull=True).order_by("pk"))
    for key in keys:
        revoke_key(key=key, actor=actor, now=now)
    return len(keys)


def _action(kind: Proposal.Action, business: Business, reason: str) -> StaffAction:
    return StaffAction(
        kind=kind,
        target=business.pk,
        business=business,
        reason=reason,
        parameters={"name": business.name},
        made_about={"is_active": business.is_active},
    )
