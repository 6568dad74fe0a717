"""Secrets at rest, and the keys they are encrypted with: which columns there are, and how a key is replaced."""

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
    """How many secrets of a column were looked at, and how many were written with another key."""

    column: str
    seen: int
    changed: int


def encrypted_columns() -> Iterator[tuple[type[models.Model], EncryptedTextField]]:
    """Yield every encrypted column there is."""
    for model in apps.get_models():
        for field in model._meta.concrete_fields:
            if isinstance(field, EncryptedTextField):
                yield model, field


def rewrite(*, dry_run: bool) -> Iterator[Rewritten]:
    """Encrypt every secret with the first of FIELD_ENCRYPTION_KEYS; yield after each batch.

    A secret that somebody changes meanwhile is left as he wrote it.

    :raises UnreadableSecret: one fits none of the keys
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
    """Return the next keys and tokens, as they stand in the database."""
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
