"""The user's own account: password, second factors and sessions. allauth implements most of it."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from allauth.account import views as account
from allauth.core.ratelimit import respond_429
from allauth.mfa.base import views as factors
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes import views as codes
from allauth.mfa.totp import views as totp
from allauth.mfa.webauthn import views as passkeys
from allauth.usersessions.internal.flows.sessions import end_other_sessions, end_sessions
from allauth.usersessions.models import UserSession
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.utils.crypto import constant_time_compare
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_http_methods

from dashboard.account import audit
from dashboard.account.second_factor import totp_codes
from dashboard.account.second_factor.code_forms import SetUpCode
from dashboard.account.second_factor.webauthn_ceremonies import Purpose, ceremony
from dashboard.account.sign_in import known_devices, sign_in_limits
from dashboard.account.sign_in.user_agents import browser_named
from dashboard.memberships import Decorator, MemberRequest, person_action, person_form, person_page
from dashboard.mfa_policy import must_set_up
from kit.money.form_fields import EmailField
from kit.text.display_names import one_line
from kit.text.email_addresses import canonical
from merchants.models import User
from merchants.people.access import ENDS_SESSION, HARMLESS, SIGNS_IN, AccessRule, Limit, Who, attach
from merchants.people.attempt_limits import LimitReached

View = Callable[..., HttpResponseBase]


def sign_in_page(view: View, rule: AccessRule) -> View:
    """Wrap one of allauth's pages for users who aren't signed in: it must not be cached."""
    return attach(rule, require_http_methods(["GET", "HEAD", "POST"])(never_cache(view)))


def sign_in_form(action: str, *limits: Limit, of: Who = Who.PUBLIC, never_asks: str = SIGNS_IN) -> Decorator:
    rule = AccessRule(readers=of, writers=of, action=action, never_asks=never_asks, limits=limits)
    return lambda view: sign_in_page(view, rule)


# Sign-in
second_step = sign_in_form("enter the second step's code", Limit.CODE, Limit.PASSKEY)(
    ceremony(Purpose.SECOND_STEP, factors.authenticate)
)
use_passkey = sign_in_form("sign in with a passkey", Limit.PASSKEY)(
    ceremony(Purpose.SIGN_IN, passkeys.login_webauthn)
)
password_reset_sent = sign_in_page(account.password_reset_done, AccessRule(readers=Who.PUBLIC))
new_password_set = sign_in_page(account.password_reset_from_key_done, AccessRule(readers=Who.PUBLIC))


def confirming(view: Any, means: str, limit: Limit) -> View:
    """Show one of allauth's reauthentication pages, with the action to be confirmed."""

    def shown(request: HttpRequest) -> HttpResponseBase:
        known = {"minutes": settings.ACCOUNT_REAUTHENTICATION_TIMEOUT // 60}
        response: HttpResponseBase = view.as_view(extra_context=known)(request)
        return response

    return person_form(f"confirm with {means}", never_asks=SIGNS_IN, limits=(limit,))(shown)


# Recent reauthentication
confirm_by_password = confirming(account.ReauthenticateView, "the password", Limit.CONFIRMATION)
confirm_by_code = confirming(factors.ReauthenticateView, "a code", Limit.CONFIRMATION)
confirm_by_passkey = ceremony(
    Purpose.REAUTHENTICATION, confirming(passkeys.ReauthenticateWebAuthnView, "a passkey", Limit.PASSKEY)
)


@person_page(shows_secret=True)
def confirmed(request: MemberRequest) -> HttpResponse:
    """Lead back to the form for which the user confirmed in a new tab."""
    return render(request, "account/confirmed.html")


# The user's own account
turn_app_off = person_form("turn off the authenticator app", shows_secret=True)(totp.deactivate_totp)
show_codes = person_page(shows_secret=True)(codes.view_recovery_codes)
make_codes = person_form("create new recovery codes", shows_secret=True)(codes.generate_recovery_codes)
add_passkey = person_form("add a passkey", shows_secret=True, limits=(Limit.PASSKEY,))(
    ceremony(Purpose.REGISTRATION, passkeys.add_webauthn)
)
remove_passkey = person_form("remove a passkey", shows_secret=True)(passkeys.remove_webauthn)


@sign_in_form("request a password reset", Limit.RESET, never_asks="it mails a link")
def request_password_reset(request: HttpRequest) -> HttpResponse:
    """Request an email with a password reset link. The number of emails is limited."""
    if request.method == "POST":
        now = timezone.now()
        try:
            sign_in_limits.take_reset_mail(request, email=_entered_address(request), now=now)
        except LimitReached as limit:
            response: HttpResponse = respond_429(request)
            response.headers["Retry-After"] = str(limit.retry_after_seconds(now))
            return response
    page: HttpResponse = account.password_reset(request)
    return page


def _entered_address(request: HttpRequest) -> str:
    """Return the email address of a form, or an empty text if it isn't valid."""
    try:
        return canonical(EmailField().clean(request.POST.get("email", "")))
    except ValidationError:
        return ""


@sign_in_form("set a new password", of=Who.MAILED)
def new_password(request: HttpRequest, uidb36: str, key: str) -> HttpResponse:
    """Set a new password. The link was emailed to the user, so the browser becomes a known device."""
    response: HttpResponse = account.password_reset_from_key(request, uidb36=uidb36, key=key)
    user = getattr(request, "password_reset_of", None)
    if user is not None:
        known_devices.remember(request, response, user)
    return response


@person_form(
    "change one's password",
    never_asks="its form requires the current password",
    limits=(Limit.CONFIRMATION,),
)
def change_password(request: HttpRequest) -> HttpResponse:
    if not _user(request).has_usable_password():
        return redirect("account_reset_password")
    response: HttpResponse = account.password_change(request)
    return response


class SetUpView(totp.ActivateTOTPView):
    """Set up an authenticator app. The code that sets it up counts as used."""

    @transaction.atomic
    def form_valid(self, form: SetUpCode) -> HttpResponse:
        response: HttpResponse = super().form_valid(form)
        app = Authenticator.objects.get(user=self.request.user, type=Authenticator.Type.TOTP)
        totp_codes.mark_used(app, form.step)
        return response


@person_form("set up an authenticator app", shows_secret=True)
def set_app_up(request: MemberRequest) -> HttpResponse:
    user = request.user
    role = request.membership.member.role if request.membership else None
    is_required = isinstance(user, User) and must_set_up(request, user, role=role)
    view = SetUpView.as_view(extra_context={"must_set_up": is_required})
    response: HttpResponse = view(request)
    return response


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """A session as the account page shows it."""

    pk: int
    browser: str
    address: str
    since: datetime
    is_here: bool


@person_page()
def account_page(request: HttpRequest) -> HttpResponse:
    user = _user(request)
    mine = list(Authenticator.objects.filter(user=user).order_by("pk"))
    by_type = {each.type: each for each in mine}
    recovery = by_type.get(Authenticator.Type.RECOVERY_CODES)
    context = {
        "totp": by_type.get(Authenticator.Type.TOTP),
        "passkeys": [each for each in mine if each.type == Authenticator.Type.WEBAUTHN],
        "codes": recovery,
        "codes_left": len(recovery.wrap().get_unused_codes()) if recovery else 0,
        "sessions": _sessions(request, user),
    }
    return render(request, "account/index.html", context)


@person_action("change one's name", never_asks=HARMLESS)
def change_name(request: HttpRequest) -> HttpResponse:
    user = _user(request)
    user.name = one_line(request.POST.get("name", ""))[:200]
    user.save(update_fields=["name"])
    messages.success(request, "Name saved.")
    return redirect("mfa_index")


@person_action("end a session", never_asks=ENDS_SESSION)
def end_session(request: HttpRequest, session_id: int) -> HttpResponse:
    """End one of the user's own sessions."""
    session = get_object_or_404(UserSession, user=_user(request), pk=session_id)
    _end(request, [session])
    messages.success(request, "Session ended.")
    return redirect("mfa_index")


@person_action("end other sessions", never_asks="it ends sessions")
def end_others(request: HttpRequest) -> HttpResponse:
    user = _user(request)
    with transaction.atomic():
        end_other_sessions(request, user)
        audit.record(request, "session.others_ended", user=user, now=timezone.now())
    messages.success(request, "All other sessions ended.")
    return redirect("mfa_index")


@transaction.atomic
def _end(request: HttpRequest, sessions: list[UserSession]) -> None:
    for session in sessions:
        audit.record(
            request,
            "session.ended",
            user=session.user,
            before={"address": session.ip, "browser": browser_named(session.user_agent)},
            now=timezone.now(),
        )
    end_sessions(request, sessions)


def _sessions(request: HttpRequest, user: User) -> list[Session]:
    return [
        Session(
            pk=each.pk,
            browser=browser_named(each.user_agent),
            address=each.ip,
            since=each.created_at,
            is_here=constant_time_compare(each.session_key, request.session.session_key or ""),
        )
        for each in sorted(UserSession.objects.purge_and_list(user), key=lambda each: -each.pk)
    ]


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):
        raise TypeError("The user isn't signed in.")
    return request.user
