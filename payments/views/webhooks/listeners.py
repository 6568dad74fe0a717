"""The API of listeners, in the sandbox. `request.user` is the business that signed the request."""

from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.strict_fields import RequestSerializer
from kit.api.operations import Success, ok, operation
from kit.db import clock
from merchants.api.api_requests import business_of, leave_out_of_log, read_body
from payments.sandbox.simulated_transfers import require_sandbox
from webhooks.listeners import listeners
from webhooks.listeners.listener_representation import (
    ENDED_LISTENER,
    LISTENER,
    LISTENER_POLL,
    LISTENER_STATE,
    LISTENERS,
)
from webhooks.listeners.listener_serializers import (
    LONGEST_WAIT,
    EndSerializer,
    ListenerSerializer,
    PollSerializer,
)
from webhooks.models import USUAL_EVENTS, Listener


class ListenersView(APIView):
    @operation(
        "beginListener",
        ok(LISTENER, "It was live already and has the new `events`.") | {201: Success(LISTENER, "Begun.")},
        ListenerSerializer,
        problems="card_number_misplaced invalid_state",
    )
    def post(self, request: Request) -> Response:
        """Begin a listener (sandbox).

        A listener gets copies of your events by polling, so that a machine without a public address can receive them.
        It needs no webhook endpoint, and changes nothing of the deliveries to yours. 201 is a new listener. The same
        name again is 200, with the events that were not acknowledged and the new `events`.

        A listener ends an hour after its last poll. You can have five: a sixth is 409 `invalid_state`.
        """
        wanted = _read(ListenerSerializer, request)
        begun = listeners.begin(
            business=business_of(request),
            name=wanted["name"],
            events=wanted.get("events", USUAL_EVENTS),
            now=clock.now(),
        )
        created = status.HTTP_201_CREATED if begun.is_new else status.HTTP_200_OK
        return Response(LISTENER.represent(begun), status=created)

    @operation("listListeners", ok(LISTENERS, "Every live listener."))
    def get(self, request: Request) -> Response:
        """List listeners (sandbox).

        The live listeners of your business, by name: each gets copies of its `events`.
        """
        require_sandbox()
        found = listeners.live(business_of(request), now=clock.now())
        return Response({"data": [LISTENER_STATE.represent(each) for each in found]})


class PollListenerView(APIView):
    @operation("pollListener", ok(LISTENER_POLL, "What is new."), PollSerializer)
    def post(self, request: Request, name: str) -> Response:
        """Poll a listener (sandbox).

        Returns the oldest events that were not acknowledged: at most 50, and 1 MiB. If there are none, the call waits
        for one. Each event is returned in every poll until you acknowledge it, so none is lost with a connection. They
        come in no particular order.

        Of more than 1,000 events that were not acknowledged, the oldest are deleted and counted in `dropped`. Wait
        `poll_after` seconds before the next poll: too many polls were waiting.
        """
        wanted = _read(PollSerializer, request)
        polled = listeners.poll(
            _find(request, name),
            acknowledged=[UUID(each) for each in wanted.get("ack", ())],
            seconds=wanted.get("wait", LONGEST_WAIT),
            now=clock.now(),
        )
        if polled is None:  # it ended in the meantime
            raise NotFound
        leave_out_of_log(request)
        return Response(LISTENER_POLL.represent(polled))


class EndListenerView(APIView):
    @operation("endListener", ok(ENDED_LISTENER, "It has ended."), EndSerializer)
    def post(self, request: Request, name: str) -> Response:
        """End a listener (sandbox).

        Deletes the listener and the events that it did not acknowledge.
        """
        _read(EndSerializer, request)
        listener = _find(request, name)
        if not listeners.end(listener):
            raise NotFound
        return Response(ENDED_LISTENER.represent(listener))


def _read(serializer: type[RequestSerializer], request: Request) -> dict[str, Any]:
    """Return the values of a request to the sandbox.

    :raises SandboxOnly: this is no sandbox. Nothing of the request is read then.
    """
    require_sandbox()
    return read_body(request, serializer)


def _find(request: Request, name: str) -> Listener:
    listener = listeners.find(business=business_of(request), name=name, now=clock.now())
    if listener is None:
        raise NotFound
    return listener
