"""A Redis that accepts connections and never answers."""

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any


@contextmanager
def frozen_cache(settings: Any) -> Iterator[None]:
    """Use a frozen Redis as the cache."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        settings.CACHES = {
            "default": {
                "BACKEND": "django.core.cache.backends.redis.RedisCache",
                "LOCATION": f"redis://127.0.0.1:{listening.getsockname()[1]}/0",
                "OPTIONS": {"socket_timeout": 0.2, "socket_connect_timeout": 0.2},
            }
        }
        yield
