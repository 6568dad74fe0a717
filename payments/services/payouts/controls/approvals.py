"""Approval of payouts inside the business: by other members than their maker, of exactly what they saw.

One payout or a set of payouts waits for it. The owner of the set (a single payout: `waiting_payouts`) calls this module
inside the transaction in which it changes its own state, after locking its own rows.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

from django.db.models import QuerySet
from rest_framework import status

from kit.api.errors import Problem
from kit.money.money import money
from kit.time.time_ordered_ids import new_id
from merchants.models import Business, Member, MemberQuerySet, User
from merchants.people.audit import Actor
from merchants.people.roles import GRANTS, Permission
from payments.models import InvalidState, PayoutApproval, PayoutApprovalGrant, PayoutControls, Transaction
from payments.services.payouts.controls.makers import Maker
from payments.services.payouts.controls.payout_freezes import require_not_frozen

State = PayoutApproval.State
LIFETIME = timedelta(hours=72)
EXPIRY = Actor(name="72 hours without a decision")
ROLES = GRANTS[Permission.PAY_OUT]


class MayNotApprove(Problem):
    """A member may not approve these payouts."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "invalid_state"


class AlreadyDecided(InvalidState):
    default_detail = "This was already decided, or its time is over."


class AlreadyApproved(InvalidState):
    default_detail = "You have already approved this. Another member must approve it too."


class ApprovalChanged(InvalidState):
    default_detail = "The payouts have changed since approval was asked for. Nothing was sent."


class PayoutItem(NamedTuple):
    """What is approved of one payout. The amount is in minor units."""

    reference: str
    amount: int
    currency: str
    account_number: str
    bank_code: str
    name: str
    narration: str = ""
    purpose: str = ""


class Needed(NamedTuple):
    """How many members must approve payouts, and why."""

    approvals: int
    why: str


NOT_NEEDED = Needed(0, "")


def item_of(payout: Transaction) -> PayoutItem:
    return PayoutItem(
        reference=payout.reference,
        amount=payout.amount,
        currency=payout.currency,
        account_number=payout.account_number,
        bank_code=payout.bank_code,
        name=payout.customer_name,
        narration=payout.narration,
        purpose=payout.purpose,
    )


def digest_of(items: Iterable[PayoutItem]) -> str:
    """Return the SHA-256 of payouts in their order, in lower-case hex."""
    digest = hashlib.sha256()
    for item in items:
        digest.update(json.dumps(item, ensure_ascii=False).encode() + b"\n")
    return digest.hexdigest()


def needed(controls: PayoutControls | None, items: Iterable[PayoutItem], *, maker: Maker) -> Needed:
    """Return how many members must approve payouts by the settings of the business. Amounts of a set are added up."""
    if controls is None or (maker.is_key and not controls.keys_need_approval):
        return NOT_NEEDED
    why = _why(controls, sums := _sums(items))
    return Needed(approvals_for(controls, sums), why) if why else NOT_NEEDED


def approvals_for(controls: PayoutControls, sums: Counter[str]) -> int:
    """Return how many members must approve, once approval is needed. `sums` are minor units by currency."""
    return 2 if _above(controls.two_approvals_above, sums) else 1


def _why(controls: PayoutControls, sums: Counter[str]) -> str:
    if controls.approval == PayoutControls.Approval.ALWAYS:
        return "Every payout needs approval"
    if controls.approval != PayoutControls.Approval.ABOVE:
        return ""
    currency = _above(controls.approval_above, sums)
    return f"Above {money(controls.approval_above[currency], currency)}" if currency else ""


def _above(amounts: dict[str, int], sums: Counter[str]) -> str:
    """Return the first currency in which a sum is above the amount, or an empty string."""
    return next((each for each, total in sums.items() if each in amounts and total > amounts[each]), "")


def _sums(items: Iterable[PayoutItem]) -> Counter[str]:
    sums: Counter[str] = Counter()
    for item in items:
        sums[item.currency] += item.amount
    return sums


def open_approval(
    *,
    business: Business,
    items: Iterable[PayoutItem],
    maker: Maker,
    needed: Needed,
    now: datetime,
    payout: Transaction | None = None,
) -> PayoutApproval:
    """Ask the members of a business for approval. `payout` is the payout itself where it is a single one."""
    return PayoutApproval.objects.create(
        id=new_id(now),
        business=business,
        transaction=payout,
        digest=digest_of(items),
        why=needed.why,
        needed=needed.approvals,
        maker_id=maker.user_id,
        key_id=maker.key_id,
        created_at=now,
        expires_at=now + LIFETIME,
    )


