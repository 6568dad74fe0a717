"""The shared cache in Redis, whose entries are JSON.

Django's own backend unpickles what it reads, and a pickle can run any code: whoever can write to Redis would act as
Sluice. Here an entry is parsed, never executed. One that isn't JSON, such as one that the release before wrote, counts
as missing.
"""

import json
from collections.abc import Iterable
from typing import Any

from django.core.cache.backends.redis import RedisCache, RedisCacheClient


class NotJSONable(TypeError):
    """A value would be another one when it is read back, or could not be written at all."""


class JSONSerializer:
    """Writes values as JSON, and integers such that Redis can count them up."""

    def dumps(self, value: object) -> str | int:
        """Return what is stored of a value.

        :raises NotJSONable: the value, or a part of it, isn't of a type that JSON keeps

        >>> JSONSerializer().dumps([1.5, "a"]), JSONSerializer().dumps(7)
        ('[1.5, "a"]', 7)
        """
        if type(value) is int:
            return value
        _check(value)
        return json.dumps(value, allow_nan=False)

    def loads(self, data: bytes | str) -> Any:
        """Return the value of an entry.

        :raises ValueError: the entry isn't JSON
        """
        return json.loads(data)


def _check(value: object) -> None:
    if type(value) is list:
        for item in value:
            _check(item)
    elif type(value) is dict:
        for name, item in value.items():
            if type(name) is not str:
                raise NotJSONable(f"A cached dictionary has a key of type {type(name).__name__}.")
            _check(item)
    elif value is not None and type(value) not in (bool, int, float, str):
        raise NotJSONable(f"A value of type {type(value).__name__} cannot be cached.")


class JSONClient(RedisCacheClient):
    """Reads entries with `JSONSerializer`; those that it cannot read are missing."""

    def get(self, key: Any, default: Any) -> Any:
        return self._read(self.get_client(key).get(key), default)

    def get_many(self, keys: Iterable[Any]) -> dict[Any, Any]:
        keys = list(keys)
        found = zip(keys, self.get_client(None).mget(keys), strict=True)
        values = {key: self._read(data, _MISSING) for key, data in found}
        return {key: value for key, value in values.items() if value is not _MISSING}

    def _read(self, data: bytes | str | None, default: Any) -> Any:
        if data is None:
            return default
        try:
            return JSONSerializer().loads(data)
        except (ValueError, RecursionError):
            return default


_MISSING = object()


class JSONCache(RedisCache):
    """Django's cache in Redis, without pickle."""

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        params["OPTIONS"] = params.get("OPTIONS", {}) | {"serializer": JSONSerializer}
        super().__init__(server, params)
        self._class = JSONClient
