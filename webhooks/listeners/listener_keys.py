"""Signing keys of listeners. A key is derived from the business and the listener's name, and stored nowhere.

It signs copies of events in a sandbox and nothing else, so it may be shown each time that the listener begins.
"""

import hmac
from base64 import urlsafe_b64encode
from uuid import UUID

from django.conf import settings

PREFIX = "whk_listen_"
_PURPOSE = b"webhook listener"  # so that no other use of SECRET_KEY can make the same value


def hash_key(business_id: UUID, name: str) -> str:
    """Return the key that signs the copies of a listener. The same business and name always give the same key."""
    message = b"\n".join([_PURPOSE, str(business_id).encode(), name.encode()])
    digest = hmac.digest(settings.SECRET_KEY.encode(), message, "sha256")
    return PREFIX + urlsafe_b64encode(digest).decode().rstrip("=")
