"""The API of the request log. `request.user` is the business that signed the request."""

from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from kit.api.fields.answer_fields import (
    COUNT,
    MOMENT,
    POSITION,
    TEXT,
    WHOLE_NUMBER,
    Answer,
    Field,
    page_of,
    up_to,
)
from kit.api.operations import operation, page
from kit.api.pagination import page_of as rows_of
from merchants.api.api_requests import business_of, leave_out_of_log
from merchants.filters import RequestFilterSerializer, filtered_requests

LOG_ENTRY = Answer(
    "RequestLogEntry",
    "An API request in your log.",
    Field("id", POSITION, "Its number in the log.", 1042),
    Field("at", MOMENT, "When it was answered.", "2026-01-31T08:00:00.000Z"),
    Field("method", TEXT, "The HTTP method.", "GET"),
    Field("target", up_to(65_536), "Path and query, with card numbers masked.", "/api/payments/order-1042"),
    Field("status", WHOLE_NUMBER, "The HTTP status of the response.", 404),
    Field("code", TEXT, "The error code of the response; null for a success.", "not_found", lambda call: call.code or None, is_nullable=True),
    Field("milliseconds", COUNT, "How long it took.", 12),
    Field("key", TEXT, "The public id of the key pair.", "pk_sandbox_ada"),
    Field("request_id", TEXT, "The response's `X-Request-Id`.", "5f0c6c1f0c9e4b0f8a3a2e1d7c6b5a49"),
)  # fmt: skip
REQUESTS_PAGE = page_of(LOG_ENTRY, "A page of requests, newest first.")


class RequestsView(APIView):
    @operation("listRequests", page(REQUESTS_PAGE), filters=RequestFilterSerializer)
    def get(self, request: Request) -> Response:
        """List API requests.

        The log of your requests to this API, newest first, without headers and bodies. Requests appear within
        about two seconds. Successful calls of this endpoint are not logged.

        To follow the log, ask every second for `since` the newest `at` that you have seen, less 5 seconds, and
        drop those whose `id` you know: requests can appear out of order.
        """
        leave_out_of_log(request)
        found = filtered_requests(business_of(request), request.query_params)
        return Response(rows_of(self, found, LOG_ENTRY.represent))
