"""Rejects query parameters that an operation of the API does not have.

A misspelt filter would return the wrong rows, and other misspelt parameters would be ignored. Both are errors. The
parameters of an operation come from its description (`kit.api.operations`). Lists with filters validate their own query,
so that unknown parameters and invalid values are reported together.
"""

from typing import Any

from django.conf import settings
from rest_framework.permissions import BasePermission
from rest_framework.request import Request

from kit.api.fields.field_errors import InvalidFields, unknown_fields
from merchants.api.rate_limits import SANDBOX_PATHS


class OnlyKnownParameters(BasePermission):
    """A permission, so that it is checked after authentication: unsigned calls always get 401."""

    def has_permission(self, request: Request, view: Any) -> bool:
        if not settings.SANDBOX and request.path.startswith(SANDBOX_PATHS):
            return True  # the view refuses every call
        method = "get" if request.method == "HEAD" else str(request.method).lower()
        known = getattr(getattr(view, method, None), "query_parameters", None)
        if known is not None:
            errors = unknown_fields(request.query_params, known=known)
            if errors:
                raise InvalidFields(errors)
        return True
