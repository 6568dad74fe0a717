"""Cache of key pairs, per process.

The cache saves a query. The statement that records the request's nonce (`Nonce.objects.use`) checks the key again,
so a revoked key stops working at once. Other changes, such as the currencies of the business, take effect within
REMEMBERED_FOR.
"""

import time
from datetime import datetime

from kit.db.prepared_statements import Lookup
from merchants.models import ApiKey

REMEMBERED_FOR = 5.0  # seconds
SIZE = 4096


class KeyCache:
    """Cached keys by public id, each with its business."""

    def __init__(self) -> None:
        self._keys: dict[str, tuple[float, ApiKey]] = {}
        self._by_public_id = Lookup(ApiKey, "public_id", joined=("business",))

    def remembered(self, public_id: str) -> ApiKey | None:
        read_at, key = self._keys.get(public_id, (0.0, None))
        return key if time.monotonic() - read_at < REMEMBERED_FOR else None

    def fetch(self, public_id: str, *, now: datetime) -> ApiKey | None:
        """Read a key from the database; None if it is unknown, revoked or expired."""
        key = self._by_public_id.find(public_id)
        if key is None or not key.is_usable(at=now):
            self._keys.pop(public_id, None)
            return None
        if len(self._keys) >= SIZE:
            self._keys.clear()
        self._keys[public_id] = (time.monotonic(), key)
        return key


key_ring = KeyCache()
