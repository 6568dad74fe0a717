"""Encrypted columns, the secrets of second factors, and the rotation of encryption keys."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

from allauth.mfa.models import Authenticator
from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.apps import apps
from django.conf import settings
from django.db import models, transaction
from django.db.models import QuerySet, TextField, Value
from django.db.models.functions import Cast

from kit.db.encrypted_field import EncryptedTextField, UnreadableSecret, decrypt

BATCH = 500
Batch: TypeAlias = list[tuple[Any, str]]  # primary keys and tokens
# What the library stores of a second factor is JSON, in which these members are encrypted (`MFAAdapter.encrypt`).
FACTORS = f"{Authenticator._meta.db_table}.data"
FACTOR_SECRETS = {Authenticator.Type.TOTP: "secret", Authenticator.Type.RECOVERY_CODES: "seed"}


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


def readers() -> Iterator[tuple[str, Callable[[str, int], int]]]:
    """Yield the name of each column with secrets, and a function that decrypts the first ones in an order.

    It takes the order and their highest number, returns how many there were, and raises UnreadableSecret.
    """
    for model, field in encrypted_columns():
        yield _name(model, field), partial(_read_column, model, field)
    yield FACTORS, _read_factors


def rewrite(*, dry_run: bool) -> Iterator[Rewritten]:
    """Encrypt every secret with the first of FIELD_ENCRYPTION_KEYS; yield after each batch.

    A secret that changes in the meantime is left unchanged.

    :raises UnreadableSecret: a secret can't be decrypted with any of the keys
    """
    keys = [Fernet(key) for key in settings.FIELD_ENCRYPTION_KEYS]
    for model, field in encrypted_columns():
        replace = partial(_replace, model, field, keys)
        yield from _rewritten(
            _name(model, field), partial(_batch, model, field), replace, keys, dry_run=dry_run
        )
    yield from _rewritten(FACTORS, _factors_after, partial(_rewrite_factor, keys), keys, dry_run=dry_run)


def _rewritten(
    column: str,
    batch_after: Callable[..., Batch],
    replace: Callable[[Any, str], int],
    keys: list[Fernet],
    *,
    dry_run: bool,
) -> Iterator[Rewritten]:
    """Rewrite batch after batch. `replace` encrypts the secret of a row again, and returns 0 if it has changed meanwhile."""
    after, seen, changed = None, 0, 0
    while batch := batch_after(after=after):
        for key, token in batch:
            if not _fits(keys[0], token):
                changed += 1 if dry_run else replace(key, token)
        seen += len(batch)
        after = batch[-1][0]
        yield Rewritten(column, seen, changed)


def _factors_after(*, after: int | None) -> Batch:
    found = _factors().filter(pk__gt=after or 0).order_by("pk")[:BATCH]
    return [(factor.pk, _token_of_factor(factor)) for factor in found]


@transaction.atomic
def _rewrite_factor(keys: list[Fernet], key: int, _token: str) -> int:
    """Encrypt the secret that a second factor has now, under its lock: a sign-in changes the same column."""
    for factor in _factors().select_for_update().filter(pk=key):
        factor.data[FACTOR_SECRETS[factor.type]] = _rotated(keys, _token_of_factor(factor))
        factor.save(update_fields=["data"])
        return 1
    return 0


def _factors() -> QuerySet[Authenticator]:
    """Return the second factors with a secret. Passkeys have none."""
    found: QuerySet[Authenticator] = Authenticator.objects.filter(type__in=FACTOR_SECRETS)
    return found


def _token_of_factor(factor: Authenticator) -> str:
    return str(factor.data[FACTOR_SECRETS[factor.type]])


def _read_factors(order: str, most: int) -> int:
    return len([decrypt(_token_of_factor(factor)) for factor in _factors().order_by(order)[:most]])


def _read_column(model: type[models.Model], field: EncryptedTextField, order: str, most: int) -> int:
    return len(model._default_manager.order_by(order).values_list(field.attname, flat=True)[:most])


def _name(model: type[models.Model], field: EncryptedTextField) -> str:
    return f"{model._meta.db_table}.{field.column}"


def _batch(model: type[models.Model], field: EncryptedTextField, *, after: Any) -> Batch:
    """Return the next primary keys and tokens."""
    rows = model._default_manager.filter(**{f"{field.name}__isnull": False}).order_by("pk")
    further = rows.filter(pk__gt=after) if after is not None else rows
    return list(further.annotate(token=_token_of(field)).values_list("pk", "token")[:BATCH])


def _replace(
    model: type[models.Model], field: EncryptedTextField, keys: list[Fernet], key: Any, token: str
) -> int:
    rotated = Value(_rotated(keys, token), output_field=TextField())
    unchanged = model._default_manager.annotate(token=_token_of(field)).filter(pk=key, token=token)
    return unchanged.update(**{field.name: rotated})


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
