"""Signed-in clients and software authenticators."""

import hashlib
import json
import os
import string
import time
from datetime import timedelta

from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session
from django.test import Client
from django.utils import timezone
from django.utils.crypto import get_random_string
from fido2.cose import ES256
from fido2.utils import websafe_encode
from fido2.webauthn import Aaguid, AttestationObject, AttestedCredentialData, AuthenticatorData


def signed_in(user, *, fresh=True, client=None):
    """Return a client with the user's session. `fresh`: the user has recently reauthenticated.

    The session is one row. `force_login` makes two, in 18 statements, and many tests sign in several people.
    """
    client = client or Client(raise_request_exception=False)
    values = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: settings.AUTHENTICATION_BACKENDS[0],
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    if fresh:
        values["account_authentication_methods"] = [{"method": "password", "at": time.time()}]
        values["account_authentication_methods_user"] = str(user.pk)
    session = Session.objects.create(
        session_key=get_random_string(32, string.ascii_lowercase + string.digits),
        session_data=SessionStore().encode(values),
        expire_date=timezone.now() + timedelta(seconds=settings.SESSION_COOKIE_AGE),
    )
    client.cookies[settings.SESSION_COOKIE_NAME] = session.session_key
    return client


class Device:
    """A software authenticator with one passkey. It verifies its user unless `verifies` is off."""

    def __init__(self, host="testserver", *, verifies=True):
        self.host = host
        self.verifies = verifies
        self.key = ec.generate_private_key(ec.SECP256R1())
        self.id = os.urandom(16)

    def create(self, options):
        """Return what a browser posts for the options of a registration."""
        credential = AttestedCredentialData.create(
            Aaguid.NONE, self.id, ES256.from_cryptography_key(self.key.public_key())
        )
        data = self._data(AuthenticatorData.FLAG.AT, credential)
        return self._answer(
            clientDataJSON=self._client_data("webauthn.create", options),
            attestationObject=bytes(AttestationObject.create("none", data, {})),
        )

    def get(self, options, *, user=None):
        """Return what a browser posts for the options of a sign-in, with the user handle if `user` is
        given.
        """
        data, client = self._data(), self._client_data("webauthn.get", options)
        signature = self.key.sign(bytes(data) + hashlib.sha256(client).digest(), ec.ECDSA(hashes.SHA256()))
        handle = {"userHandle": user_pk_to_url_str(user).encode()} if user else {}
        return self._answer(
            clientDataJSON=client, authenticatorData=bytes(data), signature=signature, **handle
        )

    def _data(self, flags=0, *credential):
        flags |= AuthenticatorData.FLAG.UP | (AuthenticatorData.FLAG.UV if self.verifies else 0)
        return AuthenticatorData.create(hashlib.sha256(self.host.encode()).digest(), flags, 0, *credential)

    def _client_data(self, kind, options):
        challenge = options["publicKey"]["challenge"]
        document = {"type": kind, "challenge": challenge, "origin": f"https://{self.host}"}
        return json.dumps(document).encode()

    def _answer(self, **response):
        return json.dumps(
            {
                "id": websafe_encode(self.id),
                "rawId": websafe_encode(self.id),
                "type": "public-key",
                "clientExtensionResults": {},
                "response": {name: websafe_encode(value) for name, value in response.items()},
            }
        )


def passkey_of(user, name="Phone", *, device=None):
    """Add a passkey to a user, as if a device had created it."""
    document = json.loads((device or Device()).create({"publicKey": {"challenge": ""}}))
    return Authenticator.objects.create(
        user=user, type=Authenticator.Type.WEBAUTHN, data={"name": name, "credential": document}
    )
