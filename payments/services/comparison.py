"""Whether a request with a used reference is the request that the transaction was created by.

The comparison must not reveal the stored card number: for 5 requests that differ in it, and for 24 hours, it includes
the number. Then the hash of the number is erased. From then on a request with a card is refused whatever its card is;
in any other request the number was part of a text, and the text is compared with the number masked. Decision 0067.
"""

import hmac
from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog
from django.db import transaction as database
from django.db.models import Case, F, QuerySet, Value, When

from merchants import audit
from merchants.audit import Actor
from merchants.models import AuditEntry
from payments.idempotency import DuplicateReference, Fingerprint, IdempotentResult
from payments.models import Transaction
from payments.services.intents import lock

COMPARED_FOR = timedelta(hours=24)
GUESSES_STOPPED = "card_number.guesses_stopped"  # action of the audit entry
PIECE = 1_000  # rows

log = structlog.get_logger("sluice.comparison")


def judge(existing: Transaction, *, fingerprint: Fingerprint, now: datetime) -> IdempotentResult[Transaction]:
    """Return the transaction as a replay. Call it outside of database transactions: what it counts is committed.

    :raises DuplicateReference: its request was a different one
    """
    if not fingerprint.card_numbers:
        if existing.card_number_hash or existing.fingerprint != fingerprint.request:
            raise DuplicateReference.of(existing)
        return IdempotentResult(existing, is_replay=True)
    with database.atomic():
        # Parallel guesses are counted one by one.
        current = lock(existing.pk)
        is_same, is_bound_met = _compare(current, fingerprint, now=now)
    if is_bound_met:
        log.error(
            "card number guesses stopped", business=str(current.business_id), reference=current.reference
        )
    if not is_same:
        raise DuplicateReference.of(current)
    return IdempotentResult(current, is_replay=True)


def _compare(current: Transaction, fingerprint: Fingerprint, *, now: datetime) -> tuple[bool, bool]:
    """Return whether the request is the same, and whether it was the last guess that is counted."""
    if current.card_number_hash and current.created_at < now - COMPARED_FOR:
        current.erase_card_number_hash()
    if current.card_number_hash:
        guessed = fingerprint.card_numbers_of(current.pk)
        if not hmac.compare_digest(current.card_number_hash, guessed):
            return False, _count_mismatch(current, now=now)
    elif current.method == Transaction.Method.CARD:
        return False, False
    return hmac.compare_digest(current.fingerprint, fingerprint.request), False


def _count_mismatch(current: Transaction, *, now: datetime) -> bool:
    if not current.count_card_number_mismatch():
        return False
    audit.record(
        action=GUESSES_STOPPED,
        actor=Actor(name="API"),
        business=current.business,
        target=current.reference,
        after={"different_cards": current.card_number_mismatches},
        now=now,
    )
    return True


def old_card_number_hashes(*, now: datetime) -> QuerySet[Transaction]:
    return Transaction.objects.with_card_number_hash().filter(created_at__lt=now - COMPARED_FOR)


def erase_card_number_hashes(*, now: datetime) -> Iterator[int]:
    """Erase the hashes of card numbers that are past their time; yield how many, piece by piece."""
    old = old_card_number_hashes(now=now)
    while keys := list(old.order_by("created_at").values_list("pk", flat=True)[:PIECE]):
        with database.atomic():
            # In the order of ids, as everyone locks rows (`merchants.locks`).
            locked = list(
                old.filter(pk__in=keys)
                .order_by("pk")
                .select_for_update(no_key=True)
                .values_list("pk", flat=True)
            )
            erased = Transaction.objects.filter(pk__in=locked).update(
                card_number_hash="",
                fingerprint=Case(When(method="card", then=Value("")), default=F("fingerprint")),
            )
        yield erased


def guesses_stopped(*, since: datetime) -> int:
    """Return for how many references the bound has been met since a moment."""
    return int(AuditEntry.objects.filter(action=GUESSES_STOPPED, at__gte=since).count())
