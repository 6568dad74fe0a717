"""allauth's forms for codes and passwords, with our limits and single-use codes."""

from typing import Any

from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.forms import ChangePasswordForm
from allauth.core import context
from allauth.mfa.adapter import get_adapter
from allauth.mfa.base.forms import AuthenticateForm, ReauthenticateForm
from allauth.mfa.internal.flows.add import validate_can_add_authenticator
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.forms import ActivateTOTPForm
from django.utils import timezone

from dashboard.account.second_factor import totp_codes
from dashboard.account.sign_in import sign_in_limits
from merchants.people import attempt_limits
from merchants.people.attempt_limits import LimitReached


class EntersCode:
    """A form with an authenticator code or a recovery code."""

    user: Any
    cleaned_data: dict[str, Any]
    _take = staticmethod(sign_in_limits.take_code)

    def clean_code(self) -> str:
        try:
            slots = self._take(context.request, user=self.user, now=timezone.now())
        except LimitReached:
            raise get_account_adapter().validation_error("too_many_login_attempts") from None
        code: str = self.cleaned_data["code"]
        factors = sorted(
            Authenticator.objects.filter(user=self.user).exclude(type=Authenticator.Type.WEBAUTHN),
            key=lambda each: each.type != Authenticator.Type.TOTP,  # a failure is reported for the app
        )
        accepted = next((each for each in factors if _accepts(each, code)), None)
        if accepted is None:
            if factors:
                self._emit_authentication_failed(factors[0])  # type: ignore[attr-defined]  # allauth's
            raise get_adapter().validation_error("incorrect_code")
        attempt_limits.release(slots)
        accepted.user = self.user
        self.authenticator = accepted
        return code


def _accepts(factor: Authenticator, code: str) -> bool:
    if factor.type == Authenticator.Type.TOTP:
        return totp_codes.use(factor, code)
    return bool(factor.wrap().validate_code(code))


class SecondStepCode(EntersCode, AuthenticateForm):
    """The second step of sign-in."""


class ConfirmationCode(EntersCode, ReauthenticateForm):
    """Reauthentication in an open session."""

    _take = staticmethod(sign_in_limits.take_confirmation)


class SetUpCode(ActivateTOTPForm):
    """The code that sets up an authenticator app, for the secret shown on the same page."""

    def clean_code(self) -> str:
        validate_can_add_authenticator(self.user)
        code: str = self.cleaned_data["code"]
        step = totp_codes.step_of(self.secret, code)
        if step is None:
            raise get_adapter().validation_error("incorrect_code")
        self.step = step
        return code


class PasswordChange(ChangePasswordForm):
    """A new password, after the current one."""

    def clean_oldpassword(self) -> str:
        try:
            slots = sign_in_limits.take_confirmation(context.request, user=self.user, now=timezone.now())
        except LimitReached:
            raise get_account_adapter().validation_error("rate_limited") from None
        password: str = super().clean_oldpassword()
        attempt_limits.release(slots)
        return password
