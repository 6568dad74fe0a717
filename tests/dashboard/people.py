"""People in front of a browser."""

import hashlib
import json
import os
import time

from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives.asymmetric import ec
from django.test import Client
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData


def signed_in(user, *, fresh=True, client=None):
    """Return a client with the user's session; fresh as if the password had just been given."""
    client = client or Client(raise_request_exception=False)
    client.force_login(user)
    if fresh:
        session = client.session
        session["account_authentication_methods"] = [{"method": "password", "at": time.time()}]
        session["account_authentication_methods_user"] = str(user.pk)
        session.save()
    return client


def passkey_of(user, name="Phone"):
    """Give somebody a passkey, as if a device had made it."""
    key = ES256.from_cryptography_key(ec.generate_private_key(ec.SECP256R1()).public_key())
    credential = AttestedCredentialData.create(Aaguid.NONE, os.urandom(16), key)
    data = AuthenticatorData.create(
        hashlib.sha256(b"testserver").digest(), AuthenticatorData.FLAG.AT, 0, credential
    )
    response = {
        "id": websafe_encode(credential.credential_id),
        "rawId": websafe_encode(credential.credential_id),
        "type": "public-key",
        "response": {
            "clientDataJSON": websafe_encode(
                json.dumps({"type": "webauthn.create", "challenge": "", "origin": ""}).encode()
            ),
            "attestationObject": websafe_encode(AttestationObject.create("none", data, {})),
        },
        "clientExtensionResults": {},
    }
    return Authenticator.objects.create(
        user=user, type=Authenticator.Type.WEBAUTHN, data={"name": name, "credential": response}
    )
