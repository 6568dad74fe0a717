"""Base class of all API errors.

A subclass is defined next to the code that raises it, with its status, code and detail. The exception handler in
`config.errors.problems` renders it as RFC 9457 problem details.
"""

from typing import Any

from rest_framework.exceptions import APIException


class Problem(APIException):
    """An error with a code. `extra` adds members to the response; never put a secret there."""

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.extra = extra
