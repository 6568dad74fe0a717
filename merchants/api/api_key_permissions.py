"""Permissions of API keys."""

from rest_framework import status
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.request import Request

from kit.api.errors import Problem
from merchants.models import ApiKey


class KeyMayNotWrite(Problem):
    """A read-only key was used for a write request."""

    status_code = status.HTTP_403_FORBIDDEN
    default_code = "key_may_not_write"
    default_detail = "This key pair may only read. Use one with full access."


class KeyAllowsMethod(BasePermission):
    """Allow read-only keys to use safe methods only."""

    def has_permission(self, request: Request, view: object) -> bool:
        if (
            request.method not in SAFE_METHODS
            and isinstance(request.auth, ApiKey)
            and not request.auth.may_write
        ):
            raise KeyMayNotWrite
        return True
