"""GET /api/requests lists the request log of the business."""

from datetime import UTC, datetime, timedelta
from urllib.parse import quote, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kit.time.timestamps import timestamp
from merchants.api.request_log import request_log
from merchants.models import ApiKey, ApiRequest
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory
from tests.query_counts import at_most

pytestmark = pytest.mark.django_db

FIELDS = {"id", "at", "method", "target", "status", "code", "milliseconds", "key", "request_id"}


@pytest.fixture
def now():
    return timezone.now()


def make_requests(key, *statuses, at, **changes):
    """Create one row of the request log for each status, a second apart, oldest first."""
    rows = [
        ApiRequest(
            business=key.business,
            key=key.public_id,
            request_id=f"request-{number}",
            method="GET",
            target="/api/banks",
            status=status,
            code="" if status < 400 else "not_found",
            milliseconds=12,
            at=at + timedelta(seconds=number),
            **changes,
        )
        for number, status in enumerate(statuses)
    ]
    return ApiRequest.objects.bulk_create(rows)


def listed(api, query=""):
    answer = api.get(f"/api/requests{query}")
    assert answer.status_code == 200
    return answer.json()["data"]


def ids(rows):
    return [row["id"] for row in rows]


class TestList:
    def test_shows_what_was_called_and_answered(self, api, ada):
        api.get("/api/payments/unknown", **{"X-Request-Id": "order-7"})
        request_log.flush()

        (shown,) = listed(api)

        call = ApiRequest.objects.get()
        assert shown == {
            "id": call.pk,
            "at": timestamp(call.at),
            "method": "GET",
            "target": "/api/payments/unknown",
            "status": 404,
            "code": "not_found",
            "milliseconds": call.milliseconds,
            "key": ada.public_id,
            "request_id": "order-7",
        }

    def test_success_has_no_code(self, api):
        api.post("/api/payments", orders.card_payment())
        request_log.flush()

        (shown,) = listed(api)

        assert set(shown) == FIELDS
        assert (shown["method"], shown["status"], shown["code"]) == ("POST", 201, None)

    def test_is_newest_first_in_pages(self, api, ada, now):
        made = make_requests(ada, *[200] * 5, at=now)

        first = api.get("/api/requests?limit=3").json()
        link = urlsplit(first["next"])
        second = api.get(f"{link.path}?{link.query}").json()

        assert ids(first["data"] + second["data"]) == [row.pk for row in reversed(made)]
        assert (first["previous"], second["next"]) == (None, None)

    def test_has_no_requests_of_another_business(self, api, bisi, now):
        make_requests(bisi, 200, at=now)

        assert listed(api) == []

    def test_number_of_queries_does_not_depend_on_number_of_requests(self, api, ada, now):
        listed(api)
        make_requests(ada, *[200] * 50, at=now)

        with at_most(2):  # the nonce and the page
            assert len(listed(api, "?limit=50")) == 50


class TestFilters:
    @pytest.mark.parametrize(
        ("status_class", "statuses"), [("2", [201, 200]), ("4", [499, 400]), ("5", [503, 500])]
    )
    def test_by_class_of_the_status(self, api, ada, now, status_class, statuses):
        make_requests(ada, 200, 201, 304, 400, 499, 500, 503, at=now)

        shown = listed(api, f"?status_class={status_class}")

        assert [row["status"] for row in shown] == statuses

    def test_by_time_includes_the_moment_to_the_millisecond(self, api, ada, now):
        made = make_requests(ada, *[200] * 4, at=now - timedelta(seconds=4))

        shown = listed(api, f"?since={quote(timestamp(made[2].at))}")

        assert ids(shown) == [made[3].pk, made[2].pk]

    def test_by_time_finds_rows_that_were_stored_late(self, api, ada, now):
        """Each process stores its calls in batches, so ids aren't quite in the order of time."""
        (late,) = make_requests(ada, 200, at=now + timedelta(seconds=3))
        make_requests(ada, 200, 200, at=now)

        assert ids(listed(api, f"?since={quote(timestamp(now + timedelta(seconds=2)))}")) == [late.pk]

    def test_by_time_reads_few_rows(self, api, ada, now):
        make_requests(ada, *[200] * 5, at=now - timedelta(days=3))
        listed(api)

        with at_most(4):  # the nonce, two to find the time, and the page
            assert listed(api, f"?since={quote(timestamp(now))}") == []

    @pytest.mark.parametrize("since", ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999Z"])
    def test_at_the_ends_of_the_calendar(self, api, ada, now, since):
        make_requests(ada, 200, at=now)

        assert len(listed(api, f"?since={since}")) == (since < timestamp(datetime.now(UTC)))

    @pytest.mark.parametrize(
        ("query", "fields"),
        [
            ("?status_class=3", ["status_class"]),
            ("?status_class=404", ["status_class"]),
            ("?since=today", ["since"]),
            ("?since=2026-01-01T00:00:00Z&since=2026-01-01T00:00:00Z", ["since"]),
            ("?limit=0", ["limit"]),
            ("?cursor=x", ["cursor"]),
            ("?statusclass=4", ["statusclass"]),
        ],
    )
    def test_invalid_ones_are_rejected(self, api, query, fields):
        answer = api.get(f"/api/requests{query}")

        assert answer.status_code == 400
        assert [error["field"] for error in answer.json()["errors"]] == fields


class TestAccess:
    def test_read_only_key_may_read(self, ada):
        key = ApiKeyFactory(business=ada.business, access=ApiKey.Access.READ_ONLY)

        assert listed(InProcessClient(Credentials(key.public_id, key.secret))) == []

    def test_unsigned_call_is_401(self, client):
        assert client.get("/api/requests").status_code == 401


class TestOwnCalls:
    """Reading the log adds nothing to it, or a client that follows it would read itself."""

    def test_are_not_logged(self, api):
        api.get("/api/requests")
        api.send("HEAD", "/api/requests")
        request_log.flush()

        assert not ApiRequest.objects.exists()

    def test_are_logged_when_refused(self, api, ada):
        api.get("/api/requests?limit=0")
        InProcessClient(Credentials(ada.public_id, "sk_wrong")).get("/api/requests")
        api.post("/api/requests")
        request_log.flush()

        assert sorted(ApiRequest.objects.values_list("status", flat=True)) == [400, 401, 405]

    def test_update_when_the_key_was_last_used(self, api, ada, now):
        ApiKey.objects.filter(pk=ada.pk).update(last_used_at=now - timedelta(hours=1))

        api.get("/api/requests")
        request_log.flush()

        ada.refresh_from_db()
        assert timezone.now() - ada.last_used_at < timedelta(minutes=1)


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's plans have a different form")
class TestPlan:
    def test_of_a_recent_moment_reads_recent_rows_only(self, api, ada, now):
        make_requests(ada, *[200] * 2_000, at=now - timedelta(seconds=2_000))
        with connection.cursor() as cursor:
            cursor.execute("ANALYZE merchants_apirequest")

        with CaptureQueriesContext(connection) as captured:
            listed(api, f"?since={quote(timestamp(now))}")

        statement = captured.captured_queries[-1]["sql"]
        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN (ANALYZE, FORMAT JSON) {statement}")
            plan = cursor.fetchone()[0][0]["Plan"]
        (scan,) = plan["Plans"]
        assert "id >" in scan["Index Cond"]
        assert 0 < scan["Rows Removed by Filter"] <= 60  # of the minute before
