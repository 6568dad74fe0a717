"""GET /api/events lists the business's events with the state of their deliveries."""

import json
import uuid
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta
from urllib.parse import quote, urlsplit

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from kit.time.timestamps import timestamp
from merchants.models import ApiKey
from payments.models import Transaction
from payments.services.payouts import payout_returns
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory
from tests.settling import STAFF, decide, settle
from tests.unapplied import mismatched_money
from tests.webhooks.rows import (
    DATA,
    DELIVERED,
    FAILED,
    acquire,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
)
from webhooks import purge, services
from webhooks.models import Category, Delivery, Event

pytestmark = pytest.mark.django_db

FIELDS = {
    "id",
    "endpoint_id",
    "event_id", "event", "state", "created_at", "delivered_at", "next_attempt_at", "attempts_made", "is_test",
    "subject",
}  # fmt: skip
STATES = Delivery.State


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def endpoint(ada):
    return make_endpoint(business=ada.business, events=Category.values)


def listed(api, query=""):
    return api.get(f"/api/events{query}").json()["data"]


def ids(rows):
    return [row["event_id"] for row in rows]


def address(link):
    parts = urlsplit(link)
    return f"{parts.path}?{parts.query}"


class TestRepresentation:
    def test_event_of_a_payment(self, api, endpoint):
        payment = api.post("/api/payments", orders.card_payment()).json()

        (event,) = listed(api)

        delivery = Delivery.objects.get()
        assert set(event) == FIELDS
        assert event["event_id"] == str(delivery.pk)
        assert (event["event"], event["state"], event["attempts_made"]) == ("payment.success", "waiting", 0)
        assert event["next_attempt_at"] == event["created_at"] == timestamp(delivery.created_at)
        assert (event["delivered_at"], event["is_test"]) == (None, False)
        assert event["subject"] == {
            "type": "transaction",
            "id": payment["id"],
            "reference": payment["reference"],
            "request_type": "payment",
        }

    def test_detail_adds_the_exact_body_and_the_attempts(self, api, endpoint, now):
        delivery = make_delivery(endpoint, at=now)
        record(acquire(at=now + timedelta(seconds=1)), FAILED, at=now)
        record(acquire(at=now + timedelta(minutes=2)), DELIVERED, at=now + timedelta(minutes=2))

        event = api.get(f"/api/events/{delivery.pk}").json()

        assert set(event) == FIELDS | {"body", "attempts"}
        assert event["body"] == delivery.body
        assert (event["state"], event["attempts_made"]) == ("delivered", 2)
        assert event["delivered_at"] == timestamp(now + timedelta(minutes=2))
        first, second = event["attempts"]
        assert first == {
            "number": 1,
            "is_manual": False,
            "started_at": timestamp(now),
            "status": 500,
            "error": "server_error",
            "explanation": "The endpoint answered 500.",
            "total_ms": 3.0,
            "response_body": "\x00\ufffdno",
        }
        assert (second["number"], second["status"], second["error"]) == (2, 204, None)

    def test_attempt_shows_what_the_endpoint_answered(self, api, endpoint, now):
        delivery = make_delivery(endpoint, at=now)
        answer = b"no order for \xff 4084084084084081"
        record(acquire(at=now), replace(FAILED, excerpt=answer), at=now)

        [attempt] = api.get(f"/api/events/{delivery.pk}").json()["attempts"]

        assert attempt["response_body"] == "no order for \ufffd 408408******4081"

    def test_purged_body_is_null(self, api, endpoint, now):
        delivery = make_delivery(endpoint, at=now - timedelta(days=400))
        record(acquire(at=now), DELIVERED, at=now)
        list(purge.purge_payloads(now=now))

        assert api.get(f"/api/events/{delivery.pk}").json()["body"] is None

    def test_attempt_in_progress_has_no_next_attempt(self, api, endpoint, now):
        make_delivery(endpoint, at=now)
        acquire(at=now + timedelta(seconds=1))

        (event,) = listed(api)

        assert (event["state"], event["next_attempt_at"]) == ("waiting", None)

    @pytest.mark.parametrize(("exchange", "state"), [(FAILED, "test_failed"), (DELIVERED, "delivered")])
    def test_test_event_has_no_subject(self, api, endpoint, now, exchange, state):
        services.send_test_event(business=endpoint.business, data=DATA, now=now)
        record(acquire(at=now + timedelta(seconds=1)), exchange, at=now)

        (event,) = listed(api)

        assert (event["state"], event["is_test"], event["subject"]) == (state, True, None)
        assert event["attempts_made"] == 1
        assert json.loads(api.get(f"/api/events/{event['event_id']}").json()["body"])["test"] is True

    def test_opt_in_events_name_their_subjects(self, ada, api, endpoint):
        order, sent = orders.card_payment(), orders.payout(amount=250_000)
        api.post("/api/payments", order)
        api.post("/api/payments", sent)
        refund = api.post(
            f"/api/payments/{order['reference']}/refunds", {"reference": "rf-1", "amount": 20_000}
        ).json()
        payout = Transaction.objects.get(reference=sent["reference"])
        payout_returns.reverse(
            transaction_id=payout.pk, reason="Account closed", actor=STAFF, now=timezone.now()
        )
        money = mismatched_money(business=ada.business, now=timezone.now())
        batch = decide(*settle(), "approve", "release")

        found = {event["event"]: event["subject"] for event in listed(api)}

        nothing = {"reference": None, "request_type": None}
        assert found["refund.success"] == nothing | {
            "type": "refund", "id": refund["id"], "reference": "rf-1",
        }  # fmt: skip
        assert (
            found["payout.reversed"]
            == found["payout.success"]
            == {
                "type": "transaction",
                "id": str(payout.pk),
                "reference": payout.reference,
                "request_type": "payout",
            }
        )
        assert found["transfer.unapplied"] == nothing | {"type": "transfer", "id": str(money.pk)}
        assert found["settlement.released"] == nothing | {"type": "settlement", "id": str(batch.pk)}


