"""allauth's forms for passkeys, with errors for malformed credentials and required user verification."""

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

from kit.files.bounded_json import BoundedJSONField

# What the libraries raise for malformed credentials.
MALFORMED = (
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
def rejecting_malformed() -> Iterator[None]:
    try:
        yield
    except MALFORMED:
        raise get_adapter().validation_error("incorrect_code") from None


class _HoldsCredential(Form):
    """Replaces allauth's field, which fails on JSON that is nested too deeply."""

    credential = BoundedJSONField(widget=HiddenInput)


class NotVerified(ValueError):
    """The device didn't verify its user, for example by PIN or fingerprint."""


class MakesPasskey(_HoldsCredential, forms.AddWebAuthnForm):
    """Add a passkey, if its device verified its user."""

    def clean(self) -> dict[str, Any]:
        with rejecting_malformed():
            cleaned: dict[str, Any] = super().clean() or {}
            if "credential" in cleaned:
                made = RegistrationResponse.from_dict(cleaned["credential"])
                _require_verified(made.response.attestation_object.auth_data)
        return cleaned


class UsesPasskey(_HoldsCredential):
    """Authenticate by a passkey whose device verifies its user now, and did when the passkey was added.

    Without the second condition, the thief of a security key without a PIN could set one and sign in.
    """

    def clean_credential(self) -> Authenticator:
        with rejecting_malformed():
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
