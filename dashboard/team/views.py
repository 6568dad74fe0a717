"""Members of a business, their roles, and invitations."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any
from uuid import UUID

from allauth.mfa.models import Authenticator
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.db import transaction as database
from django.db.models import Exists, OuterRef, Q
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone

from dashboard.memberships import Membership, NotInThisRole, members_action, members_form, members_page
from dashboard.mfa_policy import FACTORS
from dashboard.team.forms import InviteForm, RoleForm
from dashboard.team.invitation_mail import send_invitation
from merchants.models import Invitation, Member
from merchants.people import roles, team
from merchants.people.access import Limit
from merchants.people.attempt_limits import LimitReached
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission, Role
from payments.services.payouts.controls import payout_settings

LAST_OWNER = "A business needs at least one owner. Give another member the owner role first."


@members_page
def team_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    now = timezone.now()
    factors = Authenticator.objects.filter(user=OuterRef("user"), type__in=FACTORS)
    members = (
        Member.objects.filter(business=membership.business)
        .select_related("user")
        .annotate(has_second_factor=Exists(factors))
        .order_by("created_at", "pk")
    )
    invitations = list(
        Invitation.objects.filter(business=membership.business, ended_at__isnull=True)
        .select_related("invited_by")
        .annotate(has_expired=Q(expires_at__lte=now))
        .order_by("-created_at")[:100]
    )
    context = {"membership": membership, "members": members, "invitations": invitations, "roles": _roles()}
    return render(request, "dashboard/team/members.html", context)


@members_form("invite a person", may=Permission.MANAGE_TEAM, limits=(Limit.INVITATION,))
def invite_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    form = InviteForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            return _invite(request, membership, form)
        except team.AlreadyMember:
            form.add_error("email", "This person is already a member of the business.")
        except team.MayNotInvite:
            raise NotInThisRole(roles.denial_reason(Permission.MANAGE_TEAM)) from None
        except LimitReached as limit:
            form.add_error(None, _limit_error(limit))
    context = {"membership": membership, "form": form, "roles": _roles()}
    return render(request, "dashboard/team/invite.html", context)


def _invite(request: HttpRequest, membership: Membership, form: InviteForm) -> HttpResponse:
    inviter = membership.member.user
    offer = team.invite(
        business=membership.business,
        email=form.cleaned_data["email"],
        role=form.cleaned_data["role"],
        inviter=inviter,
        actor=person_acting(request),
        now=timezone.now(),
    )
    link = settings.PUBLIC_URL + reverse("invitation", args=[offer.token])
    context = {
        "membership": membership,
        "link": link,
        "email": offer.invitation.email,
        "role": offer.invitation.get_role_display(),
        "expires_at": offer.invitation.expires_at,
        "was_mailed": send_invitation(offer.invitation, token=offer.mailed_token),
    }
    return render(request, "dashboard/team/invite.html", context)


LIMITS = {
    team.PER_BUSINESS.name: "This business has reached its limit of invitations ({slots} a day)",
    team.PER_INVITER.name: "You have reached your limit of invitations ({slots} a day)",
    team.PER_BUSINESS_AND_ADDRESS.name: "This business has reached its limit of invitations to this address ({slots} a day)",
    team.PER_ADDRESS.name: "This address has reached its limit of invitations ({slots} a day)",
}


def _limit_error(limit: LimitReached) -> str:
    reason = LIMITS[limit.limit.name].format(slots=limit.limit.slots)
    return f"{reason}. Try again after {timezone.localtime(limit.retry_at):%-d %B, %H:%M}."


@members_action("cancel an invitation", may=Permission.MANAGE_TEAM)
def withdraw(request: HttpRequest, membership: Membership, invitation_id: UUID) -> HttpResponse:
    invitation = get_object_or_404(Invitation, business=membership.business, pk=invitation_id)
    try:
        team.withdraw(invitation=invitation, actor=person_acting(request), now=timezone.now())
        messages.success(request, "Invitation cancelled. Its link no longer works.")
    except team.InvitationHasEnded:
        messages.warning(request, "This invitation has already been used or cancelled.")
    return redirect("dashboard-team")


@members_form("change a member's role", may=Permission.MANAGE_TEAM)
def member_page(request: HttpRequest, membership: Membership, member_id: int) -> HttpResponse:
    """Show a member, and save a new role."""
    member = _member(membership, member_id)
    if request.method != "POST":
        context = {"membership": membership, "member": member, "roles": _roles()}
        return render(request, "dashboard/team/member.html", context)
    form = RoleForm(request.POST)
    if not form.is_valid():
        messages.error(request, "Choose a role.")
        return redirect("dashboard-member", member_id)
    try:
        role = form.cleaned_data["role"]
        with _as_manager(request, membership, member) as manager:
            team.change_role(member=member, role=role, **manager)
        messages.success(request, f"{member.user.email} now has the {Role(role).label.lower()} role.")
    except team.LastOwner:
        messages.error(request, LAST_OWNER)
    except payout_settings.TooFewApprovers as refusal:
        messages.error(request, str(refusal))
    return redirect("dashboard-team")


@members_form("remove a member", may=Permission.MANAGE_TEAM)
def remove_page(request: HttpRequest, membership: Membership, member_id: int) -> HttpResponse:
    """Explain the removal of a member, and remove the member."""
    member = _member(membership, member_id)
    if request.method != "POST":
        return render(request, "dashboard/team/remove.html", {"membership": membership, "member": member})
    try:
        with _as_manager(request, membership, member) as manager:
            team.remove(member=member, **manager)
    except team.LastOwner:
        messages.error(request, LAST_OWNER)
        return redirect("dashboard-team")
    except payout_settings.TooFewApprovers as refusal:
        messages.error(request, str(refusal))
        return redirect("dashboard-team")
    if member.pk == membership.member.pk:
        return redirect("overview")
    for session in UserSession.objects.filter(user=member.user):
        session.end()
    messages.success(request, f"{member.user.email} was removed from the business and signed out.")
    return redirect("dashboard-team")


@contextmanager
def _as_manager(request: HttpRequest, membership: Membership, changed: Member) -> Iterator[dict[str, Any]]:
    """Yield the actor of a change. Respond with 403 or 404 if the permission or the member was removed meanwhile.

    :raises TooFewApprovers: too few members could approve payouts after it; nothing was changed
    """
    try:
        with database.atomic():
            yield {"by": membership.member.user, "actor": person_acting(request), "now": timezone.now()}
            if roles.may(changed.role, Permission.PAY_OUT):
                payout_settings.require_approvers(membership.business)
    except team.MayNotManage:
        raise NotInThisRole(roles.denial_reason(Permission.MANAGE_TEAM)) from None
    except Member.DoesNotExist:
        raise Http404 from None


def _member(membership: Membership, member_id: int) -> Member:
    members = Member.objects.select_related("business", "user")
    return get_object_or_404(members, business=membership.business, pk=member_id)


def _roles() -> Sequence[dict[str, Any]]:
    return [
        {"value": role.value, "name": role.label, "actions": roles.actions_of(role)}
        for role in (Role.OWNER, Role.DEVELOPER, Role.FINANCE, Role.VIEWER)
    ]
