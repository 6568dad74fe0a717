"""The root of every error that the API answers with.

A subclass stands beside the code that raises it and says its status, its code and its sentence; the
exception handler in `config.problems` writes it as RFC 9457 problem details.
"""

from typing import Any

from rest_framework.exceptions import APIException


class Problem(APIException):
    """A refusal with a code. `extra` members become members of the answer; never put a secret there."""

    def __init__(self, detail: str | None = None, **extra: Any) -> None:
        super().__init__(detail)
        self.extra = extra
