"""Every JSON answer of the API ends with a line feed."""

import hashlib
import json

import pytest

from config.runtime.server_errors import refusal
from merchants.models import ApiKey
from tests import orders
from tests.webhooks.rows import make_endpoint
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db


def assert_one_line_feed(answer):
    assert answer.content.endswith(b"}\n")
    assert answer.headers["Content-Length"] == str(len(answer.content))


class TestLineFeed:
    def test_ends_successes(self, api):
        order = orders.card_payment(reference="order-1")

        assert_one_line_feed(api.post("/api/payments", order))
        assert_one_line_feed(api.post("/api/payments", order))
        assert_one_line_feed(api.get("/api/payments/order-1"))
        assert_one_line_feed(api.get("/api/payments"))

    def test_ends_the_description_of_the_api(self, client):
        assert_one_line_feed(client.get("/api/openapi.json"))

    def test_ends_problems(self, api, client, ada):
        ApiKey.objects.filter(pk=ada.pk).update(access=ApiKey.Access.READ_ONLY)

        for status, answer in (
            (400, api.get("/api/payments?limit=0")),
            (401, client.get("/api/payments")),
            (403, api.post("/api/payments", orders.payout())),
            (404, api.get("/api/nothing")),
            (405, client.delete("/api/docs")),
            (413, client.generic("POST", "/api/payments", b"x" * 70_000)),
            (415, client.generic("POST", "/api/payments", b"x", headers={"Content-Encoding": "gzip"})),
        ):
            assert answer.status_code == status
            assert_one_line_feed(answer)

    def test_ends_problems_of_the_server(self):
        _, _, body = refusal("invalid_request")

        assert body.endswith(b"}\n")

    def test_is_counted_by_the_etag(self, api):
        answer = api.get("/api/banks")

        assert answer.headers["ETag"] == f'"{hashlib.sha256(answer.content).hexdigest()[:32]}"'

    def test_is_not_added_to_an_empty_answer(self, api):
        etag = api.get("/api/banks").headers["ETag"]

        answer = api.get("/api/banks", **{"If-None-Match": etag})

        assert (answer.status_code, answer.content) == (304, b"")

    def test_is_not_added_to_webhooks(self, api, ada):
        make_endpoint(business=ada.business)

        api.post("/api/payments", orders.card_payment())

        body = Delivery.objects.get().body
        assert body == json.dumps(json.loads(body), separators=(",", ":"))
