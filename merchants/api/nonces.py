"""Nonces of signed requests: each is used once per key, and kept until its timestamp is no longer accepted."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any, TypeVar

from django.conf import settings
from django.db import connection, models

from kit.db.batched_purge import PIECE
from kit.db.prepared_statements import Lookup
from merchants.models import ApiKey, Nonce

M = TypeVar("M", bound=models.Model)

_USE = """
    INSERT INTO merchants_nonce (api_key_id, nonce, used_at)
    SELECT api_key.id, %s, %s
    FROM merchants_apikey api_key JOIN merchants_business business ON business.id = api_key.business_id
    WHERE api_key.id = %s AND api_key.access = %s AND business.is_active
      AND api_key.revoked_at IS NULL AND (api_key.expires_at IS NULL OR api_key.expires_at > %s)
    ON CONFLICT DO NOTHING
"""

# PostgreSQL: the same, committed without waiting for the disk. `true` limits the setting to this statement's own
# transaction. The next synchronous commit, of any connection, makes the nonce durable too (decision 0010).
_USE_ASYNCHRONOUSLY = _USE.replace("FROM ", "FROM set_config('synchronous_commit', 'off', true), ", 1)


def use(nonce: str, *, api_key: ApiKey, now: datetime) -> bool:
    """Record a nonce in one statement; return False if it was used before or the key is no longer usable.

    The key must be usable (`ApiKey.is_usable`) and have the same access as the given one.
    """
    with connection.cursor() as cursor:
        cursor.execute(_statement(), _parameters(nonce, api_key, now))
        return int(cursor.rowcount) == 1


def use_and_find(
    nonce: str, lookup: Lookup[M], *values: Any, api_key: ApiKey, now: datetime
) -> tuple[bool, M | None]:
    """Record a nonce as `use` does, and find a row if that is the first use. PostgreSQL only, in one round trip."""
    return lookup.find_if(f"{_statement()} RETURNING 1", _parameters(nonce, api_key, now), *values)


def _parameters(nonce: str, api_key: ApiKey, now: datetime) -> list[Any]:
    moment = connection.ops.adapt_datetimefield_value(now)
    return [nonce, moment, api_key.pk, str(api_key.access), moment]


def _statement() -> str:
    # Within a database transaction, the setting would apply to the commit of all that the transaction writes.
    is_own_transaction = not connection.in_atomic_block
    return _USE_ASYNCHRONOUSLY if connection.vendor == "postgresql" and is_own_transaction else _USE


def old_nonces(*, now: datetime) -> models.QuerySet[Nonce]:
    """Return nonces whose timestamps are no longer accepted."""
    return Nonce.objects.filter(used_at__lt=now - timedelta(seconds=settings.NONCE_RETENTION))


def purge_nonces(*, now: datetime) -> Iterator[int]:
    """Delete old nonces in batches, oldest first; yield the number of each batch."""
    while oldest := list(old_nonces(now=now).order_by("used_at").values_list("used_at", flat=True)[:PIECE]):
        deleted, _ = Nonce.objects.filter(used_at__lte=oldest[-1]).delete()
        yield deleted
