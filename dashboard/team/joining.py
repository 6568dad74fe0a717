"""The page that an invitation's link opens: for people who are not members yet, and may have no account."""

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

from dashboard.access import sit_at
from dashboard.team.forms import JoinForm
from merchants import roles, team
from merchants.callers import client_address
from merchants.models import Invitation, Member, User
from merchants.roles import Role


@method_decorator([sensitive_post_parameters("password"), never_cache], name="dispatch")
class JoinPage(View):
    """Say who invites to what, and let the person join."""

    def get(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            invitation = team.find_invitation(token, now=timezone.now())
        except team.InvitationHasEnded:
            return _page(request, None)
        return _page(request, invitation)

    def post(self, request: HttpRequest, token: str) -> HttpResponse:
        try:
            return self._join(request, token)
        except team.InvitationHasEnded:
            return _page(request, None)
        except team.OtherPerson:  # the page says which
            return self.get(request, token)

    def _join(self, request: HttpRequest, token: str) -> HttpResponse:
        now = timezone.now()
        invitation = team.find_invitation(token, now=now)
        person = request.user if isinstance(request.user, User) else None
        address = client_address(request)
        if person is not None or _has_account(invitation):
            if person is None or person.email.lower() != invitation.email.lower():
                raise team.OtherPerson
            member = team.join(token=token, person=person, address=address, now=now)
            return _welcome(request, member)
        form = JoinForm(request.POST, email=invitation.email)
        if not form.is_valid():
            return _page(request, invitation, form=form)
        member = team.join(token=token, person=None, address=address, now=now, **form.cleaned_data)
        # They have just shown that the address is theirs, and chosen the password: no need to ask for it.
        user = authenticate(request, username=member.user.email, password=form.cleaned_data["password"])
        login = Login(user=user, email=member.user.email, redirect_url="/dashboard/")
        response: HttpResponse = perform_password_login(request, {"email": member.user.email}, login)
        return response


def _welcome(request: HttpRequest, member: Member) -> HttpResponse:
    sit_at(request, member.business)
    messages.success(request, f"You have joined {member.business.name}.")
    return redirect("overview")


def _page(
    request: HttpRequest, invitation: Invitation | None, *, form: JoinForm | None = None
) -> HttpResponse:
    context: dict[str, Any] = {"invitation": invitation}
    if invitation is not None:
        person = request.user if isinstance(request.user, User) else None
        has_account = _has_account(invitation)
        is_theirs = person is not None and person.email.lower() == invitation.email.lower()
        context |= {
            "acts": roles.acts_of(Role(invitation.role)),
            "is_other_person": person is not None and not is_theirs,
            "has_account": has_account,
            "is_signed_in": is_theirs,
            "form": None if has_account else form or JoinForm(email=invitation.email),
        }
    return render(request, "dashboard/team/join.html", context)


def _has_account(invitation: Invitation) -> bool:
    return User.objects.filter(email__iexact=invitation.email).exists()
