"""The events API. `request.user` is the business that signed the request."""

from typing import cast
from uuid import UUID

from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.pagination import NewestMomentFirst
from merchants.api_requests import ObjectKind, note_object
from merchants.models import Business
from payments.event_representation import represent_event, represent_event_in_detail
from payments.filters import filtered_events
from payments.services.event_subjects import subjects_of
from webhooks.models import Delivery, DeliveryQuerySet


class EventsView(APIView):
    def get(self, request: Request) -> Response:
        """List events.

        Every event that you were subscribed to when it happened, with the state of its delivery, and your
        test events. Get a single event to see its exact body and its attempts.
        """
        found = filtered_events(_events(request).defer("body"), _business(request), request.query_params)
        pages = NewestMomentFirst()
        page: list[Delivery] = pages.paginate_queryset(found, request, self) or []
        subjects = subjects_of(page)
        return pages.get_paginated_response([represent_event(one, subjects.get(one.pk)) for one in page])


class EventView(APIView):
    def get(self, request: Request, event_id: UUID) -> Response:
        """Get an event with its body and its attempts."""
        event: Delivery | None = _events(request).filter(pk=event_id).first()
        if event is None:
            raise NotFound
        note_object(request, ObjectKind.EVENT, event.pk)
        subject = subjects_of([event]).get(event.pk)
        attempts = event.attempts.defer("excerpt").order_by("number")
        return Response(represent_event_in_detail(event, subject, attempts=attempts))


def _business(request: Request) -> Business:
    return cast("Business", request.user)


def _events(request: Request) -> DeliveryQuerySet:
    events: DeliveryQuerySet = Delivery.objects.filter(business=_business(request))
    return events
