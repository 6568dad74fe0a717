"""The serializer of the shared cache in Redis, whose entries are JSON.

Django's own serializer unpickles the entries it reads, and unpickling can run any code: with write access to Redis, an
attacker could run code as Sluice.
"""

import json
from typing import Any


class JSONSerializer:
    """Serialize values as JSON. Integers are stored as they are, so that Redis can increment them."""

    def dumps(self, value: object) -> str | int:
        """Return the stored form of a value.

        :raises TypeError: JSON has no such type
        :raises ValueError: JSON has no such number

        >>> JSONSerializer().dumps([1.5, "a"]), JSONSerializer().dumps(7)
        ('[1.5, "a"]', 7)
        """
        return value if type(value) is int else json.dumps(value, allow_nan=False)

    def loads(self, data: bytes | str) -> Any:
        """Return the value of an entry, or None if it isn't JSON, such as a pickle.

        >>> JSONSerializer().loads(b'{"a": 1}'), JSONSerializer().loads(b"cposix")
        ({'a': 1}, None)
        """
        try:
            return json.loads(data)  # noqa: TID251  (too deep counts as missing, like other invalid JSON)
        except (ValueError, RecursionError):
            return None
