"""Cache of key pairs, per process.

The cache saves a query. The statement that records the request's nonce (`nonces.use`) checks the key again,
so a revoked key stops working at once. Other changes, such as the currencies of the business, take effect within
CACHED_FOR.
"""

from datetime import datetime
from threading import Lock

from cachetools import TTLCache

from kit.db.prepared_statements import Lookup
from merchants.models import ApiKey

CACHED_FOR = 5.0  # seconds
SIZE = 4096


class KeyCache:
    """Cached keys by public id, each with its business."""

    def __init__(self) -> None:
        self._keys: TTLCache[str, ApiKey] = TTLCache(maxsize=SIZE, ttl=CACHED_FOR)
        self._lock = Lock()
        self._by_public_id = Lookup(ApiKey, "public_id", joined=("business",))

    def get(self, public_id: str) -> ApiKey | None:
        with self._lock:
            return self._keys.get(public_id)

    def fetch(self, public_id: str, *, now: datetime) -> ApiKey | None:
        """Read a key from the database; None if it is unknown, revoked or expired."""
        key = self._by_public_id.find(public_id)
        is_usable = key is not None and key.is_usable(at=now)
        with self._lock:
            if key is not None and is_usable:
                self._keys[public_id] = key
                return key
            self._keys.pop(public_id, None)
            return None


key_cache = KeyCache()
