"""The objects that the search finds, each with its terms."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any
from uuid import UUID

from dashboard.models import SearchTerm
from dashboard.search import terms
from payments.models import CardOperation, Transaction
from virtual_accounts.models import UNKNOWN_SENDER, UnappliedMoney, VirtualAccount

Kind = SearchTerm.Kind
Row = tuple[UUID, int, bytes, UUID]  # business, kind, term, object

KIND_OF: dict[str, Kind] = {
    Transaction.RequestType.PAYMENT: Kind.PAYMENT,
    Transaction.RequestType.PAYOUT: Kind.PAYOUT,
    Transaction.RequestType.CARD_CHECK: Kind.CARD_CHECK,
}


def of_transactions(keys: Iterable[UUID]) -> Iterator[Row]:
    found = (
        Transaction.objects.filter(pk__in=list(keys))
        .select_related("session", "session__transfer")
        .only(
            "business_id",
            "request_type",
            "reference",
            "amount",
            "currency",
            "customer_name",
            "customer_email",
            "customer_reference",
            "account_number",
            "card_last4",
            "retrieval_reference_number",
            "authorization_code",
            "metadata",
            "session__account_name",
            "session__number_id",
            "session__amount_received",
            "session__transfer__sender_name",
            "session__transfer__sender_account_number",
            "session__transfer__bank_reference",
        )
    )
    for each in found:
        yield from _rows(each.business_id, KIND_OF[each.request_type], each.pk, _of_transaction(each))


def of_refunds(keys: Iterable[UUID]) -> Iterator[Row]:
    found = CardOperation.objects.filter(pk__in=list(keys), kind=CardOperation.Kind.REFUND)
    for each in found.select_related("transaction").only(
        "business_id",
        "reference",
        "amount",
        "destination_name",
        "destination_account_number",
        "retrieval_reference_number",
        "transaction__currency",
    ):
        yield from _rows(each.business_id, Kind.REFUND, each.pk, _of_refund(each))


def of_unapplied(keys: Iterable[UUID]) -> Iterator[Row]:
    for each in UnappliedMoney.objects.filter(pk__in=list(keys)).select_related("transfer"):
        yield from _rows(each.business_id, Kind.UNAPPLIED, each.pk, _of_unapplied(each))


def of_accounts(keys: Iterable[UUID]) -> Iterator[Row]:
    for each in VirtualAccount.objects.filter(pk__in=list(keys)).defer("address", "bvn"):
        yield from _rows(each.business_id, Kind.VIRTUAL_ACCOUNT, each.pk, _of_account(each))


def _of_transaction(each: Transaction) -> Iterator[bytes]:
    yield from terms.reference(each.reference)
    yield from terms.reference(each.customer_reference)
    yield from terms.names(each.customer_name)
    yield from terms.email(each.customer_email)
    yield from terms.code(each.account_number)
    yield from terms.code(each.card_last4)
    yield from terms.code(each.authorization_code)
    yield from terms.trace(each.retrieval_reference_number)
    yield from terms.metadata(each.metadata)
    if each.amount:
        yield from terms.amount(each.amount, each.currency)
    if each.session is not None:
        yield from terms.names(each.session.account_name)
        yield from terms.code(each.session.number_id)
        if each.session.amount_received:
            yield from terms.amount(each.session.amount_received, each.currency)
        yield from _of_transfer(getattr(each.session, "transfer", None))


def _of_transfer(transfer: Any) -> Iterator[bytes]:
    if transfer is None:
        return
    if transfer.sender_name != UNKNOWN_SENDER:
        yield from terms.names(transfer.sender_name)
    yield from terms.code(transfer.sender_account_number)
    yield from terms.reference(transfer.bank_reference)


def _of_refund(each: CardOperation) -> Iterator[bytes]:
    yield from terms.reference(each.reference or "")
    yield from terms.names(each.destination_name)
    yield from terms.code(each.destination_account_number)
    yield from terms.trace(each.retrieval_reference_number)
    yield from terms.amount(each.amount, each.transaction.currency)


def _of_unapplied(each: UnappliedMoney) -> Iterator[bytes]:
    yield from _of_transfer(each.transfer)
    yield from terms.code(each.transfer.number_id)
    yield from terms.amount(each.amount, each.currency)


def _of_account(each: VirtualAccount) -> Iterator[bytes]:
    yield from terms.reference(each.reference)
    yield from terms.names(each.holder_name)
    yield from terms.email(each.email)
    yield from terms.code(each.account_number)
    yield from terms.code(each.phone_number)
    yield from terms.metadata(each.metadata)


def _rows(business: UUID, kind: Kind, object_id: UUID, found: Iterator[bytes]) -> Iterator[Row]:
    for term in dict.fromkeys(found):
        yield business, int(kind), term, object_id
