"""One API request as its page shows it, read with a fixed number of queries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from urllib.parse import parse_qsl, urlencode, urlsplit
from uuid import UUID

from django.urls import reverse

from dashboard.developers.retry_advice import retry_advice
from dashboard.transactions.detail.related import delivery_link, refund_link, transaction_link
from dashboard.transactions.request_links import page_of_object, request_link, request_tone
from dashboard.ui.components.related import RelatedObject
from merchants.models import ApiKey, ApiRequest
from payments.models import CardOperation, Transaction
from webhooks.models import Delivery

Kind = ApiRequest.ObjectKind
MOST_LISTED = 5  # other requests about the object, and deliveries

TRANSACTIONS = {Kind.PAYMENT, Kind.PAYOUT, Kind.CARD_CHECK}
ICONS = {
    Kind.VIRTUAL_ACCOUNT: "hashtag",
    Kind.UNAPPLIED_TRANSFER: "banknotes",
    Kind.SETTLEMENT: "building-library",
    Kind.EVENT: "bolt",
    Kind.DISPUTE: "scale",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestDetail:
    call: ApiRequest
    tone: str
    status_text: str  # such as "201 Created"
    path: str
    parameters: Sequence[tuple[str, str]]  # of the query
    key: ApiKey | None  # None if it was deleted
    retry: str  # whether to send it again; empty if it succeeded
    object_address: str
    related: Sequence[RelatedObject]
    others: Sequence[RelatedObject]  # newest requests about the same object
    all_about_object: str  # address of their list

    @property
    def was_authentic(self) -> bool:
        return self.call.status != HTTPStatus.UNAUTHORIZED


def detail_of(call: ApiRequest) -> RequestDetail:
    target = urlsplit(call.target)
    key = ApiKey.objects.filter(business=call.business_id, public_id=call.key).defer("secret").first()
    about = (
        f"{reverse('dashboard-requests')}?{urlencode({'object': call.object_id})}" if call.object_id else ""
    )
    return RequestDetail(
        call=call,
        tone=request_tone(call.status),
        status_text=status_text(call.status),
        path=target.path,
        parameters=parse_qsl(target.query, keep_blank_values=True),
        key=key,
        retry=retry_advice(method=call.method, status=call.status, code=call.code),
        object_address=page_of_object(call),
        related=list(_related(call)),
        others=[request_link(each) for each in _others(call)],
        all_about_object=about,
    )


def status_text(status: int) -> str:
    """Return a status with its reason phrase, if it has one.

    >>> status_text(201), status_text(299)
    ('201 Created', '299')
    """
    known = {each.value: each.phrase for each in HTTPStatus}
    return f"{status} {known.get(status, '')}".rstrip()


def _related(call: ApiRequest) -> Iterator[RelatedObject]:
    """Yield the object of a request, and its newest events."""
    if call.object_id is None:
        return
    yield _object(call, call.object_id)
    events = Delivery.objects.with_endpoint_url().filter(business=call.business_id, subject=call.object_id)
    yield from (delivery_link(each) for each in events.defer("body").order_by("-created_at")[:MOST_LISTED])


def _object(call: ApiRequest, key: UUID) -> RelatedObject:
    """Return the object, with its amount and status if it is a transaction or a refund."""
    if call.object_kind in TRANSACTIONS:
        mine = Transaction.objects.filter(business=call.business_id)
        return transaction_link(mine.get(pk=key))
    if call.object_kind == Kind.REFUND:
        refunds = CardOperation.objects.select_related("transaction").filter(business=call.business_id)
        refund = refunds.get(pk=key)
        return refund_link(refund, refund.transaction)
    return RelatedObject(
        icon=ICONS[Kind(call.object_kind)],
        name=call.get_object_kind_display().capitalize(),
        text=call.reference,
        address=page_of_object(call),
    )


def _others(call: ApiRequest) -> Iterable[ApiRequest]:
    if call.object_id is None:
        return ()
    about = ApiRequest.objects.filter(business=call.business_id, object_id=call.object_id)
    return about.exclude(pk=call.pk).order_by("-id")[:MOST_LISTED]
