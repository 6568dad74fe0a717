"""The packet in words, for pages and for the document that goes to a cardholder's bank."""

from collections.abc import Iterator, Mapping
from typing import Any

from kit.money.money import money

PARTS = {
    "payment": "Payment",
    "three_d_secure": "3-D Secure result",
    "receipt": "Receipt",
    "payment_link": "Payment link and answers",
    "webhooks": "Webhook deliveries",
    "refunds": "Refunds",
    "other_payments": "Customer's earlier payments",
}
LABELS = {
    "authorization_code": "Authorisation code",
    "customer_email": "Customer's email address",
    "customer_name": "Customer's name",
    "is_disputed": "Disputed",
    "is_same_card": "Paid with the same card",
    "passed_at": "Cardholder authenticated at",
    "payer_address": "Payer's IP address",
    "retrieval_reference_number": "RRN",
}


def labelled(facts: Mapping[str, Any]) -> Iterator[tuple[str, str, Any]]:
    """Yield the label, name and value of each fact that isn't empty. Answers are labelled with their questions."""
    for name, value in facts.items():
        if isinstance(value, Mapping):
            yield from ((str(question), "", str(answer)) for question, answer in value.items())
        elif value not in ("", None) and name != "currency":
            yield LABELS.get(name, name.replace("_", " ").capitalize()), name, value


def fact_text(name: str, value: Any, currency: str) -> str:
    """Return a fact as text.

    >>> fact_text("is_disputed", False, "NGN"), fact_text("amount", 150_000, "NGN")
    ('No', 'NGN 1,500.00')
    """
    if isinstance(value, bool):
        return "Yes" if value else "No"
    return money(value, currency) if name == "amount" and isinstance(value, int) else str(value)
