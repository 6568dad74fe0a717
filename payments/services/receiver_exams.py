"""Exams of a merchant's webhook receiver. Sandbox only."""

from collections.abc import Collection
from datetime import datetime

from rest_framework.exceptions import NotFound

from merchants.audit import Actor
from merchants.models import Business
from payments.models import InvalidState
from payments.sample_events import SampleEvents
from webhooks import exams, listeners
from webhooks.exam_records import Exam
from webhooks.exam_requests import KINDS
from webhooks.listener_keys import hash_key
from webhooks.models import Endpoint


def examine_endpoint(business: Business, *, actor: Actor, now: datetime) -> Exam:
    """Start an exam of the business's endpoint. The service sends the requests.

    :raises InvalidState: there is no endpoint, it is subscribed to none of the five events, or an exam is running
    :raises LimitReached: the business has started too many exams
    """
    endpoint = Endpoint.objects.filter(business=business).first()
    if endpoint is None:
        raise InvalidState("Save a webhook URL first. The exam sends its requests to it.")
    return exams.start(
        business=business,
        kinds=_chosen([kind for kind in KINDS if endpoint.is_subscribed_to(kind)]),
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
    """Return those of the five kinds that an exam sends, in their order.

    :raises InvalidState: there are none
    """
    found = [kind for kind in KINDS if kind in kinds]
    if not found:
        raise InvalidState("Subscribe to payment or payout events first. The exam sends these.")
    return found
