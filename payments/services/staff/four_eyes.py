"""The four-eyes rule: one staff member proposes what moves money or changes rights, and another confirms it.

Every action of `staff_actions` needs a second person where `FOUR_EYES` is on; rejecting a batch moves no money and is
not one of them. Without `FOUR_EYES`, an action is performed at once, except the approval of a batch without its money. With it, the action is stored and performed once when a second
person confirms it, under the lock of the proposal and after another check of the required state.

One exception: while an installation has one active superuser, that person changes users and groups alone, because only
superusers can confirm it. So the first superuser appoints the first colleague; see decision 0066.
"""

from datetime import datetime, timedelta
from uuid import UUID

from django.conf import settings
from django.contrib.auth.backends import ModelBackend
from django.db import transaction as database

from kit.db.prepared_statements import insert_if_absent
from kit.time.time_ordered_ids import new_id
from merchants.models import User
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import InvalidState, Proposal
from payments.services.staff import staff_actions
from payments.services.staff.staff_action import AfterCommit, StaffAction

State = Proposal.State
LIFETIME = timedelta(days=3)
EXPIRY = Actor(name="expiry")


class AlreadyProposed(InvalidState):
    default_detail = "There is already an open proposal for this. Confirm or decline it first."


class NotOpen(InvalidState):
    default_detail = "This proposal was already decided, or it has expired."


class ProposerNotPermitted(InvalidState):
    default_detail = "The person who proposed this no longer has permission to do it. Decline the proposal."


class NotPermitted(InvalidState):
    default_detail = "You don't have permission to do this."


class MadeByEarlierRelease(InvalidState):
    default_detail = "This proposal doesn't say what it was made about. Decline it, and propose it again."


class RightIsNewer(InvalidState):
    default_detail = (
        "You got the right to confirm this after it was proposed. Another person must confirm it."
    )


class SamePerson(InvalidState):
    default_detail = "Another person must confirm what you propose."


def submit(action: StaffAction, *, user: User, actor: Actor, now: datetime) -> Proposal | None:
    """Perform an action at once, or store and return it as a proposal if it needs a second person.

    :raises Problem: the state does not allow it
    :raises AlreadyProposed: another proposal about the same target is open
    :raises NotPermitted: the user has the right to the form, but not to the action
    """
    needs_second = settings.FOUR_EYES and action.needs_second_person and not is_alone(user, action.kind)
    if needs_second or action.is_exception:
        return _propose(action, user=user, actor=actor, now=now)
    with database.atomic():
        after_commit = staff_actions.perform(action, actor=actor, now=now)
    _call(after_commit)
    return None


def is_alone(user: User, kind: str) -> bool:
    """Return whether a superuser changes rights while there is no other one who could confirm it."""
    others = User.objects.filter(is_active=True, is_staff=True, is_superuser=True).exclude(pk=user.pk)
    return kind in staff_actions.OF_SUPERUSERS and user.is_superuser and not others.exists()


def confirm(proposal_id: UUID, *, user: User, actor: Actor, now: datetime) -> Proposal:
    """Perform an action that another person has proposed.

    :raises NotOpen: it was already decided, or it has expired
    :raises SamePerson: the user has proposed it
    :raises NotPermitted: the user may not perform it
    :raises RightIsNewer: the user got the right after the proposal was made
    :raises MadeByEarlierRelease: it doesn't say what it was made about
    :raises ProposerNotPermitted: the person who proposed it has lost that permission since
    :raises Changed: what it was made about has changed; the proposal stays open
    :raises Problem: the state does not allow it any more; the proposal stays open
    """
    expire_overdue(now=now)
    with database.atomic():
        proposal = _lock_open(proposal_id)
        if proposal.proposed_by_id == user.pk:
            raise SamePerson
        if not _may_perform(user.pk, proposal):
            raise NotPermitted
        if proposal.made_about is None or proposal.confirmers is None:
            raise MadeByEarlierRelease
        if user.pk not in proposal.confirmers:
            raise RightIsNewer
        if not _may_perform(proposal.proposed_by_id, proposal):
            raise ProposerNotPermitted
        after_commit = staff_actions.perform(_action_of(proposal), actor=actor, now=now)
        proposal.decide(State.CONFIRMED, by=user, reason="", now=now)
        _record(proposal, actor=actor, now=now)
    _call(after_commit)
    return proposal


