"""Webhooks of Paystack: a signature of the raw body by the secret key, and an event's members.

An event has no id of its own. Equal bodies are one event, also of two equal partial refunds. Its account is the
integration, which some events have as an object, and some only at the customer.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from django.conf import settings

from connectors.paystack.accounts import account_of_email
from connectors.paystack.api.codes import TO_ACCOUNT, TO_SESSION
from connectors.protocol import Document, Effect, ProviderWebhooks, text_at

OWN_REFERENCE = re.compile(r"[0-9a-f]{32}\Z")
LIVE_KEY = "sk_live_"
LIVE = "live"

QUERIED = ("charge.success", "charge.failed", "transfer.", "refund.", "bank.transfer.rejected")  # beginnings
PAYOUT_REVERSED = frozenset({"transfer.reversed", "transfer.failed"})
DISPUTES = "charge.dispute."
KEPT = ("dedicatedaccount.assign.", "customeridentification.")

REFERENCES = (
    ("data", "reference"),
    ("data", "transaction_reference"),  # of a refund
    ("data", "transaction", "reference"),  # of a dispute
    ("data", "id"),
    ("data", "transaction", "id"),
    ("data", "transfer_code"),
    ("data", "refund_reference"),
    ("data", "bank_transfer", "transaction_id"),
    ("data", "customer_code"),
    ("data", "customer", "customer_code"),
)
IDENTIFIERS = {TO_ACCOUNT: "id", TO_SESSION: "reference"}  # of transfers, by channel
DOMAINS = (("data", "domain"), ("data", "customer", "domain"))
EMAILS = (("data", "customer", "email"),)  # with our id of a virtual account as its tag
INTEGRATIONS = (
    ("data", "integration"),
    ("data", "integration", "id"),
    ("data", "customer", "integration"),
    ("data", "dedicated_account", "assignment", "integration"),
)


class PaystackWebhooks(ProviderWebhooks):
    """The webhooks of Paystack."""

    signature_header = "x-paystack-signature"
    digest = "sha512"

    def signing_keys(self) -> Sequence[str]:
        return [key for key in (settings.PAYSTACK_SECRET_KEY, *settings.PAYSTACK_WEBHOOK_KEYS) if key]

    def own_account(self) -> str:
        return str(settings.PAYSTACK_INTEGRATION)

    def kind(self, document: Document) -> str:
        return text_at(document, "event")

    def effect_of(self, kind: str) -> Effect:
        if kind.startswith(QUERIED):
            return Effect.QUERY
        if kind.startswith(DISPUTES):
            return Effect.DISPUTE
        return Effect.KEEP if kind.startswith(KEPT) else Effect.UNKNOWN

    def account_of(self, document: Document) -> str:
        return _first(document, INTEGRATIONS)

    def is_of_another_environment(self, document: Document) -> bool:
        told = _first(document, DOMAINS)
        return told != "" and (told == LIVE) != self.signing_keys()[0].startswith(LIVE_KEY)

    def references(self, document: Document) -> list[str]:
        tagged = (account_of_email(text_at(document, *path)) for path in EMAILS)
        return [*(each.hex for each in tagged if each), *(text_at(document, *path) for path in REFERENCES)]

    def transfer(self, document: Document) -> str:
        kind = self.kind(document)
        if kind == "bank.transfer.rejected":
            return text_at(document, "data", "bank_transfer", "transaction_id")
        # Theirs may be a number, which would be looked up as an id; ours is our id of a session.
        identifier = IDENTIFIERS.get(text_at(document, "data", "channel"), "")
        return text_at(document, "data", identifier) if kind == "charge.success" else ""

    def is_payout_reversed(self, kind: str) -> bool:
        return kind in PAYOUT_REVERSED

    def is_transfer_rejected(self, kind: str) -> bool:
        return kind == "bank.transfer.rejected"

    def own_id(self, reference: str) -> UUID | None:
        return UUID(reference) if OWN_REFERENCE.match(reference) else None


def _first(document: Document, paths: Sequence[tuple[str, ...]]) -> str:
    """Return the first text that a document has at one of the paths."""
    return next(filter(None, (text_at(document, *path) for path in paths)), "")
