"""Key pairs that this process has read a moment ago.

A remembered key is a hint that saves a query: whether it is still good is asked again, in the statement
that records the request's nonce (`Nonce.objects.use`). So a revoked key ends at once; other changes of a
key's business, such as its currencies, are seen within REMEMBERED_FOR.
"""

import time
from datetime import datetime

from kit.db.prepared_statements import Lookup
from merchants.models import ApiKey

REMEMBERED_FOR = 5.0  # seconds
SIZE = 4096


class KeyRing:
    """Keys by public id, with the business of each."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[float, ApiKey]] = {}
        self._by_public_id = Lookup(ApiKey, "public_id", joined=("business",))

    def remembered(self, public_id: str) -> ApiKey | None:
        read_at, key = self._keys.get(public_id, (0.0, None))
        return key if time.monotonic() - read_at < REMEMBERED_FOR else None

    def fetch(self, public_id: str, *, now: datetime) -> ApiKey | None:
        """Read the key from the database; None where it is unknown, revoked or expired."""
        key = self._by_public_id.find(public_id)
        if key is None or not key.is_usable(at=now):
            self._keys.pop(public_id, None)
            return None
        if len(self._keys) >= SIZE:
            self._keys.clear()
        self._keys[public_id] = (time.monotonic(), key)
        return key


key_ring = KeyRing()
