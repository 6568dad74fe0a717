from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from kit.time.time_ordered_ids import earliest_id, latest_id
from payments.models import Transaction
from tests import orders
from tests.transactions import captured_payment, start
from virtual_accounts.models import VirtualAccount


def address(link):
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


def references(page):
    return [row["reference"] for row in page["data"]]


@pytest.fixture
def made(ada, clock):
    """Twenty-five payments, one per second, oldest first."""
    return [
        captured_payment(business=ada.business, now=clock.advance(seconds=1)).reference for _ in range(25)
    ]


def walk(api, target, direction="next"):
    while target:
        page = api.get(target).json()
        yield page
        target = page[direction] and address(page[direction])


class TestList:
    def test_is_newest_first_twenty_at_a_time(self, api, made):
        page = api.get("/api/payments").json()

        assert set(page) == {"data", "next", "previous"}
        assert references(page) == made[:4:-1]
        assert page["previous"] is None

    @pytest.mark.parametrize("limit", [1, 7, 24, 25, 100])
    def test_is_complete_across_pages(self, api, made, limit):
        pages = list(walk(api, f"/api/payments?limit={limit}"))

        assert [one for page in pages for one in references(page)] == made[::-1]
        assert {len(page["data"]) for page in pages[:-1]} <= {limit}
        assert pages[-1]["next"] is None

    def test_can_be_paged_back(self, api, made):
        pages = list(walk(api, "/api/payments?limit=10"))

        back = list(walk(api, address(pages[-1]["previous"]), "previous"))

        assert [references(page) for page in back] == [references(page) for page in reversed(pages[:-1])]
        assert back[-1]["previous"] is None

    def test_stays_complete_and_stable_while_rows_arrive(self, api, ada, clock, made):
        pages = []
        for page in walk(api, "/api/payments?limit=4"):
            pages.append(page)
            for _ in range(3):
                captured_payment(business=ada.business, now=clock.advance(seconds=1))

        assert [one for page in pages for one in references(page)] == made[::-1]

        back = [
            row for page in walk(api, address(pages[-1]["previous"]), "previous") for row in references(page)
        ]
        assert len(back) == len(set(back)) == 25 + 3 * len(pages) - len(pages[-1]["data"])

    def test_keeps_its_filters_and_limit_across_pages(self, api, ada, clock, made):
        for _ in range(3):
            start(orders.payout(), business=ada.business, now=clock.advance(seconds=1))

        pages = list(walk(api, "/api/payments?limit=2&request_type=payout"))

        assert [len(page["data"]) for page in pages] == [2, 1]
        assert {row["request_type"] for page in pages for row in page["data"]} == {"payout"}

    def test_shows_the_same_as_the_detail(self, api):
        api.post("/api/payments", orders.card_payment(source=orders.card_source(pan=orders.CHALLENGED_CARD)))
        api.post("/api/payments", orders.payout())
        api.post("/api/payments", orders.card_check())

        rows = api.get("/api/payments").json()["data"]

        assert len(rows) == 3
        assert rows == [api.get(f"/api/payments/{row['reference']}").json() for row in rows]

    def test_rejects_an_invalid_limit(self, subtests, api):
        for limit in ["0", "101", "-1", "x", "", "1.5", "٣", "0000000019999", "9" * 5000]:
            with subtests.test(limit=limit):
                answer = api.get(f"/api/payments?limit={quote(limit)}")

                assert answer.status_code == 400
                assert [error["field"] for error in answer.json()["errors"]] == ["limit"]

    @pytest.mark.parametrize("cursor", ["x", "%00", "cD1ub25zZW5zZQ==", "bz0tMQ=="])
    def test_rejects_an_unknown_cursor(self, api, cursor):
        answer = api.get(f"/api/payments?cursor={cursor}")

        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == ["cursor"]


