"""A delivery as its page shows it: attempts so far, their results, and planned attempts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from urllib.parse import urlsplit

from django.conf import settings
from django.urls import reverse

from dashboard.memberships import Membership
from dashboard.transactions.detail.related import refund_link, transaction_link
from dashboard.ui import payer_links
from dashboard.ui.components.related import RelatedObject
from dashboard.ui.components.timeline import BAD, GOOD, NEW, WAIT, Moment
from dashboard.webhooks.deliveries.delivery_rows import last_attempt_of
from dashboard.webhooks.endpoints.endpoint_health import state_of
from dashboard.webhooks.endpoints.own_endpoints import address_of
from kit.db import clock
from kit.files import bounded_json
from kit.money.money import money
from kit.time.durations import in_words, range_in_words
from payments.models import CardOperation, Transaction
from payments.services.events.event_subjects import Subject, subjects_of
from payments.services.sandbox.sandbox_events import advanced_attempts
from webhooks.endpoints.outages import outage_of
from webhooks.models import Attempt, Delivery, Endpoint, event_name
from webhooks.sending.request_headers import request_headers
from webhooks.sending.retry_schedule import JITTER, delays_of
from webhooks.services import is_replayable
from webhooks.signing import keys_at, sign, standard_headers

State = Delivery.State
REFUND, DISPUTE = "refund", "dispute"  # types of subjects


@dataclass(frozen=True, slots=True, kw_only=True)
class SubjectLink:
    """What an event is about, and the address of its page."""

    name: str
    address: str
    text: str = ""  # its amount, and who pays or is paid


@dataclass(frozen=True, slots=True)
class SubjectPage:
    """The page of a subject that has no reference."""

    name: str
    route: str
    title: str
    icon: str
    has_id: bool = True  # in its address

    def address(self, subject: Subject) -> str:
        return reverse(self.route, args=[subject.id] if self.has_id else [])


_PAGES = {
    "transfer": SubjectPage(
        "an unapplied transfer", "dashboard-unapplied-item", "Unapplied transfer", "banknotes"
    ),
    "settlement": SubjectPage("a settlement", "dashboard-settlement", "Settlement", "banknotes"),
    "journal": SubjectPage("your balance", "dashboard-balance", "Balance", "banknotes", has_id=False),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class DeliveryDetail:
    delivery: Delivery
    timeline: Sequence[Moment]
    headers: Sequence[tuple[str, str]]  # as the next attempt would send them
    body: str  # indented, for reading
    exact_body: str  # for the copy button; empty if the member may not see the whole body
    url: str
    subject: SubjectLink | None  # None for a test event
    related: Sequence[RelatedObject]
    next_attempt: NextAttempt | None
    attempts_count: int
    last_response: str  # the beginning of the endpoint's last response body
    is_replayable: bool
    is_live: bool  # an attempt is in progress or scheduled


@dataclass(frozen=True, slots=True)
class NextAttempt:
    number: int  # manual attempts count too
    last: int  # number of the last automatic attempt
    at: datetime
    is_running: bool
    is_manual: bool
    planned_at: datetime | None  # of the automatic attempt that follows a manual one


def detail_of(delivery: Delivery, *, membership: Membership) -> DeliveryDetail:
    attempts = list(Attempt.objects.filter(delivery=delivery).order_by("number"))
    endpoint = Endpoint.objects.filter(business=delivery.business_id, number=delivery.endpoint_number).first()
    subject = subjects_of([delivery]).get(delivery.pk)
    transaction = _transaction_of(subject)
    return DeliveryDetail(
        delivery=delivery,
        timeline=_timeline(delivery, attempts),
        headers=_headers(delivery, endpoint, number=1 if delivery.is_test else delivery.attempts_count + 1),
        body=_indented(delivery.body, membership),
        exact_body=delivery.body
        if payer_links.text_shown_to(membership, delivery.body) == delivery.body
        else "",
        url=endpoint.url if endpoint else "",
        subject=_subject_link(subject, transaction) if subject else None,
        related=list(_related(subject, transaction, endpoint)),
        next_attempt=_next_attempt(delivery),
        attempts_count=len(attempts),
        last_response=bytes(attempts[-1].excerpt).decode(errors="replace") if attempts else "",
        is_replayable=is_replayable(delivery, now=clock.now())
        and endpoint is not None
        and endpoint.deleted_at is None,
        is_live=delivery.state == State.WAITING,
    )


def _transaction_of(subject: Subject | None) -> Transaction | None:
    if subject is None or subject.transaction_id is None:
        return None
    return Transaction.objects.get(pk=subject.transaction_id)


def _subject_link(subject: Subject, transaction: Transaction | None) -> SubjectLink:
    text = _money_and_person(subject, transaction)
    if subject.type == REFUND:
        return SubjectLink(
            name=subject.reference or "", address=reverse("dashboard-refund", args=[subject.id]), text=text
        )
    if subject.type == DISPUTE:
        return SubjectLink(
            name=subject.reference or "", address=reverse("dashboard-dispute", args=[subject.id])
        )
    if subject.transaction_id is not None:
        address = reverse("dashboard-payment", args=[subject.transaction_id])
        return SubjectLink(name=subject.reference or "", address=address, text=text)
    page = _PAGES[subject.type]
    return SubjectLink(name=page.name, address=page.address(subject))


def _money_and_person(subject: Subject, transaction: Transaction | None) -> str:
    """Return the amount of an event, and the customer it comes from or goes to."""
    if not subject.amount or transaction is None:
        return ""
    amount = money(subject.amount, subject.currency)
    if not transaction.customer_name:
        return amount
    comes_in = subject.type != REFUND and transaction.request_type != Transaction.RequestType.PAYOUT
    return f"{amount} {'from' if comes_in else 'to'} {transaction.customer_name}"


def _related(
    subject: Subject | None, transaction: Transaction | None, endpoint: Endpoint | None
) -> Iterator[RelatedObject]:
    """Yield the object of the event, and the endpoint."""
    if transaction is not None:
        if subject is not None and subject.type == REFUND:
            yield refund_link(CardOperation.objects.get(pk=subject.id), transaction)
        yield transaction_link(transaction)
    elif subject is not None:
        page = _PAGES[subject.type]
        yield RelatedObject(icon=page.icon, name=page.title, text="", address=page.address(subject))
    if endpoint is not None:
        code, name = state_of(endpoint, outage_of(endpoint) if endpoint.enabled else None)
        yield RelatedObject(
            icon="signal",
            name="Endpoint",
            text=urlsplit(endpoint.url).hostname or "",
            address=address_of(endpoint) if endpoint.deleted_at is None else reverse("dashboard-endpoints"),
            status=code,
            status_name=name,
        )


def _next_attempt(delivery: Delivery) -> NextAttempt | None:
    if delivery.state != State.WAITING or delivery.next_attempt_at is None:
        return None
    return NextAttempt(
        number=delivery.attempts_count + 1,
        last=last_attempt_of(delivery),
        at=delivery.next_attempt_at,
        is_running=delivery.lease_token is not None,
        is_manual=delivery.is_manual,
        planned_at=delivery.planned_at,
    )


def _timeline(delivery: Delivery, attempts: Sequence[Attempt]) -> list[Moment]:
    moments = [
        Moment(at=delivery.created_at, title="Event created", text="The body will not change.", mark=NEW)
    ]
    previous: Attempt | None = None
    automatic = 0
    advanced = advanced_attempts(delivery) if settings.SANDBOX and len(attempts) > 1 else frozenset()
    for attempt in attempts:
        automatic += not attempt.is_manual
        is_advanced = attempt.number in advanced
        moments.append(_attempt_moment(attempt, previous, automatic=automatic, is_advanced=is_advanced))
        previous = attempt
    moments.extend(_planned(delivery))
    return moments


def _attempt_moment(
    attempt: Attempt, previous: Attempt | None, *, automatic: int, is_advanced: bool
) -> Moment:
    succeeded = attempt.status is not None and not attempt.error
    title = f"Attempt {attempt.number}" + (" (manual)" if attempt.is_manual else "")
    result = f"{title}: responded with {attempt.status}" if attempt.status else f"{title}: no response"
    lines = [(name, f"{value:.1f} ms") for name, value in _phases(attempt) if value is not None]
    delay = (
        ""
        if previous is None or previous.is_manual or attempt.is_manual
        else _actual_delay(attempt, previous, automatic=automatic, is_advanced=is_advanced)
    )
    text = f"{attempt.result} {delay}".rstrip()
    return Moment(
        at=attempt.started_at, title=result, text=text, lines=lines, mark=GOOD if succeeded else BAD
    )


def _phases(attempt: Attempt) -> Iterator[tuple[str, float | None]]:
    yield "DNS lookup", attempt.dns_ms
    yield "Connection", attempt.connect_ms
    yield "TLS handshake", attempt.tls_ms
    yield "Waiting for the response", attempt.wait_ms
    yield "Total", attempt.total_ms


def _actual_delay(attempt: Attempt, previous: Attempt, *, automatic: int, is_advanced: bool) -> str:
    """Return the delay since the previous attempt, the range it was drawn from, and whether the sandbox shortened it.

    `automatic`: the number of the attempt among the automatic ones.
    """
    ended = previous.started_at + timedelta(milliseconds=previous.total_ms)
    waited = max(attempt.started_at - ended, timedelta(0))
    delays = delays_of(settings.WEBHOOK_RETRY_DELAYS)
    if automatic > len(delays):
        return ""
    planned = delay_range(delays[automatic - 1])
    advanced = " It was advanced in the sandbox." if is_advanced else ""
    return f"Sent {in_words(waited, parts=2)} after the previous attempt (planned: {planned}).{advanced}"


def _planned(delivery: Delivery) -> Iterator[Moment]:
    if delivery.state == State.HELD:
        text = "The endpoint is disabled. The event is sent when the endpoint is re-enabled, or dropped after seven days."
        yield Moment(at=delivery.created_at, title="Held", text=text, is_planned=True, mark=WAIT)
    if delivery.state != State.WAITING or delivery.next_attempt_at is None:
        return
    number = delivery.attempts_count + 1
    if delivery.lease_token is not None:
        yield Moment(
            at=delivery.next_attempt_at, title=f"Attempt {number} in progress", is_planned=True, mark=WAIT
        )
        return
    yield Moment(at=delivery.next_attempt_at, title=f"Attempt {number}", is_planned=True, mark=WAIT)
    if delivery.planned_at is not None:
        title = f"Attempt {number + 1}, if attempt {number} fails"
        yield Moment(at=delivery.planned_at, title=title, is_planned=True, mark=WAIT)


def later_attempts(delivery: Delivery) -> list[tuple[int, str]]:
    """Return the automatic attempts after the next one, each with the range of its delay after the previous one.

    They are numbered as `Delivery.attempts_count` counts: with the manual ones.
    """
    delays = delays_of(settings.WEBHOOK_RETRY_DELAYS)
    if delivery.state != State.WAITING or delivery.is_manual:
        return []
    return [
        (number + delivery.manual_attempts, delay_range(delays[number - 1]))
        for number in range(delivery.attempts_made + 2, len(delays) + 1)
    ]


def delay_range(base: timedelta) -> str:
    """Return the range that a delay is drawn from.

    >>> delay_range(timedelta(seconds=30)), delay_range(timedelta(hours=12))
    ('15 seconds to 45 seconds', '6 hours to 18 hours')
    """
    return range_in_words(base * (1 - JITTER), base * (1 + JITTER))


def _headers(delivery: Delivery, endpoint: Endpoint | None, *, number: int) -> list[tuple[str, str]]:
    """Return the headers of the next attempt as they would be sent now, without signatures of a body that is gone."""
    body, at = delivery.body.encode(), clock.now()
    keys = _keys(endpoint, at=at) if endpoint and delivery.has_payload else []
    signature, previous_signature, *_ = [*(sign(key, body) for key in keys), "", ""]
    headers = request_headers(
        signature=signature,
        previous_signature=previous_signature,
        version=endpoint.api_version if endpoint and endpoint.made_by_api else "",
        event_id=delivery.event_id,
        event=event_name(delivery.event),
        attempt=number,
        is_test=delivery.is_test,
    )
    if keys and endpoint and endpoint.standard_webhooks:
        headers |= standard_headers(keys, delivery_id=delivery.pk, at=at, body=body)
    return list(headers.items())


def _keys(endpoint: Endpoint, *, at: datetime) -> list[str]:
    return keys_at(
        at,
        key=endpoint.hash_key,
        previous=endpoint.previous_hash_key,
        previous_ends_at=endpoint.previous_key_ends_at,
    )


def _indented(body: str, membership: Membership) -> str:
    return bounded_json.indented(payer_links.text_shown_to(membership, body))
