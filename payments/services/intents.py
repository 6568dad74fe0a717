"""Intents: the row with our own reference that stands before a rail is called.

An intent is one INSERT. Of a hundred equal requests at once one gets to write it and calls the rail;
the others find it there and answer with what it has become.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings

from merchants.models import Business
from merchants.rows import insert_if_absent
from payments.cards import Card
from payments.idempotency import DuplicateReference
from payments.identifiers import new_id, retrieval_reference_number, trace_numbers
from payments.models import Transaction

FIRST_QUERY_AFTER = timedelta(seconds=10)


@dataclass(frozen=True, slots=True)
class Intent:
    """A transaction, and whether this request is the one that wrote it."""

    transaction: Transaction
    is_new: bool


def open_intent(
    *, business: Business, reference: str, fingerprint: str, now: datetime, **fields: Any
) -> Intent:
    """Write a pending transaction, or find the one that an equal request wrote before.

    :raises DuplicateReference: a different request had this reference
    """
    new = Transaction(
        id=new_id(now),
        business=business,
        reference=reference,
        fingerprint=fingerprint,
        # Should this process die before it hears the rail's answer, somebody asks again.
        next_query_at=now + FIRST_QUERY_AFTER,
        created_at=now,
        **fields,
    )
    if insert_if_absent(new):
        return Intent(new, is_new=True)
    existing = Transaction.objects.of(business).get(reference=reference)
    if existing.fingerprint != fingerprint:
        raise DuplicateReference(id=str(existing.pk), status=existing.status)
    return Intent(existing, is_new=False)


def card_fields(card: Card, *, now: datetime) -> dict[str, str]:
    """Return what is stored of a card, and the ISO 8583 numbers of its transaction."""
    stan = trace_numbers.take()
    return {
        "method": Transaction.Method.CARD,
        "card_brand": card.brand,
        "card_bin": card.bin,
        "card_last4": card.last4,
        "card_expiry_month": card.expiry_month,
        "card_expiry_year": card.expiry_year,
        "system_trace_audit_number": stan,
        "retrieval_reference_number": retrieval_reference_number(stan=stan, at=now),
    }


def lock(transaction_id: Any) -> Transaction:
    """Return the transaction as it is, locked until the database transaction ends."""
    locked: Transaction = (
        Transaction.objects.select_for_update(of=("self",)).select_related("business").get(pk=transaction_id)
    )
    return locked


def authorisation_ends(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.AUTHORISATION_LIFETIME)


def challenge_ends(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.CHALLENGE_LIFETIME)
