"""A text column that is encrypted at rest."""

from functools import lru_cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings
from django.core.exceptions import FieldError
from django.db import models


class UnreadableSecret(Exception):
    """A stored secret can't be decrypted with any key in FIELD_ENCRYPTION_KEYS."""


def _cipher() -> MultiFernet:
    """Return the cipher: the first key encrypts, every key decrypts, so that keys can be rotated."""
    return _cipher_of(tuple(settings.FIELD_ENCRYPTION_KEYS))


@lru_cache(maxsize=8)
def _cipher_of(keys: tuple[str, ...]) -> MultiFernet:
    return MultiFernet([Fernet(key) for key in keys])


@lru_cache(maxsize=4096)
def _decrypted(token: str, keys: tuple[str, ...]) -> str:
    try:
        return _cipher_of(keys).decrypt(token.encode()).decode()
    except InvalidToken:
        # "from None": the cause would carry the token.
        raise UnreadableSecret("None of FIELD_ENCRYPTION_KEYS can decrypt this secret.") from None


def encrypt(text: str) -> str:
    return _cipher().encrypt(text.encode()).decode()


def decrypt(token: str) -> str:
    """Return the text.

    :raises UnreadableSecret: when the key it was encrypted with is no longer configured
    """
    return _decrypted(token, tuple(settings.FIELD_ENCRYPTION_KEYS))


class EncryptedTextField(models.TextField):
    """Text that is stored as a Fernet token. It cannot be searched.

    :raises UnreadableSecret: when the key a value was written with is no longer configured
    """

    def get_prep_value(self, value: Any) -> Any:
        if value is None:
            return None
        return encrypt(str(value))

    def from_db_value(self, value: str | None, _expression: Any, _connection: Any) -> str | None:
        if value is None:
            return None
        return decrypt(value)

    def get_lookup(self, lookup_name: str) -> Any:
        if lookup_name == "isnull":
            return super().get_lookup(lookup_name)
        raise FieldError(f"{self.name} is encrypted; it cannot be searched with {lookup_name!r}.")
