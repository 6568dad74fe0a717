"""Nonces of signed requests: each is used once per key, and kept until its timestamp is no longer accepted."""

from collections.abc import Iterator
from datetime import datetime, timedelta

from django.conf import settings
from django.db import connection, models

from kit.db.rows.batched_purge import PIECE
from merchants.models import ApiKey, Nonce

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
    # Within a database transaction, the setting would apply to the commit of all that the transaction writes.
    is_own_transaction = not connection.in_atomic_block
    statement = _USE_ASYNCHRONOUSLY if connection.vendor == "postgresql" and is_own_transaction else _USE
    moment = connection.ops.adapt_datetimefield_value(now)
    with connection.cursor() as cursor:
        cursor.execute(statement, [nonce, moment, api_key.pk, str(api_key.access), moment])
        return int(cursor.rowcount) == 1


def old_nonces(*, now: datetime) -> models.QuerySet[Nonce]:
    """Return nonces whose timestamps are no longer accepted."""
    return Nonce.objects.filter(used_at__lt=now - timedelta(seconds=settings.NONCE_RETENTION))


def purge_nonces(*, now: datetime) -> Iterator[int]:
    """Delete old nonces in batches, oldest first; yield the number of each batch."""
    while oldest := list(old_nonces(now=now).order_by("used_at").values_list("used_at", flat=True)[:PIECE]):
        deleted, _ = Nonce.objects.filter(used_at__lte=oldest[-1]).delete()
        yield deleted
