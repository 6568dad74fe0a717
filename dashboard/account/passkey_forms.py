"""allauth's forms for passkeys, kept from falling over what is no passkey at all."""

import binascii
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.models import Authenticator
from allauth.mfa.webauthn import forms
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from django.forms import Form, HiddenInput
from fido2.webauthn import AuthenticationResponse, AuthenticatorData, RegistrationResponse

from kit.bounded_json import BoundedJSONField

# What its libraries raise at bytes that a stranger made up.
UNREADABLE = (
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
    RecursionError,
    binascii.Error,
    struct.error,
    InvalidSignature,
    UnsupportedAlgorithm,
)


@contextmanager
def refusing_nonsense() -> Iterator[None]:
    try:
        yield
    except UNREADABLE:
        raise get_adapter().validation_error("incorrect_code") from None


class _HoldsCredential(Form):
    """Replaces allauth's field, which fails on JSON that is nested too deeply."""

    credential = BoundedJSONField(widget=HiddenInput)


class NotVerified(ValueError):
    """The device did not ask its user for a PIN, a fingerprint or the like."""


class MakesPasskey(_HoldsCredential, forms.AddWebAuthnForm):
    """Add a passkey, but only one whose device verified its user, whatever the page sent."""

    def clean(self) -> dict[str, Any]:
        with refusing_nonsense():
            cleaned: dict[str, Any] = super().clean() or {}
            if "credential" in cleaned:
                made = RegistrationResponse.from_dict(cleaned["credential"])
                _require_verified(made.response.attestation_object.auth_data)
        return cleaned


class UsesPasskey(_HoldsCredential):
    """Authenticate by a passkey whose device verifies its user now, and did so when the passkey was added.

    Without the second condition, the thief of a security key that has no PIN could set one and sign in.
    """

    def clean_credential(self) -> Authenticator:
        with refusing_nonsense():
            used = AuthenticationResponse.from_dict(self.cleaned_data["credential"])
            _require_verified(used.response.authenticator_data)
            passkey: Authenticator = super().clean_credential()  # type: ignore[misc]  # allauth's
            _require_verified(passkey.wrap().authenticator_data)
        return passkey


def _require_verified(data: AuthenticatorData) -> None:
    if not data.is_user_verified():
        raise NotVerified


class SecondStep(UsesPasskey, forms.AuthenticateWebAuthnForm):
    pass


class SignIn(UsesPasskey, forms.LoginWebAuthnForm):
    pass


class Confirmation(UsesPasskey, forms.ReauthenticateWebAuthnForm):
    pass