class TestList:
    def test_is_newest_first_although_ids_do_not_sort(self, api, endpoint, now):
        made = make_deliveries(endpoint, 5, at=now)
        Delivery.objects.filter(pk__in=[row.pk for row in made[:3]]).update(created_at=now)

        pages, target = [], "/api/events?limit=2"
        while target:
            page = api.get(target).json()
            pages.append(ids(page["data"]))
            target = page["next"] and address(page["next"])

        expected = Delivery.objects.order_by("-created_at", "-id").values_list("pk", flat=True)
        assert [len(page) for page in pages] == [2, 2, 1]
        assert [each for page in pages for each in page] == [str(key) for key in expected]

    def test_pages_back_and_stays_stable_while_events_arrive(self, api, endpoint, now):
        make_deliveries(endpoint, 4, at=now)
        first = api.get("/api/events?limit=2").json()
        make_delivery(endpoint, at=now + timedelta(minutes=1))

        second = api.get(address(first["next"])).json()
        back = api.get(address(second["previous"])).json()

        assert not set(ids(first["data"])) & set(ids(second["data"]))
        assert ids(back["data"]) == ids(first["data"])

    @pytest.mark.parametrize("cursor", ["cD0x", "bm90LWEtY3Vyc29y", "cD0yMDI2LTAxLTAxfng="])
    def test_rejects_a_malformed_cursor(self, api, endpoint, cursor):
        answer = api.get(f"/api/events?cursor={cursor}")

        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "cursor"

    @pytest.mark.parametrize(
        "moment", ["9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00"], ids=["after", "before"]
    )
    @pytest.mark.parametrize("reverse", ["", "&r=1"])
    def test_rejects_a_cursor_beyond_the_calendar(self, api, endpoint, now, moment, reverse):
        make_delivery(endpoint, at=now)
        position = quote(f"{moment}~01a2042d-35c5-72e5-8028-835e4a156733")
        cursor = quote(b64encode(f"p={position}{reverse}".encode()).decode())

        answer = api.get(f"/api/events?cursor={cursor}")

        assert answer.status_code == 400
        assert answer.json()["errors"][0]["field"] == "cursor"

    def test_omits_bodies(self, api, endpoint, now):
        make_delivery(endpoint, at=now)

        assert "body" not in listed(api)[0]

    def test_number_of_queries_does_not_depend_on_number_of_events(self, ada, api, endpoint):
        def count():
            with CaptureQueriesContext(connection) as captured:
                listed(api)
            return len(captured)

        api.post("/api/payments", orders.card_payment())
        count()
        few = count()
        for _ in range(5):
            api.post("/api/payments", orders.card_payment())

        assert count() == few

    def test_event_without_subscription_is_not_listed(self, ada, api):
        make_endpoint(business=ada.business, events=["payout"])
        api.post("/api/payments", orders.card_payment())

        assert listed(api) == []


