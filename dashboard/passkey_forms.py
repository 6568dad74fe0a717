"""allauth's forms for passkeys, kept from falling over what is no passkey at all."""

import binascii
import struct
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from allauth.mfa.adapter import get_adapter
from allauth.mfa.webauthn import forms
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm

# What its libraries raise at bytes that a stranger made up.
UNREADABLE = (
    AttributeError,
    IndexError,
    KeyError,
    TypeError,
    ValueError,
    OverflowError,
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


class MakesPasskey(forms.AddWebAuthnForm):
    def clean(self) -> dict[str, Any]:
        with refusing_nonsense():
            cleaned: dict[str, Any] = super().clean()
        return cleaned


class UsesPasskey:
    def clean_credential(self) -> Any:
        with refusing_nonsense():
            return super().clean_credential()  # type: ignore[misc]  # allauth's


class SecondStep(UsesPasskey, forms.AuthenticateWebAuthnForm):
    pass


class SignIn(UsesPasskey, forms.LoginWebAuthnForm):
    pass


class Confirmation(UsesPasskey, forms.ReauthenticateWebAuthnForm):
    pass
