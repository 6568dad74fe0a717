"""The headers of a webhook request, as they are sent and as the dashboard shows them."""

from uuid import UUID

from webhooks.models import event_name


def request_headers(
    *, signature: str, event_id: UUID, event: str, attempt: int, is_test: bool
) -> dict[str, str]:
    """Return the headers of one attempt. `sender` adds the constant ones."""
    return {
        "Content-Type": "application/json",
        "X-Service-Signature": signature,
        "X-Service-Idempotency-Key": str(event_id),
        "X-Service-Event": event_name(event),
        "X-Service-Attempt": str(attempt),
        **({"X-Service-Test": "true"} if is_test else {}),
    }
