"""The events API. `request.user` is the business that signed the request."""

from uuid import UUID

from django.conf import settings
from django.shortcuts import get_object_or_404
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.operations import Success, ok, operation, page
from kit.api.pagination import NewestMomentFirst
from kit.db import clock
from merchants.api.api_requests import ObjectKind, business_of, note_object, read_body
from merchants.people.request_actors import key_acting
from payments.api.filters import EventFilterSerializer, filtered_events
from payments.api.serializers import ResendSerializer, ResendTo
from payments.models import InvalidState
from payments.representation import events as answers
from payments.services.events.event_subjects import subjects_of
from webhooks import services as webhooks
from webhooks.models import Delivery, DeliveryQuerySet


class EventsView(APIView):
    @operation("listEvents", page(answers.EVENTS_PAGE), filters=EventFilterSerializer)
    def get(self, request: Request) -> Response:
        """List events.

        Every event that you were subscribed to when it happened, with the state of its delivery, and your
        test events. Get a single event to see its exact body and its attempts.
        """
        found = filtered_events(_events(request).defer("body"), business_of(request), request.query_params)
        pages = NewestMomentFirst()
        rows: list[Delivery] = pages.paginate_queryset(found, request, self) or []
        subjects = subjects_of(rows)
        return pages.get_paginated_response(
            [answers.represent_event(one, subjects.get(one.pk)) for one in rows]
        )


class EventView(APIView):
    @operation("getEvent", ok(answers.EVENT_IN_DETAIL, "The event's current state."))
    def get(self, request: Request, event_id: UUID) -> Response:
        """Get an event with its body and its attempts.

        The body is exactly what was sent. Each attempt says what your endpoint answered.
        """
        event = _find(request, event_id)
        subject = subjects_of([event]).get(event.pk)
        attempts = event.attempts.order_by("number")
        return Response(answers.represent_event_in_detail(event, subject, attempts=attempts))


class ResendView(APIView):
    @operation(
        "resendEvent",
        {202: Success(answers.EVENT, "Accepted: the event as it is now.")},
        ResendSerializer,
        problems="invalid_state",
    )
    def post(self, request: Request, event_id: UUID) -> Response:
        """Resend an event.

        With the same id and body, signed with your current key. Your endpoint gets one attempt, even if it is
        disabled. If a retry is planned, this is an extra attempt now, and the planned one stays. In the sandbox, each
        listener that wants the event gets a further copy. The response is 409 `invalid_state` while an attempt is due or in progress, if the event was
        skipped or is a test event, and once its body has been purged. Don't repeat a call whose response you lost:
        look up the event instead.
        """
        event = _find(request, event_id)
        wanted = read_body(request, ResendSerializer)
        default = ResendTo.BOTH if settings.SANDBOX else ResendTo.ENDPOINT
        if not _resend(event, to=wanted.get("to", default), request=request):
            raise InvalidState(_refusal(_find(request, event_id)))
        event = _find(request, event_id)
        return Response(
            answers.represent_event(event, subjects_of([event]).get(event.pk)),
            status=status.HTTP_202_ACCEPTED,
        )


def _resend(event: Delivery, *, to: ResendTo, request: Request) -> bool:
    """Resend an event, and return whether its state allowed that."""
    if to is ResendTo.LISTENERS:
        return webhooks.replay_to_listeners(event, now=clock.now())
    (is_queued,) = webhooks.replay(
        [event.pk], actor=key_acting(request), now=clock.now(), to_listeners=to is ResendTo.BOTH
    )
    return is_queued


def _refusal(event: Delivery) -> str:
    if event.is_test:
        return "Test events are sent once. Send a new one from the dashboard."
    if not event.has_payload:
        return "The event's body was deleted at the end of its retention period."
    if event.state == Delivery.State.SKIPPED:
        return "The event was skipped: you unsubscribed from it, disabled the endpoint for seven days, or deleted it."
    if not Delivery.objects.of_live_endpoints().filter(pk=event.pk).exists():
        return "The event's endpoint was deleted."
    return "An attempt is due or in progress."


def _find(request: Request, event_id: UUID) -> Delivery:
    event = get_object_or_404(_events(request), pk=event_id)
    note_object(request, ObjectKind.EVENT, event.pk)
    return event


def _events(request: Request) -> DeliveryQuerySet:
    return Delivery.objects.filter(business=business_of(request))
