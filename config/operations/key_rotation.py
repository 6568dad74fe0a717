"""Encrypted columns and the rotation of encryption keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import connection, models

from kit.db.encrypted_field import EncryptedTextField, UnreadableSecret

BATCH = 500


@dataclass(frozen=True, slots=True)
class Rewritten:
    """The number of secrets of a column that were read, and that were re-encrypted."""

    column: str
    seen: int
    changed: int


def encrypted_columns() -> Iterator[tuple[type[models.Model], EncryptedTextField]]:
    """Yield all encrypted columns."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, EncryptedTextField):
                yield model, field


def rewrite(*, dry_run: bool) -> Iterator[Rewritten]:
    """Encrypt every secret with the first of FIELD_ENCRYPTION_KEYS; yield after each batch.

    A secret that changes in the meantime is left unchanged.

    :raises UnreadableSecret: a secret can't be decrypted with any of the keys
    """
    keys = [Fernet(key) for key in settings.FIELD_ENCRYPTION_KEYS]
    for model, field in encrypted_columns():
        column = f"{model._meta.db_table}.{field.column}"
        after, seen, changed = None, 0, 0
        while batch := _batch(model, field, after=after):
            for key, token in batch:
                if not _fits(keys[0], token):
                    changed += 1 if dry_run else _replace(model, field, key, token, _rotated(keys, token))
            seen += len(batch)
            after = batch[-1][0]
            yield Rewritten(column, seen, changed)


def _batch(model: type[models.Model], field: EncryptedTextField, *, after: Any) -> list[tuple[Any, str]]:
    """Return the next primary keys and tokens."""
    quote = connection.ops.quote_name
    table, pk, column = (
        quote(model._meta.db_table),
        quote(str(model._meta.pk.column)),
        quote(str(field.column)),
    )
    further = f"AND {pk} > %s" if after is not None else ""
    statement = (
        f"SELECT {pk}, {column} FROM {table} WHERE {column} IS NOT NULL {further} ORDER BY {pk} LIMIT {BATCH}"  # noqa: S608  (our own names)
    )
    with connection.cursor() as cursor:
        cursor.execute(statement, [after] if after is not None else [])
        return list(cursor.fetchall())


def _replace(model: type[models.Model], field: EncryptedTextField, key: Any, before: str, after: str) -> int:
    quote = connection.ops.quote_name
    table, pk, column = (
        quote(model._meta.db_table),
        quote(str(model._meta.pk.column)),
        quote(str(field.column)),
    )
    statement = f"UPDATE {table} SET {column} = %s WHERE {pk} = %s AND {column} = %s"  # noqa: S608  (our own names)
    with connection.cursor() as cursor:
        cursor.execute(statement, [after, key, before])
        return int(cursor.rowcount)


def _fits(key: Fernet, token: str) -> bool:
    try:
        key.decrypt(token.encode())
    except InvalidToken:
        return False
    return True


def _rotated(keys: list[Fernet], token: str) -> str:
    try:
        return MultiFernet(keys).rotate(token.encode()).decode()
    except InvalidToken:
        # "from None": the cause would carry the token.
        raise UnreadableSecret("None of FIELD_ENCRYPTION_KEYS can decrypt this secret.") from None