class TestFilters:
    def test_by_state(self, api, endpoint, now):
        waiting = make_delivery(endpoint, at=now)
        dead = make_delivery(endpoint, at=now, state=STATES.DEAD, next_attempt_at=None)
        services.send_test_event(business=endpoint.business, data=DATA, now=now - timedelta(days=1))
        record(acquire(at=now - timedelta(hours=1)), FAILED, at=now)

        assert ids(listed(api, "?state=waiting")) == [str(waiting.pk)]
        assert ids(listed(api, "?state=dead")) == [str(dead.pk)]
        assert [event["is_test"] for event in listed(api, "?state=test_failed")] == [True]

    @pytest.mark.parametrize("event", Event)
    def test_by_event(self, api, endpoint, now, event):
        rows = {each: make_delivery(endpoint, at=now, event=each) for each in Event}

        assert ids(listed(api, f"?event={event.label}")) == [str(rows[event].pk)]

    def test_by_reference(self, api, other_api, bisi, endpoint):
        make_endpoint(business=bisi.business)
        order, sent = orders.card_payment(reference="order-1"), orders.payout(reference="payout-1")
        for each in (order, orders.card_payment(), sent):
            api.post("/api/payments", each)
        other_api.post("/api/payments", orders.card_payment(reference="order-1"))
        api.post("/api/payments/order-1/refunds", {"reference": "rf-1", "amount": 20_000})
        payout_returns.reverse(
            transaction_id=Transaction.objects.get(reference="payout-1").pk,
            reason="Account closed",
            actor=STAFF,
            now=timezone.now(),
        )

        def found(reference):
            return [event["event"] for event in listed(api, f"?reference={reference}")]

        assert found("order-1") == ["payment.success"]
        assert found("rf-1") == ["refund.success"]
        assert found("payout-1") == ["payout.reversed", "payout.success"]
        assert found("nothing") == []

    def test_by_time_includes_both_ends_to_the_millisecond(self, api, endpoint, now):
        at = now.replace(microsecond=5_700)
        earlier, inside, later = (
            make_delivery(endpoint, at=at + timedelta(milliseconds=shift)) for shift in (-1, 0, 1)
        )

        shown = timestamp(inside.created_at).replace("+", "%2B")
        assert ids(listed(api, f"?created_from={shown}&created_to={shown}")) == [str(inside.pk)]
        assert ids(listed(api, f"?created_from={shown}")) == [str(later.pk), str(inside.pk)]
        assert ids(listed(api, f"?created_to={shown}")) == [str(inside.pk), str(earlier.pk)]

    def test_the_last_moment_of_the_calendar_is_after_every_event(self, api, endpoint, now):
        made = make_delivery(endpoint, at=now)

        assert ids(listed(api, "?created_to=9999-12-31T23:59:59.999Z")) == [str(made.pk)]
        assert ids(listed(api, "?created_from=9999-12-31T23:59:59.999999Z")) == []

    @pytest.mark.parametrize(
        ("query", "fields"),
        [
            ("state=gone&event=payment", {"state", "event"}),
            ("state=failed", {"state"}),
            ("event=unapplied", {"event"}),
            ("reference=a/b", {"reference"}),
            ("created_from=yesterday&limit=0", {"created_from"}),
            ("states=dead", {"states"}),
            ("state=dead&state=held", {"state"}),
        ],
    )
    def test_invalid_ones_are_rejected(self, api, query, fields):
        answer = api.get(f"/api/events?{query}")

        assert answer.status_code == 400
        assert {error["field"] for error in answer.json()["errors"]} == fields


