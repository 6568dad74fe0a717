"""Compare a request that reuses a reference with the request that created the transaction.

The comparison must not reveal the stored card number. It includes the number for 24 hours, or until 5 requests had a
different number. Then the hash of the number is erased. Afterwards, requests with any card are rejected, and card
numbers within texts of other requests are compared masked. Decision 0017.
"""

import hmac
from collections.abc import Iterator, Mapping
from datetime import datetime, timedelta
from typing import Any

import structlog
from django.db import transaction as database
from django.db.models import Case, F, QuerySet, Value, When

from kit.api.replays import DuplicateReference, IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from merchants.models import AuditEntry
from merchants.people import audit
from merchants.people.audit import Actor
from payments.fingerprints import differing_fields, fields_with_card_numbers, first_release_fingerprint
from payments.models import Transaction
from payments.services.replays.stored_requests import stored_request
from payments.services.transactions.intents import lock

COMPARED_FOR = timedelta(hours=24)
GUESSES_STOPPED = "card_number.guesses_stopped"  # action of the audit entry
PIECE = 1_000  # rows

log = structlog.get_logger("sluice.comparison")


def replay_or_raise(
    existing: Transaction, *, request: Mapping[str, Any], fingerprint: Fingerprint, now: datetime
) -> IdempotentResult[Transaction]:
    """Return the transaction as a replay. Call it outside database transactions, because it commits its counter.

    :raises DuplicateReference: the reference was used for a different request
    """
    if not fingerprint.card_numbers:
        if existing.card_number_hash or existing.fingerprint != fingerprint.request:
            raise DuplicateReference.of(existing, differs=_differing(existing, request, fingerprint))
        return IdempotentResult(existing, is_replay=True)
    with database.atomic():
        # Lock the row, so that concurrent guesses are counted one by one.
        current = lock(existing.pk)
        is_same, is_bound_met = _compare(current, request, fingerprint, now=now)
    if is_bound_met:
        log.error(
            "card number guesses stopped", business=str(current.business_id), reference=current.reference
        )
    if not is_same:
        raise DuplicateReference.of(current, differs=_differing(current, request, fingerprint))
    return IdempotentResult(current, is_replay=True)


def _differing(existing: Transaction, request: Mapping[str, Any], fingerprint: Fingerprint) -> set[str]:
    """Return the names of the fields that differ. The answer must not confirm a card number.

    While numbers are compared, fields with them are named only if nothing else differs: any number has the same answer.
    Afterwards they are always named.
    """
    names = set(differing_fields(request, stored_request(existing), fingerprint=existing.fingerprint))
    if not fingerprint.card_numbers:
        return names
    with_numbers = fields_with_card_numbers(request)
    if existing.card_number_hash:
        return names - with_numbers or with_numbers
    return names | with_numbers


def _compare(
    current: Transaction, request: Mapping[str, Any], fingerprint: Fingerprint, *, now: datetime
) -> tuple[bool, bool]:
    """Return whether the request is the same, and whether it reached the limit of guesses.

    Release 0.1 stored no separate hash of the number: its fingerprint covers everything. Erasing empties both.
    """
    is_card = current.method == Transaction.Method.CARD
    if current.created_at < now - COMPARED_FOR and (
        current.card_number_hash or (is_card and current.fingerprint)
    ):
        current.erase_card_number_hash()
    if current.card_number_hash:
        guessed = fingerprint.card_numbers_of(current.pk)
        if not hmac.compare_digest(current.card_number_hash, guessed):
            return False, _count_mismatch(current, now=now)
    elif is_card:
        if not current.fingerprint:  # erased
            return False, False
        if not hmac.compare_digest(current.fingerprint, first_release_fingerprint(dict(request))):
            return False, _count_mismatch(current, now=now)
        return True, False
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
    """Erase hashes of card numbers that are older than 24 hours. Yield the size of each batch."""
    old = old_card_number_hashes(now=now)
    while keys := list(old.order_by("created_at").values_list("pk", flat=True)[:PIECE]):
        with database.atomic():
            # Lock rows in the order of ids, as everywhere (`kit.db.locks`).
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
    """Return the number of references that have reached the limit of guesses since a moment."""
    return int(AuditEntry.objects.filter(action=GUESSES_STOPPED, at__gte=since).count())
