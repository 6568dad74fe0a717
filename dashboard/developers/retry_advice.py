"""Whether to send a failed request again. Follows from its method, status and error code."""

from http import HTTPStatus

# Refusals that a change elsewhere lifts: the same request can succeed later.
PASSING = frozenset(
    {
        "insufficient_funds",
        "payout_limit_reached",
        "payouts_frozen",
        "beneficiary_blocked",
        "rail_unavailable",
    }
)
SIGN_AGAIN = "Sign it again, with a new timestamp and nonce."


def retry_advice(*, method: str, status: int, code: str) -> str:
    """Return whether and when to send the request again; empty if it succeeded.

    >>> retry_advice(method="POST", status=201, code="")
    ''
    >>> retry_advice(method="GET", status=404, code="not_found")
    'No. The same request gets the same response until what it asks for changes.'
    """
    if status < HTTPStatus.BAD_REQUEST:
        return ""
    if status == HTTPStatus.UNAUTHORIZED:
        return "Yes, once the signature is right. This request had no effect."
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return f"Yes, after the number of seconds in Retry-After. {SIGN_AGAIN}"
    if code in PASSING:
        return f"Yes, later and unchanged, once the cause has ended. {SIGN_AGAIN}"
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        return _after_a_failure(method)
    return "No. The same request gets the same response until what it asks for changes."


def _after_a_failure(method: str) -> str:
    if method in {"GET", "HEAD"}:
        return f"Yes. Reading changes nothing. {SIGN_AGAIN}"
    return (
        "Yes, with the same reference and fields: nothing is done twice. Don't use a new reference, because the outcome "
        f"of this request may be unknown. {SIGN_AGAIN}"
    )
