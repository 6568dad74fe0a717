"""What a provider's package declares about its webhooks."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, Protocol
from uuid import UUID

Document = Mapping[str, Any]


class Effect(StrEnum):
    """What an event of a kind leads to."""

    QUERY = "query"  # the provider is queried about the payment, payout or operation that it names
    QUERY_UNLESS_WITH_PAYER = "query_unless_with_payer"  # only if the payer isn't at the provider
    DISPUTE = "dispute"  # the provider is queried about the case that it names
    KEEP = "keep"  # it is only stored
    UNKNOWN = "unknown"  # it is only stored, because the kind isn't known


class ProviderWebhooks(Protocol):
    """The webhooks of a provider: how they are signed, and what an event's document says.

    The defaults are those of a provider whose events don't tell such a thing. Documents are signed by the provider, but
    their members may be missing or of any type.
    """

    signature_header: str  # holds the HMAC of the raw body in hexadecimal digits
    digest: str  # of the HMAC, as `hashlib` names it

    def signing_keys(self) -> Sequence[str]:
        """Return the keys that may sign. Several are valid during a rotation; empty: not configured."""

    def own_account(self) -> str:
        """Return our account at the provider, or "" if the settings don't name one."""

    def event_id(self, document: Document) -> str:
        """Return the provider's own id of an event, or "" if it has none. Then the hash of the body identifies it."""
        return ""

    def kind(self, document: Document) -> str:
        """Return the provider's name of what happened."""

    def effect_of(self, kind: str) -> Effect:
        """Return what an event of this kind leads to."""

    def account_of(self, document: Document) -> str:
        """Return the account at the provider that an event names, or "" if it names none."""

    def is_of_another_environment(self, document: Document) -> bool:
        """Return whether an event is a test's although our keys are live, or the other way round."""
        return False

    def references(self, document: Document) -> list[str]:
        """Return all that may identify what an event is about: our references, and the provider's own ids."""

    def payment_of(self, references: Sequence[str]) -> str:
        """Return which of them is the provider's id of a payment, as transactions store it. "" if it charges none twice."""
        return ""

    def refund_of(self, kind: str, references: Sequence[str]) -> str:
        """Return which of them is the provider's id of a refund that an event of this kind says was paid, or "".

        As operations store it. "" also if the provider never pays a refund of ours twice.
        """
        return ""

    def transfer(self, document: Document) -> str:
        """Return the provider's id or reference of the incoming bank transfer that an event is about, or ""."""
        return ""

    def is_payout_reversed(self, kind: str) -> bool:
        """Return whether events of this kind may say that the provider gave a payout back that had succeeded."""
        return False

    def is_transfer_rejected(self, kind: str) -> bool:
        """Return whether events of this kind say that the provider sent an incoming transfer back."""
        return False

    def case(self, document: Document) -> str:
        """Return the provider's number of the case that an event about a dispute names, or ""."""
        return text_at(document, "data", "id")

    def own_id(self, reference: str) -> UUID | None:
        """Return the id that we sent to the provider as this reference, or None if the reference isn't ours."""


def text_at(document: Any, *path: str) -> str:
    """Return the text or whole number at a path of a document, as text. Empty if there is none.

    >>> text_at({"data": {"id": 7}}, "data", "id"), text_at({"data": []}, "data", "id")
    ('7', '')
    """
    for name in path:
        document = document.get(name) if isinstance(document, Mapping) else None
    return str(document) if isinstance(document, str | int) and not isinstance(document, bool) else ""
