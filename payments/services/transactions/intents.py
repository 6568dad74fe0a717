"""Intents: the row with our own reference that is committed before a rail is called.

An intent is one INSERT. Of several concurrent equal requests, one inserts it and calls the rail. The others return
the stored transaction.
"""

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction as database

from kit.api.replays import IdempotentResult
from kit.api.request_fingerprints import Fingerprint
from kit.db.prepared_statements import Lookup, Unless, insert_if_absent
from kit.time.time_ordered_ids import new_id
from merchants.models import Business
from payments.models import ReservedReference, Transaction
from payments.models.transactions.transactions import LINK_FIELDS, SET_LATER
from payments.rules.cards import Card
from payments.rules.fees import Snapshot, flow_of
from payments.services import fee_rules
from payments.services.checkouts import card_declines
from payments.services.fee_rules import NoPrice
from payments.services.links import link_uses
from payments.services.links.link_uses import AnotherAttempt, Attempt
from payments.services.replays import reserved_references
from payments.trace_numbers import trace_numbers
from virtual_accounts.models import Session

FIRST_QUERY_AFTER = timedelta(seconds=10)


def open_intent(
    *,
    business: Business,
    reference: str,
    fingerprint: Fingerprint,
    now: datetime,
    attempt: Attempt | None = None,
    **fields: Any,
) -> IdempotentResult[Transaction]:
    """Create a pending transaction, or return the existing one with the reference.

    `request_comparison` decides later, outside the caller's database transaction, whether the requests are equal. An
    attempt at a payment link is never a replay: the lock of its checkout decides which one begins.

    :raises NoPrice: the flow isn't offered in this currency
    :raises DuplicateReference: it is no payout, and a payout of a batch has the reference
    :raises AttemptNotBegun: the attempt can't begin; nothing was stored
    """
    if "fee_rule" not in fields:
        try:
            fields["fee_rule"] = _fee_rule(business, fields)
        except NoPrice:
            # An equal request may have been accepted while the flow was offered.
            existing = find_of(business, reference)
            if existing is None:
                raise
            return IdempotentResult(existing, is_replay=True)
    query_at = fields.pop("next_query_at", now + FIRST_QUERY_AFTER)
    transaction_id = new_id(now) if attempt is None else attempt.id
    new = Transaction(
        id=transaction_id,
        business=business,
        reference=reference,
        fingerprint=fingerprint.request,
        card_number_hash=fingerprint.card_numbers_of(transaction_id),
        created_at=now,
        # Until then, this process calls the rail. If it dies, another one queries the outcome.
        next_query_at=query_at,
        query_leased_until=query_at,
        **fields,
    )
    if attempt is not None:
        _insert_attempt(new, attempt, now=now)
        return IdempotentResult(new, is_replay=False)
    # A payout of a batch has the reference that was reserved for it.
    reserved = None if new.request_type == Transaction.RequestType.PAYOUT else _RESERVED
    if insert_if_absent(new, at_default=NEVER_SET, unless=reserved):
        return IdempotentResult(new, is_replay=False)
    if reserved is not None:
        reserved_references.require_free(business, reference)
    return IdempotentResult(_existing(find_of(business, reference)), is_replay=True)


_RESERVED = Unless(ReservedReference, ("business", "reference"))
NEVER_SET = (*SET_LATER, *LINK_FIELDS)  # fields that no request of the API sets


@database.atomic
def _insert_attempt(new: Transaction, attempt: Attempt, *, now: datetime) -> None:
    """Hold a use of the link and store the payment, both or neither."""
    new.checkout = link_uses.hold(attempt, now=now)
    new.payment_link = new.checkout.link
    if not insert_if_absent(new, at_default=SET_LATER):
        raise AnotherAttempt
    if attempt.card is not None:
        card_declines.begin(new, card=attempt.card, now=now)


def _fee_rule(business: Business, fields: dict[str, Any]) -> Snapshot:
    flow = flow_of(fields["request_type"], fields["method"])
    return fee_rules.snapshot(business, flow, fields["currency"], purpose=fields.get("purpose", ""))


def order_fields(request: dict[str, Any]) -> dict[str, Any]:
    """Return the columns that payments and payouts have in common."""
    customer = request.get("customer", {})
    return {
        "reference": request["reference"],
        "amount": request["amount"],
        "currency": request["currency"],
        "narration": request.get("narration", ""),
        "metadata": request.get("metadata"),
        "payment_ip": request.get("payment_ip"),
        "customer_name": customer.get("name", ""),
        "customer_email": customer.get("email", ""),
        "customer_reference": customer.get("reference", ""),
    }


def card_fields(card: Card) -> dict[str, Any]:
    """Return the card's columns and the ISO 8583 numbers of a transaction."""
    return {
        "method": Transaction.Method.CARD,
        **trace_fields(),
        "card_brand": card.brand,
        "card_bin": card.bin,
        "card_last4": card.last4,
        "card_expiry_month": card.expiry_month,
        "card_expiry_year": card.expiry_year,
    }


def trace_fields() -> dict[str, str]:
    """Take the ISO 8583 numbers of the next message to an acquirer. Call it outside a database transaction.

    :raises RailUnavailable: all numbers of this hour are taken
    """
    number = trace_numbers.take()
    return {
        "system_trace_audit_number": number.stan,
        "retrieval_reference_number": number.rrn,
    }


def find(transaction_id: UUID) -> Transaction:
    """Return the transaction from the database."""
    return _existing(_BY_ID.find(transaction_id))


def lock(transaction_id: UUID) -> Transaction:
    """Return the transaction, locked until the database transaction ends."""
    return _existing(_LOCKED_BY_ID.find(transaction_id))


def lock_of_session(session: Session) -> Transaction:
    """Return the payment of a session, locked until the database transaction ends."""
    transaction = _existing(_LOCKED_BY_SESSION.find(session.pk))
    transaction.session = session
    return transaction


def lock_of_sessions(sessions: list[Session]) -> list[Transaction]:
    """Return the payments of these sessions, locked until the database transaction ends."""
    of_sessions = Transaction.objects.filter(session__in=[session.pk for session in sessions])
    locked = of_sessions.select_for_update(of=("self",)).select_related("business").order_by("pk")
    payments = {payment.session_id: payment for payment in locked}
    for session in sessions:
        payments[session.pk].session = session
    return list(payments.values())


def find_of(business: Business, reference: str) -> Transaction | None:
    """Return the business's transaction with this reference, or None."""
    found = _BY_REFERENCE.find(business.pk, reference)
    if found is not None:
        found.business = business
    return found


def _existing(found: Transaction | None) -> Transaction:
    if found is None:
        raise Transaction.DoesNotExist
    return found


_BY_ID = Lookup(Transaction, "id", joined=("business",))
_LOCKED_BY_ID = Lookup(Transaction, "id", joined=("business",), lock=True)
_LOCKED_BY_SESSION = Lookup(Transaction, "session", joined=("business",), lock=True)
_BY_REFERENCE = Lookup(Transaction, "business", "reference")


def authorisation_ends(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.AUTHORISATION_LIFETIME)


def challenge_ends(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.CHALLENGE_LIFETIME)