class TestFilter:
    @pytest.fixture
    def three(self, api):
        """A successful, a pending and a failed one: a payment, a payout and a check."""
        wanted = [
            orders.card_payment(),
            orders.payout(customer=orders.payout()["customer"] | {"account_number": "0000000097"}),
            orders.card_check(source=orders.card_source(pan=orders.DECLINED_CARD)),
        ]
        return [api.post("/api/payments", order).json() for order in wanted]

    @pytest.mark.parametrize(
        ("query", "found"),
        [
            ("status=success", [0]),
            ("status=pending", [1]),
            ("status=failed", [2]),
            ("request_type=payment", [0]),
            ("request_type=payout", [1]),
            ("request_type=card_check", [2]),
            ("status=failed&request_type=payment", []),
        ],
    )
    def test_by_kind_and_status(self, api, three, query, found):
        page = api.get(f"/api/payments?{query}").json()

        assert references(page) == [three[place]["reference"] for place in found]

    def test_by_method_finds_payments_but_no_card_checks(self, api, three):
        assert references(api.get("/api/payments?payment_method=card").json()) == [three[0]["reference"]]
        assert references(api.get("/api/payments?payment_method=virtual_account").json()) == []
        assert references(api.get("/api/payments?payment_method=card&request_type=card_check").json()) == []

    def test_by_settle_status_finds_payments_with_that_status(self, api, ada, three):
        Transaction.objects.filter(pk=three[0]["id"]).update(settle_status="initiated")

        assert references(api.get("/api/payments?settle_status=initiated").json()) == [three[0]["reference"]]
        assert references(api.get("/api/payments?settle_status=released").json()) == []

    def test_by_id_finds_one(self, api, three):
        page = api.get(f"/api/payments?id={three[1]['id']}").json()

        assert references(page) == [three[1]["reference"]]

    def test_by_time_of_creation(self, api, ada, clock):
        moments = [clock.advance(hours=1) for _ in range(3)]
        made = [captured_payment(business=ada.business, now=at).reference for at in moments]
        second = moments[1].isoformat().replace("+00:00", "Z")
        elsewhere = quote(f"{moments[1]:%Y-%m-%dT%H:%M:%S.%f}999+00:00")  # nine digits, as RFC 3339 allows

        since = api.get(f"/api/payments?created_from={second}").json()
        until = api.get(f"/api/payments?created_to={elsewhere}").json()
        both = api.get(f"/api/payments?created_from={second}&created_to={second}").json()

        assert references(since) == [made[2], made[1]]
        assert references(until) == [made[1], made[0]]
        assert references(both) == [made[1]]

    def test_by_time_includes_both_ends_to_the_millisecond(self, api, ada):
        second = datetime(2026, 6, 1, 8, tzinfo=UTC)
        moments = [second + timedelta(microseconds=each) for each in (0, 999, 1_000, 1_500, 1_999, 2_000)]
        made = [captured_payment(business=ada.business, now=at).reference for at in moments]
        shown = {
            row["reference"]: row["payment_timestamp"] for row in api.get("/api/payments").json()["data"]
        }
        middle = shown[made[3]]

        both = references(api.get(f"/api/payments?created_from={middle}&created_to={middle}").json())
        since = references(api.get(f"/api/payments?created_from={middle}").json())
        until = references(api.get(f"/api/payments?created_to={middle}").json())

        assert middle == "2026-06-01T08:00:00.001Z"
        assert both == made[4:1:-1]
        assert since == made[:1:-1]
        assert until == made[4::-1]

    @pytest.mark.parametrize("path", ["/api/payments", "/api/virtual-accounts"])
    def test_by_time_uses_a_range_of_the_sort_index(self, api, path):
        bounds = "created_from=2026-06-01T08:00:00Z&created_to=2026-06-01T09:00:00Z"

        with CaptureQueriesContext(connection) as queries:
            assert api.get(f"{path}?{bounds}").status_code == 200

        [listed] = [query["sql"] for query in queries if "ORDER BY" in query["sql"]]
        condition = listed.partition("WHERE")[2]
        assert '."id" >= ' in condition
        assert '."id" <= ' in condition
        assert "created_at" not in condition

    def test_that_is_invalid_is_rejected(self, subtests, api):
        for query, field in [
            ("settle_status=", "settle_status"),
            ("settle_status=paid", "settle_status"),
            ("status=done", "status"),
            ("request_type=", "request_type"),
            ("payment_method=bank", "payment_method"),
            ("id=7", "id"),
            ("created_from=yesterday", "created_from"),
            ("created_from=2026-02-30T00:00:00Z", "created_from"),
            ("created_from=0001-01-01T00:00:00%2B14:00", "created_from"),
            ("created_to=9999-12-31T23:59:59-14:00", "created_to"),
            ("state=failed", "state"),
            ("status=failed&status=success", "status"),
        ]:
            with subtests.test(query=query, field=field):
                answer = api.get(f"/api/payments?{query}")

                assert answer.status_code == 400
                assert [error["field"] for error in answer.json()["errors"]] == [field]


@pytest.mark.django_db
class TestIdOfARow:
    """Lists filtered by time compare ids, so an id must start with the time in the response."""

    def assert_id_has_its_moment(self, row):
        assert earliest_id(row.created_at) <= row.pk <= latest_id(row.created_at)

    @pytest.mark.parametrize("request_of", [orders.card_payment, orders.payout, orders.card_check])
    def test_of_a_transaction_starts_with_its_creation(self, api, request_of):
        made = api.post("/api/payments", request_of()).json()

        self.assert_id_has_its_moment(Transaction.objects.get(pk=made["id"]))

    def test_of_an_account_and_of_its_payments_starts_with_their_creation(self, api):
        account = api.post("/api/virtual-accounts", orders.static_account()).json()
        number = account["customer"]["account_number"]
        api.post("/api/payments", orders.transfer_payment(account["id"]))
        for _ in range(2):  # one for the open payment, one without a matching payment
            api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000})

        assert Transaction.objects.count() == 2
        for row in [*Transaction.objects.all(), VirtualAccount.objects.get()]:
            self.assert_id_has_its_moment(row)


@pytest.mark.django_db
class TestLookUp:
    @pytest.mark.parametrize("reference", ["unknown", "x" * 101, "a%00b", "%F0%9F%98%80", "'--"])
    def test_of_an_unused_reference_is_404(self, api, reference):
        answer = api.get(f"/api/payments/{reference}")

        assert (answer.status_code, answer.json()["code"]) == (404, "not_found")

    @pytest.mark.parametrize("reference", ["a", "A.b_c:d-e", "1" * 100, "...", "-"])
    def test_finds_every_allowed_reference(self, api, reference):
        made = api.post("/api/payments", orders.card_payment(reference=reference))

        assert api.get(made["Location"]).json() == made.json()

    def test_is_case_sensitive(self, api):
        api.post("/api/payments", orders.card_payment(reference="Order-1"))

        assert api.get("/api/payments/order-1").status_code == 404