def decline(proposal_id: UUID, *, user: User, reason: str, actor: Actor, now: datetime) -> Proposal:
    """Close a proposal without performing it: decline it, or withdraw one's own.

    :raises NotOpen: it was already decided, or it has expired
    """
    expire_overdue(now=now)
    with database.atomic():
        proposal = _lock_open(proposal_id)
        proposal.decide(State.DECLINED, by=user, reason=reason, now=now)
        _record(proposal, actor=actor, now=now)
    return proposal


@database.atomic
def expire_overdue(*, now: datetime) -> None:
    """Close the proposals that have expired."""
    for proposal in Proposal.objects.overdue(at=now).select_for_update().order_by("pk"):
        proposal.decide(State.EXPIRED, by=None, reason="", now=now)
        _record(proposal, actor=EXPIRY, now=now)


def _propose(action: StaffAction, *, user: User, actor: Actor, now: datetime) -> Proposal:
    if not staff_actions.may_confirm(user, action.kind):
        raise NotPermitted
    expire_overdue(now=now)
    with database.atomic():
        proposal = Proposal(
            id=new_id(now),
            action=action.kind,
            target=action.target,
            business=action.business,
            currency=action.currency,
            amount=action.amount,
            parameters=dict(action.parameters),
            made_about=dict(action.made_about),
            confirmers=_confirmers(action.kind),
            reason=action.reason,
            evidence=action.evidence,
            proposed_by=user,
            created_at=now,
            expires_at=now + LIFETIME,
        )
        if not insert_if_absent(proposal):
            raise AlreadyProposed
        audit.record(
            action="proposal.opened",
            actor=actor,
            business=proposal.business,
            target=str(proposal.pk),
            after={
                "action": str(proposal.action),
                "target": str(proposal.target),
                "amount": proposal.amount,
                "currency": proposal.currency,
                "parameters": proposal.parameters,
                "made_about": proposal.made_about,
                "reason": proposal.reason,
                "evidence": proposal.evidence,
            },
            now=now,
        )
    return proposal


def _lock_open(proposal_id: UUID) -> Proposal:
    proposal = (
        Proposal.objects.select_for_update(of=("self",))
        .select_related("business", "proposed_by")
        .get(pk=proposal_id)
    )
    if proposal.state != State.OPEN:
        raise NotOpen
    return proposal


def _may_perform(user_id: int, proposal: Proposal) -> bool:
    """Return whether a staff member may perform it now. Reads the permissions from the database, not the session."""
    person = User.objects.filter(pk=user_id, is_active=True, is_staff=True).first()
    return person is not None and staff_actions.may_confirm(person, proposal.action)


def _confirmers(kind: Proposal.Action) -> list[int]:
    """Return the ids of the people who may perform an action now. Later rights don't count: see decision 0066."""
    may = ModelBackend().with_perm(staff_actions.PERMISSIONS[kind]).filter(is_staff=True)
    return sorted(person.pk for person in may if staff_actions.may_confirm(person, kind))


def _action_of(proposal: Proposal) -> StaffAction:
    return StaffAction(
        kind=Proposal.Action(proposal.action),
        target=proposal.target,
        business=proposal.business,
        currency=proposal.currency,
        amount=proposal.amount,
        reason=proposal.reason,
        evidence=proposal.evidence,
        parameters=proposal.parameters,
        made_about=proposal.made_about or {},
        proposed_by=proposal.proposed_by.email,
    )


def _call(after_commit: AfterCommit | None) -> None:
    if after_commit is not None:
        after_commit()


def _record(proposal: Proposal, *, actor: Actor, now: datetime) -> None:
    audit.record(
        action=f"proposal.{proposal.state}",
        actor=actor,
        business=proposal.business,
        target=str(proposal.pk),
        before={"state": State.OPEN.value, "proposed_by": proposal.proposed_by.email},
        after={"state": str(proposal.state)}
        | ({"reason": proposal.decision_reason} if proposal.decision_reason else {}),
        now=now,
    )
