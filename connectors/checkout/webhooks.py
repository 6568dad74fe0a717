"""Webhooks of Checkout.com: a signature of the raw body by the workflow's own key, and an event's members.

Nothing in an event names the environment. Its account is the processing channel, where it names one.
"""

import re
from collections.abc import Sequence
from uuid import UUID

from django.conf import settings

from connectors.checkout.api.references import id_of
from connectors.protocol import Document, Effect, ProviderWebhooks, text_at

EVENT_ID = re.compile(r"evt_[0-9a-z]{20,40}\Z")
ASKED = "payment_pending"  # the payer was sent to the issuer's page
REFUNDED = "payment_refunded"
QUERIED = ("payment_", "card_verified", "card_verification_declined")  # beginnings of kinds
DISPUTES = "dispute_"

REFERENCES = (
    ("data", "reference"),
    ("data", "payment_reference"),  # of a dispute
    ("data", "id"),  # of the payment, or of the dispute
    ("data", "payment_id"),
    ("data", "action_id"),
    ("data", "payment_action_id"),
)


class CheckoutWebhooks(ProviderWebhooks):
    """The webhooks of Checkout.com."""

    signature_header = "Cko-Signature"
    digest = "sha256"

    def signing_keys(self) -> Sequence[str]:
        return settings.CHECKOUT_WEBHOOK_KEYS

    def own_account(self) -> str:
        return str(settings.CHECKOUT_PROCESSING_CHANNEL)

    def event_id(self, document: Document) -> str:
        found = text_at(document, "id")
        return found if EVENT_ID.match(found) else ""

    def kind(self, document: Document) -> str:
        return text_at(document, "type")

    def effect_of(self, kind: str) -> Effect:
        if kind == ASKED:
            return Effect.QUERY_UNLESS_WITH_PAYER
        if kind.startswith(QUERIED):
            return Effect.QUERY
        if kind.startswith(DISPUTES):
            return Effect.DISPUTE
        return Effect.UNKNOWN

    def account_of(self, document: Document) -> str:
        return text_at(document, "data", "processing_channel_id")

    def references(self, document: Document) -> list[str]:
        return [text_at(document, *path) for path in REFERENCES]

    def payment_of(self, references: Sequence[str]) -> str:
        return next((each for each in references if each.startswith("pay_")), "")

    def refund_of(self, kind: str, references: Sequence[str]) -> str:
        actions = [each for each in references if each.startswith("act_")]
        return actions[0] if actions and kind == REFUNDED else ""

    def own_id(self, reference: str) -> UUID | None:
        return id_of(reference)
