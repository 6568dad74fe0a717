"""The merchant's reference is the idempotency key: the same request again gets the same resource."""

import hmac
import json
from collections.abc import Callable
from typing import Any

from django.conf import settings
from rest_framework import status

from merchants.errors import Problem


class DuplicateReference(Problem):
    """The reference belongs to a different request. The answer carries the first one's id and status."""

    status_code = status.HTTP_409_CONFLICT
    default_code = "duplicate_reference"
    default_detail = "This reference was used for a different request."


def keyed_hash(request: dict[str, Any], *, plain: Callable[[Any], Any] = str) -> str:
    """Return a hash over a validated request; `plain` says what of a value that JSON cannot hold counts.

    Keyed, so that a stored hash cannot be tried against all card numbers (PCI DSS 3.5.1.1), nor against
    all eleven-digit ones.
    """
    text = json.dumps(request, sort_keys=True, ensure_ascii=False, default=plain)
    return hmac.digest(settings.FINGERPRINT_KEY.encode(), text.encode(), "sha256").hex()
