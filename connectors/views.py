"""The address that providers send their events to."""

from rest_framework.exceptions import APIException
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from connectors.metrics import WEBHOOKS
from connectors.protocol import ProviderWebhooks
from connectors.registry import configured_webhooks
from connectors.services import event_storage
from connectors.services.event_storage import Received
from connectors.signatures import require_signature
from kit.api.errors import Problem
from kit.api.json.lenient_json import lenient_object
from kit.db import clock
from merchants.people.access import Who, open_to
from payments.bank_notifications.fields import AnyAccept


class OtherEnvironment(Problem):
    """A test event was sent to an installation with live keys, or the other way round."""

    status_code = 400
    default_code = "invalid_request"
    default_detail = "This event is of another environment than the configured key."


@open_to(None, writers=Who.PROVIDER, action="notify an event", never_asks="each event is signed")
class ProviderWebhooksView(APIView):
    """Store an event of a provider. It isn't part of the merchants' API or its description."""

    authentication_classes = ()  # the signature is checked below, after the provider and the method
    permission_classes = ()
    throttle_classes = ()
    content_negotiation_class = AnyAccept
    schema = None

    def post(self, request: Request, provider: str) -> Response:
        webhooks = configured_webhooks(provider)
        try:
            received = _received(request, provider, webhooks)
        except APIException as refused:
            WEBHOOKS.labels(provider, refused.default_code).inc()
            raise
        is_new = event_storage.store(received, now=clock.now())
        WEBHOOKS.labels(provider, "stored" if is_new else "repeated").inc()
        return Response({"received": True})


def _received(request: Request, provider: str, webhooks: ProviderWebhooks) -> Received:
    """Return the event of a request.

    :raises Unauthenticated: the provider hasn't signed it
    :raises MalformedJSON: its body is no object
    :raises OtherEnvironment: it is a test's although our keys are live, or the other way round
    """
    require_signature(webhooks, request)
    document = lenient_object(request.body)
    if webhooks.is_of_another_environment(document):
        raise OtherEnvironment
    return Received(provider, webhooks, request.body, document)
