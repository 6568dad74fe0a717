"""The headers of a webhook request, as they are sent and as the dashboard shows them."""

from uuid import UUID

USER_AGENT = "Sluice-Webhooks/1.0"


def request_headers(
    *,
    signature: str,
    event_id: UUID | str,
    event: str,
    attempt: int,
    is_test: bool = False,
    previous_signature: str = "",
    version: str = "",
) -> dict[str, str]:
    """Return the headers of one attempt. `sender` adds those of the connection, such as `Accept`.

    `event` is the event's name as merchants receive it. `previous_signature` is the old key's, while a rotation
    overlaps. `version` is that of the events' shape, where the endpoint was made by the API.
    """
    return {
        "User-Agent": USER_AGENT,
        "Content-Type": "application/json",
        "X-Service-Signature": signature,
        **({"X-Service-Signature-Previous": previous_signature} if previous_signature else {}),
        "X-Service-Idempotency-Key": str(event_id),
        "X-Service-Event": event,
        "X-Service-Attempt": str(attempt),
        **({"X-Service-Version": version} if version else {}),
        **({"X-Service-Test": "true"} if is_test else {}),
    }
