"""The OpenAPI document as a value: generated once per process."""

from functools import lru_cache
from typing import Any

from drf_spectacular.generators import SchemaGenerator


@lru_cache(maxsize=1)
def document() -> dict[str, Any]:
    """Return the OpenAPI 3.1 document. Callers must not change it."""
    generated: dict[str, Any] = SchemaGenerator().get_schema(request=None, public=True)
    return generated
