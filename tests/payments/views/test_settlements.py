from urllib.parse import urlsplit
from uuid import uuid4

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from payments.models import SettlementBatch
from payments.representation.payments import represent_settlement
from tests.refunds import pay, refund
from tests.settling import decide, settle

pytestmark = pytest.mark.django_db

FIELDS = {
    "id", "number", "currency", "day", "status", "gross", "fees", "refunds", "net", "count", "created_at",
}  # fmt: skip


class TestRepresentation:
    def test_pending_batch_has_no_released_at(self, api):
        pay(api, reference="order-1", amount=50_000)
        refund(api, "order-1", reference="refund-1", amount=10_000)
        (batch,) = settle()

        shown = represent_settlement(batch)

        assert set(shown) == FIELDS
        assert (shown["status"], shown["count"]) == ("pending", 1)
        assert (shown["gross"], shown["fees"], shown["refunds"], shown["net"]) == (
            50_000,
            750,
            10_000,
            39_250,
        )

    def test_released_batch_has_released_at(self, api):
        pay(api)
        batch = decide(*settle(), "approve", "release")

        shown = represent_settlement(SettlementBatch.objects.get(pk=batch.pk))

        assert set(shown) == {*FIELDS, "released_at"}
        assert shown["status"] == "released"
        assert shown["released_at"] >= shown["created_at"]


def address(link):
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


def walk(api, target, direction="next"):
    while target:
        items = api.get(target).json()["items"]
        yield items["data"]
        target = items[direction] and address(items[direction])


@pytest.fixture
def carried(api):
    """A batch with an amount brought forward and one carried forward: the payment, its refund and both amounts."""
    pay(api, reference="order-1", amount=50_000)
    decide(*settle(), "approve", "release")
    refund(api, "order-1", reference="refund-1")
    pay(api, reference="order-2", amount=20_000)
    decide(*settle(), "approve", "release")
    pay(api, reference="order-3", amount=10_000)
    return decide(*settle(), "approve", "release")


class TestList:
    def test_lists_own_batches_newest_first(self, api, other_api):
        pay(other_api)
        pay(api, reference="order-1")
        decide(*[batch for batch in settle() if batch.business.name == "Ada Books"], "approve", "release")
        pay(api, currency="USD")
        settle()

        shown = api.get("/api/settlements").json()

        assert [(row["currency"], row["status"]) for row in shown["data"]] == [
            ("USD", "pending"),
            ("NGN", "released"),
        ]
        assert (shown["next"], shown["previous"]) == (None, None)

    @pytest.mark.parametrize(
        ("query", "currencies"),
        [
            ("status=pending", ["USD", "NGN"]),
            ("status=released", []),
            ("currency=USD", ["USD"]),
            ("created_from=2026-01-01T00:00:00Z&currency=NGN", ["NGN"]),
            ("created_to=2026-01-01T00:00:00Z", []),
        ],
    )
    def test_is_filtered(self, api, query, currencies):
        pay(api)
        settle()
        pay(api, currency="USD")
        settle()

        shown = api.get(f"/api/settlements?{query}").json()

        assert [row["currency"] for row in shown["data"]] == currencies

    @pytest.mark.parametrize(
        ("query", "code"),
        [
            ("state=pending", "unknown_field"),
            ("status=paid", "invalid_request"),
            ("currency=ngn", "unsupported_currency"),
            ("created_from=yesterday", "invalid_request"),
            ("status=pending&status=released", "invalid_request"),
            ("limit=0", "invalid_request"),
        ],
    )
    def test_rejects_invalid_filters(self, api, query, code):
        answer = api.get(f"/api/settlements?{query}")

        assert (answer.status_code, answer.json()["code"]) == (400, code)

    def test_number_of_queries_does_not_depend_on_number_of_batches(self, api, django_assert_max_num_queries):
        pay(api)
        decide(*settle(), "approve", "release")
        with CaptureQueriesContext(connection) as captured:
            api.get("/api/settlements")
        queries = len(captured)
        for currency in ("NGN", "USD", "NGN"):
            pay(api, currency=currency)
            decide(*settle(), "approve", "release")

        with django_assert_max_num_queries(queries):
            assert len(api.get("/api/settlements").json()["data"]) == 4


class TestDetail:
    def test_lists_payments_and_then_refunds(self, api):
        pay(api, reference="order-1", amount=50_000)
        refund(api, "order-1", reference="refund-1", amount=10_000)
        (batch,) = settle()

        shown = api.get(f"/api/settlements/{batch.pk}").json()

        assert shown["items"]["data"] == [
            {"kind": "payment", "reference": "order-1", "amount": 50_000, "fee": 750, "net": 49_250},
            {"kind": "refund", "reference": "refund-1", "amount": -10_000, "fee": 0, "net": -10_000},
        ]

    @pytest.mark.parametrize("limit", [1, 2, 3, 100])
    def test_items_come_in_pages_that_add_up_to_the_net(self, api, carried, limit):
        pages = list(walk(api, f"/api/settlements/{carried.pk}?limit={limit}"))

        items = [item for page in pages for item in page]
        assert [item["kind"] for item in items] == ["payment", "brought_forward", "carried_forward"]
        assert all(len(page) <= limit for page in pages)
        assert all(item["net"] == item["amount"] - item["fee"] for item in items)
        assert sum(item["net"] for item in items) == carried.net == 0

    def test_pages_can_be_paged_back(self, api, carried):
        pages = list(walk(api, f"/api/settlements/{carried.pk}?limit=1"))
        last = f"/api/settlements/{carried.pk}?limit=1"
        while (shown := api.get(last).json()["items"])["next"]:
            last = address(shown["next"])

        back = list(walk(api, last, "previous"))

        assert back == pages[::-1]

    def test_shows_carried_amounts(self, api, carried):
        shown = api.get(f"/api/settlements/{carried.pk}").json()

        net = shown["gross"] - shown["fees"] - shown["refunds"]
        assert net - shown["brought_forward"] + shown["carried_forward"] == shown["net"] == 0

    def test_batch_of_another_business_is_not_found(self, api, other_api):
        pay(other_api)
        (batch,) = settle()

        answers = [api.get(f"/api/settlements/{each}") for each in (batch.pk, uuid4(), "none")]

        assert [(one.status_code, one.json()["code"]) for one in answers] == [(404, "not_found")] * 3

    @pytest.mark.parametrize("query", ["cursor=abc", "cursor=cD1hYmM%3D", "limit=101", "status=pending"])
    def test_rejects_invalid_parameters(self, api, query):
        pay(api)
        (batch,) = settle()

        assert api.get(f"/api/settlements/{batch.pk}?{query}").status_code == 400
