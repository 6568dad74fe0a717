"""The details of a transaction, read with a fixed number of queries."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from dashboard.memberships import Membership
from dashboard.transactions.timeline import timeline_of
from dashboard.ui import payer_links
from dashboard.ui.timeline import Moment
from kit import banks
from merchants.models import Business
from payments.models import CardOperation, Transaction
from payments.representation import represent
from payments.services import cancellations
from webhooks.models import Attempt, Delivery


@dataclass(frozen=True, slots=True, kw_only=True)
class Detail:
    transaction: Transaction
    timeline: Sequence[Moment]
    refunds: Sequence[CardOperation]
    delivery: Delivery | None
    bank_name: str
    api_object: str  # JSON, without payer links for roles that may not cancel
    can_capture: bool
    can_cancel: bool
    can_refund: bool
    can_expire: bool  # it is waiting for something that expires


def find(business: Business, transaction_id: UUID) -> Transaction | None:
    """Return the business's transaction; None if there is none, or it is another business's."""
    found: Transaction | None = (
        Transaction.objects.of(business)
        .select_related("challenge", "business", "session__account")
        .filter(pk=transaction_id)
        .first()
    )
    return found


def detail_of(transaction: Transaction, *, membership: Membership) -> Detail:
    operations = list(CardOperation.objects.filter(transaction=transaction).order_by("pk"))
    delivery = Delivery.objects.filter(subject=transaction.pk).first()
    attempts = list(Attempt.objects.filter(delivery=delivery).order_by("number")) if delivery else []
    bank = banks.find(transaction.bank_code) if transaction.bank_code else None
    return Detail(
        transaction=transaction,
        timeline=timeline_of(
            transaction,
            operations=operations,
            returns=list(transaction.returns.order_by("pk")),
            delivery=delivery,
            attempts=attempts,
        ),
        refunds=[each for each in operations if each.kind == CardOperation.Kind.REFUND],
        delivery=delivery,
        bank_name=bank.name if bank else "",
        api_object=pretty(payer_links.shown_to(membership, represent(transaction))),
        can_capture=_is_capturable(transaction, operations),
        can_cancel=is_cancellable(transaction),
        can_refund=is_refundable(transaction),
        can_expire=transaction.is_pending and transaction.awaiting != Transaction.Awaiting.RAIL,
    )


def is_cancellable(transaction: Transaction) -> bool:
    return transaction.awaiting in cancellations.WAITING_FOR_PAYER


def is_refundable(transaction: Transaction) -> bool:
    is_payment = transaction.request_type == Transaction.RequestType.PAYMENT
    succeeded = transaction.status == Transaction.Status.SUCCESS
    return is_payment and succeeded and transaction.amount_refundable > 0


def _is_capturable(transaction: Transaction, operations: Sequence[CardOperation]) -> bool:
    """Return whether to offer capture and void. The services decide whether they are possible."""
    in_progress = any(
        each.kind != CardOperation.Kind.REFUND and each.status == CardOperation.Status.PENDING
        for each in operations
    )
    return transaction.awaiting == Transaction.Awaiting.CAPTURE and not in_progress


def pretty(document: Any) -> str:
    return json.dumps(document, indent=2, ensure_ascii=False)
