"""Exams of a merchant's webhook receiver. Sandbox only."""

from collections.abc import Collection
from datetime import datetime

from rest_framework.exceptions import NotFound

from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import InvalidState
from payments.sample_events import SampleEvents
from webhooks.exams import exams
from webhooks.exams.exam import MOST_KINDS
from webhooks.exams.exam_records import Exam
from webhooks.exams.exam_requests import KINDS
from webhooks.listeners import listeners
from webhooks.listeners.listener_keys import hash_key
from webhooks.models import Endpoint, Event


def examine_endpoint(
    business: Business, *, actor: Actor, now: datetime, number: int = Endpoint.FIRST
) -> Exam:
    """Start an exam of an endpoint of the business, by default the first one. The service sends the requests.

    :raises InvalidState: there is no endpoint, it is subscribed to none of the five events, or an exam is running
    :raises LimitReached: the business has started too many exams
    """
    endpoint = Endpoint.objects.live().filter(business=business, number=number).first()
    if endpoint is None:
        raise InvalidState("Save a webhook URL first. The exam sends its requests to it.")
    return exams.start(
        business=business,
        endpoint_number=number,
        kinds=_chosen([event for event in Event if endpoint.is_subscribed_to(event)]),
        hash_key=endpoint.hash_key,
        events=SampleEvents(business),
        actor=actor,
        now=now,
    )


def examine_listener(business: Business, name: str, *, actor: Actor, now: datetime) -> Exam:
    """Start an exam whose requests the merchant's tool sends, signed with the key of a listener.

    :raises NotFound: the business has no such listener
    :raises InvalidState: it listens to none of the five events, or an exam is running
    :raises LimitReached: the business has started too many exams
    """
    listener = listeners.find(business=business, name=name, now=now)
    if listener is None:
        raise NotFound
    return exams.start(
        business=business,
        listener=name,
        kinds=_chosen(listener.events),
        hash_key=hash_key(business.pk, name),
        events=SampleEvents(business),
        actor=actor,
        now=now,
    )


def _chosen(kinds: Collection[str]) -> list[str]:
    """Return the kinds that an exam sends, in their order: the five come first, and the opt-in events last.

    If they are more than its requests allow, the five are kept, and the first ones of each other category.

    :raises InvalidState: none of the five is among them
    """
    if not set(KINDS) & set(kinds):
        raise InvalidState("Subscribe to payment or payout events first. The exam sends these.")
    found = [event.value for event in Event if event in kinds]
    by_place = sorted(found, key=lambda kind: (kind not in KINDS, _place_in_category(kind, found)))
    return [kind for kind in found if kind in by_place[:MOST_KINDS]]


def _place_in_category(kind: str, kinds: list[str]) -> int:
    """Return how many kinds of the same category come before."""
    category = kind.partition(".")[0]
    return [other for other in kinds if other.partition(".")[0] == category].index(kind)
