"""The invitation page, for people who aren't members yet and may not have an account."""

from http import HTTPStatus
from typing import Any

from allauth.account.internal.flows.login import perform_password_login
from allauth.account.models import Login
from django.contrib import messages
from django.contrib.auth import authenticate
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.decorators import method_decorator
from django.views import View
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters

from dashboard.memberships import select_business
from dashboard.team.forms import JoinForm
from dashboard.team.invitation_mail import is_configured, send_invitation
from merchants.models import Invitation, Member, User
from merchants.people import roles, team
from merchants.people.access import Limit, Who, open_to
from merchants.people.attempt_limits import LimitReached
from merchants.people.request_actors import client_address
from merchants.people.roles import Role


@open_to(Who.INVITED, writers=Who.INVITED, action="join a business", limits=(Limit.INVITATION,))
@method_decorator([sensitive_post_parameters("password"), never_cache], name="dispatch")
class JoinPage(View):
    """Show the invitation, and accept it."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            invitation = team.find_invitation(token, now=timezone.now())
        except team.InvitationHasEnded:
            return _page(request, None)
        return _page(request, invitation, token)

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            return self._mail(request, token) if "mail" in request.POST else self._join(request, token)
        except team.InvitationHasEnded:
            return _page(request, None)
        except (team.OtherPerson, team.AddressNotProven):  # the page explains the next step
            return self.get(request, token)

    def _join(self, request: HttpRequest, token: str) -> HttpResponse:
        now = timezone.now()
        invitation = team.find_invitation(token, now=now)
        person = request.user if isinstance(request.user, User) else None
        address = client_address(request)
        if person is not None or (team.proves_address(invitation, token) and _has_account(invitation)):
            if person is None or person.email.lower() != invitation.email.lower():
                raise team.OtherPerson
            member = team.join(token=token, person=person, address=address, now=now)
            return _welcome(request, member)
        if not team.proves_address(invitation, token):
            raise team.AddressNotProven
        form = JoinForm(request.POST, email=invitation.email)
        if not form.is_valid():
            return _page(request, invitation, token, form=form)
        member = team.join(token=token, person=None, address=address, now=now, **form.cleaned_data)
        # The link in the email proved the address, and the password was set just now, so it isn't asked for again.
        user = authenticate(request, username=member.user.email, password=form.cleaned_data["password"])
        login = Login(user=user, email=member.user.email, redirect_url="/dashboard/")
        response: HttpResponse = perform_password_login(request, {"email": member.user.email}, login)
        return response

    def _mail(self, request: HttpRequest, token: str) -> HttpResponse:
        """Email the link that proves the address, at the request of a user who has the shared link."""
        now = timezone.now()
        invitation = team.find_invitation(token, now=now)
        try:
            team.count_mail(invitation, now=now)
        except LimitReached as limit:
            page = _page(request, invitation, token, mail="limited", retry_at=limit.retry_at)
            page.status_code = HTTPStatus.TOO_MANY_REQUESTS
            page.headers["Retry-After"] = str(limit.retry_after_seconds(now))
            return page
        was_mailed = send_invitation(invitation, token=team.mailed_token(invitation, token))
        return _page(request, invitation, token, mail="sent" if was_mailed else "failed")


def _welcome(request: HttpRequest, member: Member) -> HttpResponse:
    select_business(request, member.business)
    messages.success(request, f"You've joined {member.business.name}.")
    return redirect("overview")


def _page(
    request: HttpRequest,
    invitation: Invitation | None,
    token: str = "",
    *,
    form: JoinForm | None = None,
    **details: Any,
) -> HttpResponse:
    context: dict[str, Any] = {"invitation": invitation, "sends_mail": is_configured(), **details}
    if invitation is not None:
        person = request.user if isinstance(request.user, User) else None
        is_proven = team.proves_address(invitation, token)
        # Looked up for the link in the email only: the inviter must not learn whether the address has an account.
        has_account = is_proven and _has_account(invitation)
        is_theirs = person is not None and person.email.lower() == invitation.email.lower()
        context |= {
            "actions": roles.actions_of(Role(invitation.role)),
            "is_other_person": person is not None and not is_theirs,
            "has_account": has_account,
            "is_signed_in": is_theirs,
            "is_proven": is_proven,
            "form": None if has_account or is_theirs else form or JoinForm(email=invitation.email),
        }
    return render(request, "dashboard/team/join.html", context)


def _has_account(invitation: Invitation) -> bool:
    return User.objects.filter(email__iexact=invitation.email).exists()
