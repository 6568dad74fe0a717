"""Settings of allauth, which implements sessions, second factors and passwords."""

from typing import Any
from urllib.parse import urlsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context
from allauth.mfa.adapter import DefaultMFAAdapter
from allauth.mfa.models import Authenticator
from django.conf import settings
from django.contrib import messages
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone

from dashboard.account import audit
from dashboard.account.reauthentication.recent import is_recent
from dashboard.account.safe_redirect import is_safe_path
from dashboard.account.sign_in import known_devices, sign_in_limits
from kit.db import encrypted_field
from merchants.models import User
from merchants.people import attempt_limits
from merchants.people.attempt_limits import LimitReached
from merchants.people.request_actors import client_address

# Texts for allauth's messages. Messages that aren't listed aren't shown.
MESSAGES = {
    "account/messages/password_changed.txt": "Password changed.",
    "mfa/messages/totp_activated.txt": "Authenticator app set up.",
    "mfa/messages/totp_deactivated.txt": "Authenticator app turned off.",
    "mfa/messages/webauthn_added.txt": "Passkey added.",
    "mfa/messages/webauthn_removed.txt": "Passkey removed.",
}


class AccountAdapter(DefaultAccountAdapter):
    """Sessions and passwords."""

    error_messages = DefaultAccountAdapter.error_messages | {
        "incorrect_password": "Incorrect password.",
        "enter_current_password": "Incorrect password.",
        "too_many_login_attempts": "Too many failed attempts. Try again in 15 minutes.",
        "rate_limited": "Too many failed attempts. Try again in 15 minutes.",
        "invalid_password_reset": "This link has already been used or has expired.",
    }

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False  # users are invited

    def is_safe_url(self, url: str) -> bool:
        return is_safe_path(url or "")

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_address(request)

    def get_reset_password_from_key_url(self, key: str) -> str:
        uid, _, token = key.partition("-")
        # Not from the request: its sender chooses the Host header.
        return settings.PUBLIC_URL + reverse(
            "account_reset_password_from_key", kwargs={"uidb36": uid, "key": token}
        )

    def format_email_subject(self, subject: str) -> str:
        return str(subject)

    def get_password_change_redirect_url(self, request: HttpRequest) -> str:
        return reverse("mfa_index")

    @transaction.atomic
    def login(self, request: HttpRequest, user: User) -> None:
        super().login(request, user)
        audit.record(request, "session.signed_in", user=user, now=timezone.now())

    def post_login(self, request: HttpRequest, user: User, **details: Any) -> HttpResponse:
        """Remember the browser as a known device, now that sign-in is complete."""
        response: HttpResponse = super().post_login(request, user, **details)
        known_devices.remember(request, response, user)
        return response

    def reauthenticate(self, user: User, password: str) -> bool:
        request = context.request
        try:
            slots = sign_in_limits.take_confirmation(request, user=user, now=timezone.now())
        except LimitReached:
            raise self.validation_error("rate_limited") from None
        if user.check_password(password):
            attempt_limits.release(slots)
            return True
        audit.record(request, "session.confirmation_failed", user=user, now=timezone.now())
        return False

    def respond_user_inactive(self, request: HttpRequest, user: User) -> HttpResponse:
        messages.error(request, "This account is deactivated. Contact the operator of this service.")
        return redirect("sign-in")

    def get_reauthentication_methods(self, user: User) -> list[dict[str, Any]]:
        """Return the reauthentication methods, with a description of passkeys in our terms."""
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        for method in methods:
            if method["url"] == reverse("mfa_reauthenticate_webauthn"):
                method["description"] = "Use a passkey"
        return methods

    def is_reauthentication_required(self, *, app: str, **_: Any) -> bool:
        return not is_recent(context.request)

    def add_message(  # noqa: PLR0917  (the library's own signature)
        self,
        request: HttpRequest,
        level: int,
        message_template: str | None = None,
        message_context: dict[str, Any] | None = None,
        extra_tags: str = "",
        message: str | None = None,
    ) -> None:
        text = message or MESSAGES.get(message_template or "")
        if text:
            messages.add_message(request, level, text)


class MFAAdapter(DefaultMFAAdapter):
    """Second factors."""

    error_messages = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "Incorrect or already used code. Enter the next code.",
    }

    def get_totp_issuer(self) -> str:
        return "Sluice" if not settings.SANDBOX else "Sluice sandbox"

    def encrypt(self, text: str) -> str:
        return encrypted_field.encrypt(text)

    def decrypt(self, encrypted_text: str) -> str:
        return encrypted_field.decrypt(encrypted_text)

    def generate_authenticator_name(self, user: User, type: Authenticator.Type) -> str:  # noqa: A002
        return f"Passkey {Authenticator.objects.filter(user=user, type=type).count() + 1}"

    def get_public_key_credential_rp_entity(self) -> dict[str, str]:
        # A sandbox is opened under any of its machine's names. Production has one name.
        host = context.request.get_host() if settings.SANDBOX else urlsplit(settings.PUBLIC_URL).netloc
        return {"id": host.partition(":")[0], "name": "Sluice"}
