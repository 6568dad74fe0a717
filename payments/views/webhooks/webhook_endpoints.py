"""The webhook endpoints API. `request.user` is the business that signed the request."""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any
from uuid import UUID

from rest_framework import status
from rest_framework.exceptions import NotFound
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.operations import Success, ok, operation
from kit.api.pagination import OldestFirst, page_of
from kit.db import clock
from merchants.api.api_requests import business_of, read_body
from merchants.people.request_actors import key_acting
from payments.api.webhook_endpoint_serializers import (
    KeyRotationSerializer,
    WebhookEndpointChangeSerializer,
    WebhookEndpointSerializer,
)
from payments.representation import webhook_endpoints as answers
from webhooks.endpoints import endpoint_changes
from webhooks.models import DEFAULT_CATEGORIES, Endpoint


class WebhookEndpointsView(APIView):
    @operation("listWebhookEndpoints", ok(answers.WEBHOOK_ENDPOINTS_PAGE, "A page, oldest first."))
    def get(self, request: Request) -> Response:
        """List webhook endpoints.

        Oldest first, without deleted ones. The first is the one that the dashboard's settings show.
        """
        own = Endpoint.objects.live().filter(business=business_of(request))
        return Response(page_of(self, own, answers.represent_endpoint, paginator=OldestFirst()))

    @operation(
        "createWebhookEndpoint",
        {201: Success(answers.NEW_WEBHOOK_ENDPOINT, "Created.", "Location")},
        WebhookEndpointSerializer,
        problems="key_may_not_decide url_taken limit_reached",
    )
    def post(self, request: Request) -> Response:
        """Create a webhook endpoint.

        The answer has its signing key, which is never shown again. If you lost the answer, the same call is 409
        `url_taken` with the endpoint's id in `existing`: rotate its key. A business has up to ten endpoints. Owners
        receive an email; they can forbid keys to add endpoints (403 `key_may_not_decide`).
        """
        wanted = read_body(request, WebhookEndpointSerializer)
        configured = endpoint_changes.create(
            business=business_of(request),
            wanted={"subscribed_events": list(DEFAULT_CATEGORIES), **wanted},
            actor=key_acting(request),
            now=clock.now(),
            by_key=True,
        )
        return Response(
            answers.represent_with_key(configured),
            status=status.HTTP_201_CREATED,
            headers={"Location": f"/api/webhook-endpoints/{configured.endpoint.public_id}"},
        )


class WebhookEndpointView(APIView):
    @operation("getWebhookEndpoint", ok(answers.WEBHOOK_ENDPOINT, "The endpoint."))
    def get(self, request: Request, id: UUID) -> Response:
        """Look up a webhook endpoint.

        Without its signing key.
        """
        return Response(answers.represent_endpoint(_find(request, id)))

    @operation(
        "updateWebhookEndpoint",
        ok(answers.WEBHOOK_ENDPOINT, "The endpoint."),
        WebhookEndpointChangeSerializer,
        problems="key_may_not_decide url_taken",
    )
    def patch(self, request: Request, id: UUID) -> Response:
        """Change a webhook endpoint.

        The next attempt of every delivery uses the new URL. Another version changes the events that are recorded from
        then on. Owners receive an email about another URL.
        """
        changes: dict[str, Any] = read_body(request, WebhookEndpointChangeSerializer)
        if "description" in changes:
            changes["description"] = changes["description"] or ""
        with _found():
            changed = endpoint_changes.change(
                _find(request, id), changes, actor=key_acting(request), now=clock.now(), by_key=True
            )
        return Response(answers.represent_endpoint(changed))

    @operation("deleteWebhookEndpoint", {204: Success(None, "Deleted.")}, problems="invalid_state")
    def delete(self, request: Request, id: UUID) -> Response:
        """Delete a webhook endpoint.

        Its deliveries that wait are skipped. Your first endpoint can't be deleted (409 `invalid_state`): disable it
        instead.
        """
        endpoint_changes.delete(_find(request, id), actor=key_acting(request), now=clock.now())
        return Response(status=status.HTTP_204_NO_CONTENT)


class RotateKeyView(APIView):
    @operation(
        "rotateWebhookKey",
        ok(answers.NEW_WEBHOOK_ENDPOINT, "The endpoint with its new key."),
        KeyRotationSerializer,
    )
    def post(self, request: Request, id: UUID) -> Response:
        """Rotate the signing key of a webhook endpoint.

        The answer has the new key, which is never shown again. Until the overlap ends, requests carry the old key's
        signature too, in `X-Service-Signature-Previous`. A rotation inside an overlap drops the oldest key.
        """
        overlap = read_body(request, KeyRotationSerializer).get("overlap_hours", timedelta(0))
        with _found():
            rotated = endpoint_changes.rotate_hash_key(
                business=business_of(request),
                number=_find(request, id).number,
                actor=key_acting(request),
                now=clock.now(),
                overlap=overlap,
            )
        return Response(answers.represent_with_key(rotated))


def _find(request: Request, endpoint_id: UUID) -> Endpoint:
    found = endpoint_changes.find(business_of(request), endpoint_id)
    if found is None:
        raise NotFound
    return found


@contextmanager
def _found() -> Iterator[None]:
    """Answer 404 also if the endpoint was deleted after it was found."""
    try:
        yield
    except Endpoint.DoesNotExist:
        raise NotFound from None
