"""Settings of a business's payout controls. Tightening applies at once; loosening needs a second owner, or 24 hours.

With one owner, what loosens applies after 24 hours, and the page shows it until then.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import partial
from typing import Any, Unpack
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ValidationError
from django.db import transaction as database

from kit.db.one_by_one import one_by_one
from kit.db.rows.columns import save_columns
from kit.money.money import money
from kit.time.time_ordered_ids import new_id
from merchants.models import Business, Member, User
from merchants.people import audit
from merchants.people.audit import Actor, Recorded
from payments.models import InvalidState, PayoutControls, PayoutControlsChange
from payments.services.payouts.controls.approvals import members_who_may
from payments.services.payouts.controls.payout_limits import AMOUNTS, NAMES, NUMBER
from webhooks.models import Endpoint
from webhooks.services import refusal_of_url

State = PayoutControlsChange.State
WAIT = timedelta(hours=24)
APPROVAL = ("approval", "approval_above")  # loosened together
SETTINGS = (*NAMES, "ask_instead", *APPROVAL, "keys_need_approval", "two_approvals_above", "server_url")
TIMER = Actor(name="timer")
ENOUGH_TO_APPROVE = 2  # members


class NotOpen(InvalidState):
    default_detail = "This change was already decided."


class NeedsAnotherOwner(InvalidState):
    default_detail = "Another owner must confirm this change."


class TooFewApprovers(Exception):
    """All payouts of a business need approval, and no member could approve those of another one."""

    def __init__(self) -> None:
        super().__init__(
            "All payouts need approval, and nobody else could approve them then. First invite another owner or finance "
            "member, or change the approval under Settings → Payouts."
        )


def controls_of(business: Business) -> PayoutControls:
    """Return the controls of a business, with defaults if it has none."""
    return PayoutControls.objects.filter(business=business).first() or PayoutControls(business=business)


def open_change_of(business: Business) -> PayoutControlsChange | None:
    changes = PayoutControlsChange.objects.filter(business=business, state=State.OPEN)
    return changes.select_related("made_by").first()


@database.atomic
def change(
    *, business: Business, user: User, actor: Actor, now: datetime, **values: Any
) -> PayoutControlsChange | None:
    """Change settings by their names. Returns the change that waits, if some of it loosens the controls.

    :raises ValidationError: a value isn't allowed; nothing was changed
    """
    PayoutControls.objects.get_or_create(business=business)
    controls = _lock(business.pk)
    _check(controls, values)
    before = {name: getattr(controls, name) for name in SETTINGS}
    waiting = _loosened(before, before | values)
    changed = {name for name in values if values[name] != before[name]}
    _apply(controls, {name: values[name] for name in changed - waiting}, actor=actor, now=now)
    if not waiting & changed:
        return None
    return _open(
        controls, {name: values[name] for name in waiting & changed}, user=user, actor=actor, now=now
    )


def _lock(business_id: UUID) -> PayoutControls:
    return (
        PayoutControls.objects.select_for_update(of=("self",))
        .select_related("business")
        .get(business=business_id)
    )


def _check(controls: PayoutControls, values: Mapping[str, Any]) -> None:
    errors: dict[str, str] = {}
    for name in NAMES:
        errors |= _above_cap(name, values.get(name), controls.caps.get(name))
    errors |= _approval_errors(controls.business, values) | _server_errors(controls.business, values)
    if errors:
        raise ValidationError(errors)


def require_approvers(business: Business) -> None:
    """Check that each payout of a business can be approved, after a member has lost a role.

    :raises TooFewApprovers: all payouts need approval, and fewer than two members could approve them
    """
    is_always = controls_of(business).approval == PayoutControls.Approval.ALWAYS
    if is_always and members_who_may(business).count() < ENOUGH_TO_APPROVE:
        raise TooFewApprovers


def _approval_errors(business: Business, values: Mapping[str, Any]) -> dict[str, str]:
    approval = values.get("approval")
    is_always = approval == PayoutControls.Approval.ALWAYS
    if is_always and members_who_may(business).count() < ENOUGH_TO_APPROVE:
        text = "Invite another owner or finance member first: members can't approve their own payouts."
        return {"approval": text}
    if approval == PayoutControls.Approval.ABOVE and not values.get("approval_above"):
        return {"approval_above": "Enter the amount above which payouts need approval."}
    return {}


def _server_errors(business: Business, values: Mapping[str, Any]) -> dict[str, str]:
    url = values.get("server_url")
    if not url:
        return {}
    refusal = refusal_of_url(url, strict=not settings.SANDBOX)
    if refusal is None and not Endpoint.objects.first_of(business).exists():
        refusal = "Set up webhooks first: the question is signed with your webhook signing key."
    return {"server_url": refusal} if refusal else {}


def _above_cap(name: str, value: Any, cap: Any) -> dict[str, str]:
    if name == NUMBER:
        is_above = value is not None and cap is not None and value > cap
        return {name: f"The operator allows at most {cap}."} if is_above else {}
    above = [each for each, amount in (value or {}).items() if amount > (cap or {}).get(each, amount)]
    return {name: f"The operator allows at most {money(cap[above[0]], above[0])}."} if above else {}


def _loosened(before: Mapping[str, Any], after: Mapping[str, Any]) -> set[str]:
    """Return the names of the settings whose new values protect less."""
    names = {name for name in (*AMOUNTS, "two_approvals_above") if _is_raised(before[name], after[name])}
    if _is_raised({"": before[NUMBER]}, {"": after[NUMBER]}):
        names.add(NUMBER)
    if after["ask_instead"] and not before["ask_instead"] and any(before[name] for name in NAMES):
        names.add("ask_instead")
    if before["keys_need_approval"] and not after["keys_need_approval"] and before["approval"] != "never":
        names.add("keys_need_approval")
    if before["server_url"] not in {"", after["server_url"]}:
        names.add("server_url")
    if _approves_less(before, after):
        names |= set(APPROVAL)
    return names


def _is_raised(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    """Return whether an amount is higher, or missing, in a currency that had one."""
    return any(
        amount is not None and (after.get(each) is None or after[each] > amount)
        for each, amount in before.items()
    )


def _approves_less(before: Mapping[str, Any], after: Mapping[str, Any]) -> bool:
    if before["approval"] == PayoutControls.Approval.NEVER:
        return False
    if before["approval"] == PayoutControls.Approval.ALWAYS:
        return bool(after["approval"] != PayoutControls.Approval.ALWAYS)
    if after["approval"] == PayoutControls.Approval.ABOVE:
        return _is_raised(before["approval_above"], after["approval_above"])
    return bool(after["approval"] == PayoutControls.Approval.NEVER)


def _apply(controls: PayoutControls, values: dict[str, Any], *, actor: Actor, now: datetime) -> None:
    if not values:
        return
    before = {name: getattr(controls, name) for name in values}
    save_columns(controls, **values)
    _record("payout_controls.changed", controls, before=before, after=values, actor=actor, now=now)


def _open(
    controls: PayoutControls, changes: dict[str, Any], *, user: User, actor: Actor, now: datetime
) -> PayoutControlsChange:
    """Store a change that waits. It replaces an earlier one."""
    earlier = PayoutControlsChange.objects.filter(business=controls.business_id, state=State.OPEN)
    earlier.update(state=State.WITHDRAWN, decided_by=user, decided_at=now)
    opened = PayoutControlsChange.objects.create(
        id=new_id(now),
        business=controls.business,
        changes=changes,
        made_by=user,
        created_at=now,
        applies_at=None if _owners(controls.business).exclude(user=user).exists() else now + WAIT,
    )
    before = {name: getattr(controls, name) for name in changes}
    _record("payout_controls.change_asked", controls, before=before, after=changes, actor=actor, now=now)
    return opened


@database.atomic
def cap(business: Business, caps: dict[str, Any], *, reason: str, actor: Actor, now: datetime) -> None:
    """Set the highest values of the limits, by their names. They hold at once, whatever owners have set."""
    PayoutControls.objects.get_or_create(business=business)
    controls = _lock(business.pk)
    before, controls.caps = controls.caps, caps
    controls.save(update_fields=["caps"])
    after = caps | {"reason": reason}
    _record("payout_controls.capped", controls, before=before, after=after, actor=actor, now=now)


@database.atomic
def confirm(change_id: UUID, *, user: User, actor: Actor, now: datetime) -> None:
    """Apply a change as a second owner.

    :raises NotOpen: it was decided, or applies automatically
    :raises NeedsAnotherOwner: the user has made it, or is no owner
    """
    found, controls = _lock_open(change_id)
    if found.applies_at is not None:
        raise NotOpen
    if found.made_by_id == user.pk or not _owners(found.business).filter(user=user).exists():
        raise NeedsAnotherOwner
    _apply(controls, found.changes, actor=actor, now=now)
    _decide(found, State.APPLIED, user=user, now=now)


@database.atomic
def withdraw(change_id: UUID, *, user: User, actor: Actor, now: datetime) -> None:
    """Withdraw a change that waits, or decline it as another owner.

    :raises NotOpen: it was decided
    """
    found, controls = _lock_open(change_id)
    _decide(found, State.WITHDRAWN, user=user, now=now)
    _record(
        "payout_controls.change_withdrawn", controls, before=found.changes, after={}, actor=actor, now=now
    )


def apply_due(*, now: datetime) -> int:
    """Apply the changes whose 24 hours are over, and return how many this call has applied."""
    due = PayoutControlsChange.objects.filter(state=State.OPEN, applies_at__lte=now)
    keys = due.values_list("pk", flat=True)
    applied = one_by_one(partial(_apply_one, now=now), keys, failure="payout controls not changed")
    return sum(filter(None, applied))


@database.atomic
def _apply_one(change_id: UUID, *, now: datetime) -> bool:
    try:
        found, controls = _lock_open(change_id)
    except NotOpen:
        return False  # another process was first
    _apply(controls, found.changes, actor=TIMER, now=now)
    _decide(found, State.APPLIED, user=None, now=now)
    return True


def _lock_open(change_id: UUID) -> tuple[PayoutControlsChange, PayoutControls]:
    found = PayoutControlsChange.objects.get(pk=change_id)
    controls = _lock(found.business_id)
    found = PayoutControlsChange.objects.select_for_update(of=("self",)).get(pk=change_id)
    if found.state != State.OPEN:
        raise NotOpen
    return found, controls


def _decide(found: PayoutControlsChange, state: str, *, user: User | None, now: datetime) -> None:
    found.state, found.decided_by, found.decided_at = state, user, now
    found.save(update_fields=["state", "decided_by", "decided_at"])


def _owners(business: Business) -> Any:
    return Member.objects.active(business, [Member.Role.OWNER])


def _record(action: str, controls: PayoutControls, **recorded: Unpack[Recorded]) -> None:
    target = str(controls.business_id)
    audit.record(action=action, business=controls.business, target=target, **recorded)
