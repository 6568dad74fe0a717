"""Store an event of a provider: once, however often it is sent."""

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import F

from connectors.models import ProviderEvent
from connectors.protocol import Document, ProviderWebhooks
from connectors.services.event_masking import masked_body
from kit.db.prepared_statements import insert_if_absent
from kit.text.display_names import printable_line
from kit.time.time_ordered_ids import new_id

# An event that is repeated after this time leads to another query. Two equal refunds may have equal events.
ASK_AGAIN_AFTER = timedelta(seconds=10)
MOST_REFERENCES = 20
LONGEST_REFERENCE = 100  # characters
LONGEST = 60  # characters of a kind and of an account


@dataclass(frozen=True, slots=True)
class Received:
    """An authentic webhook: its raw body, and the document that it holds."""

    provider: str
    webhooks: ProviderWebhooks
    body: bytes
    document: Document

    @property
    def event_key(self) -> str:
        return self.webhooks.event_id(self.document) or hashlib.sha256(self.body).hexdigest()


def store(received: Received, *, now: datetime) -> bool:
    """Store an event with one statement, or note that it was sent again. Return whether it is new."""
    webhooks, document = received.webhooks, received.document
    row = ProviderEvent(
        id=new_id(now),
        provider=received.provider,
        event_key=received.event_key,
        kind=printable_line(webhooks.kind(document))[:LONGEST],
        account=printable_line(webhooks.account_of(document))[:LONGEST],
        references=list(_references(received)),
        body=masked_body(document),
        received_at=now,
        last_received_at=now,
        next_attempt_at=now,
    )
    if insert_if_absent(row):
        return True
    _note_repeat(received, now=now)
    return False


def _references(received: Received) -> Iterator[str]:
    """Yield the references in an event, once each. Our own ids are written as UUIDs, which aren't masked."""
    found = dict.fromkeys(filter(None, received.webhooks.references(received.document)))
    for reference in list(found)[:MOST_REFERENCES]:
        own = received.webhooks.own_id(reference)
        yield str(own) if own else printable_line(reference)[:LONGEST_REFERENCE]


def _note_repeat(received: Received, *, now: datetime) -> None:
    """Count a repetition, and process the event again unless its last query is recent."""
    rows = ProviderEvent.objects.filter(provider=received.provider, event_key=received.event_key)
    rows.update(last_received_at=now, times_received=F("times_received") + 1)
    rows.filter(asked_at__lt=now - ASK_AGAIN_AFTER).to_process_again(now=now)
