"""Encrypted columns and the rotation of encryption keys."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models
from django.db.models import TextField, Value
from django.db.models.functions import Cast

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
    rows = model._default_manager.filter(**{f"{field.name}__isnull": False}).order_by("pk")
    further = rows.filter(pk__gt=after) if after is not None else rows
    return list(further.annotate(token=_token_of(field)).values_list("pk", "token")[:BATCH])


def _replace(model: type[models.Model], field: EncryptedTextField, key: Any, before: str, after: str) -> int:
    unchanged = model._default_manager.annotate(token=_token_of(field)).filter(pk=key, token=before)
    return unchanged.update(**{field.name: Value(after, output_field=TextField())})


def _token_of(field: EncryptedTextField) -> Cast:
    """Return a column as it is stored: the cast's type is no field that decrypts."""
    return Cast(field.name, TextField())


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