class TestAccess:
    def test_another_business_event_is_404(self, api, other_api, endpoint, now):
        delivery = make_delivery(endpoint, at=now)

        assert other_api.get(f"/api/events/{delivery.pk}").status_code == 404
        assert listed(other_api) == []
        assert api.get(f"/api/events/{uuid.uuid4()}").status_code == 404

    def test_detail_rejects_parameters(self, api, endpoint, now):
        delivery = make_delivery(endpoint, at=now)

        assert api.get(f"/api/events/{delivery.pk}?state=dead").status_code == 400

    def test_read_only_key_may_read(self, ada, endpoint, now):
        key = ApiKeyFactory(business=ada.business, access=ApiKey.Access.READ_ONLY)
        reader = InProcessClient(Credentials(key.public_id, key.secret))
        delivery = make_delivery(endpoint, at=now)

        assert reader.get("/api/events").status_code == 200
        assert reader.get(f"/api/events/{delivery.pk}").status_code == 200

    def test_unsigned_call_is_401(self, client, db):
        assert client.get("/api/events").status_code == 401


@pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite's plans have a different form")
class TestPlans:
    """Each filter uses an index, however many deliveries there are."""

    @pytest.fixture
    def many(self, endpoint, now):
        rows = make_deliveries(endpoint, 1, at=now)
        with connection.cursor() as cursor:
            cursor.execute(
                "INSERT INTO webhooks_delivery (id, business_id, subject, event, body, state, attempts_made, "
                "manual_attempts, is_manual, created_at, delivered_at) SELECT gen_random_uuid(), business_id, "
                "gen_random_uuid(), CASE WHEN n %% 5000 = 0 THEN 'released' ELSE event END, body, CASE WHEN n %% 4999 = 0 THEN 'dead' ELSE 'delivered' END, 1, "
                "0, false, created_at - n * interval '1 second', created_at FROM webhooks_delivery, "
                "generate_series(1, 20000) n WHERE id = %s",
                [rows[0].pk],
            )
            cursor.execute("ANALYZE webhooks_delivery")

    @pytest.mark.parametrize(
        ("query", "index"),
        [
            ("", "deliveries_newest_first"),
            ("?state=dead", "deliveries_by_state"),
            ("?event=settlement.released", "deliveries_by_rare_event"),
            ("?created_to={old}", "deliveries_newest_first"),
            ("?state=dead&created_to={old}", "deliveries_by_state"),
            ("?reference=order-1", "subject"),
        ],
    )
    def test_list_reads_its_index(self, api, many, now, query, index):
        api.post("/api/payments", orders.card_payment(reference="order-1"))
        old = timestamp(now - timedelta(seconds=15_000))
        with CaptureQueriesContext(connection) as captured:
            assert listed(api, query.format(old=old)) is not None
        statement = next(
            each["sql"]
            for each in captured
            if 'FROM "webhooks_delivery"' in each["sql"] and "ORDER BY" in each["sql"]
        )

        with connection.cursor() as cursor:
            cursor.execute(f"EXPLAIN {statement}")
            plan = "\n".join(line for (line,) in cursor.fetchall())

        assert index in plan, plan
        assert "Seq Scan on webhooks_delivery" not in plan, plan
