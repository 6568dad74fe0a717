"""Rejects query parameters that an operation of the API does not have.

A misspelt filter would return the wrong rows, and other misspelt parameters would be ignored. Both are errors. The
parameters of an operation come from its API description. Lists with filters validate their own query, so that unknown
parameters and invalid values are reported together.
"""

from collections.abc import Hashable, Iterable
from functools import lru_cache
from typing import Any

from django.conf import settings
from django.utils.module_loading import import_string
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from kit.api.fields.field_errors import InvalidFields, unknown_fields
from kit.api.filters import PAGING
from merchants.api.rate_limits import SANDBOX_PATHS


class OnlyKnownParameters(BasePermission):
    """A permission, so that it is checked after authentication: unsigned calls always get 401."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not settings.SANDBOX and request.path.startswith(SANDBOX_PATHS):
            return True  # the view refuses every call
        kind: Any = type(view)
        known = _parameters(kind, "GET" if request.method == "HEAD" else str(request.method))
        if known is not None:
            errors = unknown_fields(request.query_params, known=known)
            if errors:
                raise InvalidFields(errors)
        return True


@lru_cache(maxsize=256)
def _parameters(view: Hashable, method: str) -> frozenset[str] | None:
    """Return the parameters of an operation, or None if it validates the query itself or doesn't exist."""
    # Imported here to avoid a circular import: views import their permissions, and operations import views.
    operations: dict[Any, Any] = import_string("developer_site.openapi.operations.OPERATIONS")
    undescribed: Iterable[Any] = import_string("developer_site.openapi.operations.UNDESCRIBED")
    operation = operations.get((view, method))
    if operation is None:
        return frozenset() if (view, method) in undescribed else None
    if operation.filters:
        return None
    return PAGING if operation.is_list else frozenset()