def approve(approval_id: UUID, *, items: Iterable[PayoutItem], user: User, now: datetime) -> PayoutApproval:
    """Record a member's approval. The payouts may be sent if the returned one is `approved`.

    `items` are the payouts as they would be sent now.

    :raises AlreadyDecided: it doesn't wait any more
    :raises MayNotApprove: the member made the payouts, or their key, or may not make payouts
    :raises AlreadyApproved: the member has approved it before
    :raises ApprovalChanged: the payouts aren't those that approval was asked for
    :raises PayoutsFrozen: staff have frozen the payouts of the business
    """
    approval = _lock_waiting(approval_id, now=now)
    refusal = why_not(approval, user)
    if refusal:
        raise MayNotApprove(refusal)
    require_not_frozen(approval.business_id)
    if digest_of(items) != approval.digest:
        raise ApprovalChanged
    _, is_new = PayoutApprovalGrant.objects.get_or_create(approval=approval, user=user, defaults={"at": now})
    if not is_new:
        raise AlreadyApproved
    if approval.grants.count() >= approval.needed:
        _decide(approval, State.APPROVED, user=user, reason="", now=now)
    return approval


def close(
    approval_id: UUID,
    state: PayoutApproval.State,
    *,
    now: datetime,
    user: User | None = None,
    reason: str = "",
) -> PayoutApproval:
    """End an approval without sending anything: rejected, cancelled or expired.

    The maker may reject too: nothing is sent.

    :raises AlreadyDecided: it doesn't wait any more
    """
    approval = _lock_waiting(approval_id, now=None)
    _decide(approval, state, user=user, reason=reason, now=now)
    return approval


def require_unchanged(approval: PayoutApproval, items: Iterable[PayoutItem]) -> None:
    """Compare what was approved with what is about to be sent.

    :raises ApprovalChanged: they differ, or it isn't approved
    """
    if approval.state != State.APPROVED or digest_of(items) != approval.digest:
        raise ApprovalChanged


def why_not(approval: PayoutApproval, user: User, *, what: str = "this payout") -> str:
    """Return why a member may not approve, or an empty string."""
    item = getattr(approval.transaction, "batch_item", None)  # whose account another member may have changed
    if user.pk in {approval.maker_id, item and item.corrected_by_id}:
        made = f"the key that made {what}" if approval.key_id else what
        return f"You made {made}. Another member with the role owner or finance must approve it."
    if not members_who_may(approval.business).filter(user=user).exists():
        return "Only owners and finance may approve payouts."
    return ""


def members_who_may(business: Business) -> MemberQuerySet:
    """Return the members who may make and approve payouts."""
    return Member.objects.active(business, ROLES)


def waiting(business: Business) -> QuerySet[PayoutApproval]:
    """Return what waits for approval, newest first."""
    found = PayoutApproval.objects.filter(business=business, state=State.WAITING)
    return found.select_related("transaction", "maker", "key").order_by("-pk")


def unmailed() -> QuerySet[PayoutApproval]:
    """Return what waits for approval without that its members were mailed, oldest first."""
    found = PayoutApproval.objects.filter(state=State.WAITING, mailed_at=None)
    return found.select_related("business", "transaction", "batch", "maker", "key").order_by("pk")


def overdue(*, at: datetime) -> QuerySet[PayoutApproval]:
    """Return what has waited for too long. While payouts are frozen, time stands still."""
    found = PayoutApproval.objects.filter(state=State.WAITING, expires_at__lte=at)
    frozen = PayoutControls.objects.filter(frozen_at__isnull=False).values("business")
    return found.exclude(business__in=frozen)


def _lock_waiting(approval_id: UUID, *, now: datetime | None) -> PayoutApproval:
    approval = (
        PayoutApproval.objects.select_for_update(of=("self",)).select_related("business").get(pk=approval_id)
    )
    is_over = now is not None and approval.expires_at <= now
    if approval.state != State.WAITING or is_over:
        raise AlreadyDecided
    return approval


def _decide(
    approval: PayoutApproval,
    state: PayoutApproval.State,
    *,
    user: User | None,
    reason: str,
    now: datetime,
) -> None:
    approval.state, approval.decided_by, approval.reason, approval.decided_at = state, user, reason, now
    approval.save(update_fields=["state", "decided_by", "reason", "decided_at"])
