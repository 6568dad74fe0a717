"""Declines of cards at payment links: which card, known by a keyed hash, was declined how often within 24 hours.

Most declines come after 3-D Secure, when the number is no longer known. So each attempt leaves a row under a keyed
hash of its id, by which its outcome is noted.
"""

from datetime import datetime, timedelta

from django.db.models import QuerySet

from kit.api.request_fingerprints import keyed_hash
from merchants.models import Business
from payments.models import LinkCardAttempt, Transaction
from payments.rules.cards import Card
from payments.rules.outcomes import DO_NOT_RETRY

REMEMBERED_FOR = timedelta(hours=24)
MOST_DECLINES = 3
REST_OF_NEW_CARDS = timedelta(minutes=10)


def begin(payment: Transaction, *, card: Card, now: datetime) -> None:
    """Note the card of an attempt, in the database transaction that creates the payment."""
    LinkCardAttempt.objects.create(
        attempt_key=_key_of(payment),
        business_id=payment.business_id,
        card_hash=hash_of(card),
        ends_at=(now + REMEMBERED_FOR + timedelta(hours=1)).replace(minute=0, second=0, microsecond=0),
    )


def settle(finished: Transaction, *, now: datetime) -> None:
    """Note the outcome of an attempt by card, in the database transaction that finishes it."""
    if finished.payment_link_id is None or not finished.is_card_payment:
        return
    row = LinkCardAttempt.objects.filter(attempt_key=_key_of(finished))
    if finished.status == Transaction.Status.SUCCESS:
        row.delete()
    else:
        row.update(declined_at=now, must_not_retry=finished.gateway_recommendation == DO_NOT_RETRY)


def must_rest(business: Business, card: Card, *, now: datetime) -> bool:
    """Return whether a card isn't sent to the acquirer: 3 declines in 24 hours, or the issuer's advice not to retry."""
    advice = _declined(business, card, since=now - REMEMBERED_FOR).values_list("must_not_retry", flat=True)
    flags = list(advice.order_by("-must_not_retry")[:MOST_DECLINES])
    return len(flags) >= MOST_DECLINES or any(flags)


def was_just_declined(business: Business, card: Card, *, now: datetime) -> bool:
    """Return whether a card was declined within the last 10 minutes."""
    return _declined(business, card, since=now - REST_OF_NEW_CARDS).exists()


def hash_of(card: Card) -> str:
    """Return the keyed hash of a card's number."""
    return keyed_hash({"link card": card.secret.reveal_number()})


def _declined(business: Business, card: Card, *, since: datetime) -> QuerySet[LinkCardAttempt]:
    return LinkCardAttempt.objects.filter(business=business, card_hash=hash_of(card), declined_at__gt=since)


def _key_of(payment: Transaction) -> str:
    return keyed_hash({"link attempt": str(payment.pk)})
