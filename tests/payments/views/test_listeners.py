"""POST /api/sandbox/listeners begins a listener, which polls for copies of the business's events."""

import json
import uuid
from datetime import timedelta

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from merchants.api.request_log import request_log
from merchants.models import ApiKey, ApiRequest
from operations.retention import EVERYTHING
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.factories import ApiKeyFactory, BusinessFactory
from tests.racing import racers
from tests.webhooks.rows import ADA, DATA, DELIVERED, acquire, data_of, make_endpoint, record
from webhooks import publishing, services
from webhooks.listeners import listener_copies, listeners
from webhooks.listeners.listener_keys import hash_key
from webhooks.models import Delivery, Event, Listener, ListenerCopy
from webhooks.publishing import NewEvent

pytestmark = pytest.mark.django_db

LISTENERS = "/api/sandbox/listeners"
USUAL = ["payment.failed", "payment.mismatch", "payment.success", "payout.failed", "payout.success"]


@pytest.fixture
def now():
    return timezone.now()


@pytest.fixture
def listener(api):
    return begin(api).json()


def begin(api, name="laptop", **body):
    return api.post(LISTENERS, {"name": name, **body})


def poll(api, name="laptop", **body):
    return api.post(f"{LISTENERS}/{name}/poll", {"wait": 0, **body})


def end(api, name="laptop"):
    return api.post(f"{LISTENERS}/{name}/end")


def polled(api, **body):
    answer = poll(api, **body)
    assert answer.status_code == 200, answer.json()
    return answer.json()


def refusal(answer, status, code):
    assert (answer.status_code, answer.json()["code"]) == (status, code)
    return answer.json()


def pay(api, **changes):
    answer = api.post("/api/payments", orders.card_payment(**changes))
    assert answer.status_code == 201
    return answer.json()


def publish(business, event=Event.PAYMENT_SUCCESS, *, times=1, at=None):
    """Publish events without making payments."""
    new = [NewEvent(event, business.pk, uuid.uuid4(), data=lambda: data_of(event)) for _ in range(times)]
    with transaction.atomic():
        services.publish_all(new, now=at or timezone.now())


def only(events):
    (event,) = events
    return event


class TestList:
    def test_has_the_live_listeners_of_the_business_without_their_keys(self, api, other_api, ada):
        begin(api, "b", events=["refund.success"])
        begin(api, "a")
        begin(api, "ended")
        begin(other_api, "other")
        Listener.objects.filter(name="ended").update(expires_at=timezone.now())
        publish(ada.business)

        listed = api.get(LISTENERS).json()["data"]

        assert [(each["name"], each["waiting"]) for each in listed] == [("a", 1), ("b", 0)]
        assert listed[1].keys() == {"name", "events", "waiting", "expires_at"}

    def test_is_for_the_sandbox_only(self, api, settings):
        settings.SANDBOX = False

        refusal(api.get(LISTENERS), 403, "sandbox_only")


class TestBegin:
    def test_answers_with_the_key_that_signs_its_copies(self, api, ada, now):
        answer = begin(api)

        document = answer.json()
        assert answer.status_code == 201
        assert document.keys() == {"name", "events", "hash_key", "waiting", "expires_at"}
        assert (document["name"], sorted(document["events"]), document["waiting"]) == ("laptop", USUAL, 0)
        assert document["hash_key"] == hash_key(ada.business_id, "laptop")
        assert document["hash_key"].startswith("whk_listen_")

    def test_takes_up_the_same_queue_with_new_events(self, api, listener):
        pay(api)

        answer = begin(api, events=["payment.failed", "transfer.unapplied"])

        assert (answer.status_code, answer.json()["waiting"]) == (200, 1)
        assert answer.json()["events"] == ["payment.failed", "transfer.unapplied"]
        assert answer.json()["hash_key"] == listener["hash_key"]

    def test_of_a_sixth_is_refused_and_an_ended_one_makes_room(self, api):
        assert [begin(api, f"l{number}").status_code for number in range(5)] == [201] * 5

        refusal(begin(api, "l5"), 409, "invalid_state")
        assert begin(api, "l4").status_code == 200
        end(api, "l4")
        assert begin(api, "l5").status_code == 201

    def test_an_expired_one_makes_room_and_is_begun_anew(self, api, ada):
        for number in range(5):
            begin(api, f"l{number}")
        publish(ada.business)
        Listener.objects.update(expires_at=timezone.now())

        answer = begin(api, "l0")

        assert (answer.status_code, answer.json()["waiting"]) == (201, 0)
        assert Listener.objects.count() == 1

    def test_with_an_invalid_field_is_refused(self, subtests, api):
        for body, field in [
            ({}, "name"),
            ({"name": "x" * 65}, "name"),
            ({"name": ".."}, "name"),
            ({"name": "a b"}, "name"),
            ({"name": 7}, "name"),
            ({"name": "laptop", "events": []}, "events"),
            ({"name": "laptop", "events": "payment.success"}, "events"),
            ({"name": "laptop", "events": ["payment.reversed"]}, "events.0"),
            ({"name": "laptop", "events": ["payment.failed", "payment.failed"]}, "events"),
            ({"name": "laptop", "event": ["payment.failed"]}, "event"),
        ]:
            with subtests.test(body=body, field=field):
                answer = api.post(LISTENERS, body)

                assert (answer.status_code, only(answer.json()["errors"])["field"]) == (400, field)

    @pytest.mark.parametrize("name", ["4084084084084081", "ada-4084-0840-8408-4081"])
    def test_with_a_card_number_as_its_name_is_refused(self, api, name):
        document = refusal(begin(api, name), 400, "card_number_misplaced")

        assert only(document["errors"])["field"] == "name"
        assert name not in str(document)
        assert not Listener.objects.exists()


class TestCopies:
    def test_are_made_without_an_endpoint(self, api, listener):
        payment = pay(api)

        event = only(polled(api)["events"])

        assert (event["event"], event["origin"], event["times"]) == ("payment.success", "event", 1)
        body = json.loads(event["body"])
        assert (body["event_id"], body["created_at"]) == (event["event_id"], event["created_at"])
        assert body["data"]["reference"] == payment["reference"]
        assert not Delivery.objects.exists()

    @pytest.mark.parametrize("enabled", [True, False])
    def test_have_the_id_and_bytes_of_the_delivery(self, api, ada, listener, enabled):
        make_endpoint(business=ada.business, enabled=enabled)
        pay(api)

        event = only(polled(api)["events"])

        delivery = Delivery.objects.get()
        assert (event["event_id"], event["body"]) == (str(delivery.pk), delivery.body)
        assert api.get(f"/api/events/{delivery.pk}").json()["body"] == event["body"]

    def test_are_of_the_delivery_to_the_first_of_several_endpoints(self, api, ada, listener):
        make_endpoint(business=ada.business)
        make_endpoint(business=ada.business, number=1, url="http://127.0.0.1:9/second")
        pay(api)

        event = only(polled(api)["events"])

        first, second = Delivery.objects.order_by("endpoint_number")
        assert (event["event_id"], event["body"]) == (str(first.pk), first.body)
        assert first.body == second.body.replace(str(second.pk), str(first.pk))
        assert (second.event_id, second.pk == first.pk) == (first.pk, False)

    def test_are_deliveries_of_their_own_if_the_first_of_several_endpoints_is_not_subscribed(
        self, api, ada, listener
    ):
        make_endpoint(business=ada.business, events=["refund"])
        make_endpoint(business=ada.business, number=1, url="http://127.0.0.1:9/second")
        pay(api)

        event = only(polled(api)["events"])

        delivery = Delivery.objects.get()
        assert (delivery.endpoint_number, str(delivery.event_id)) == (1, event["event_id"])
        assert event["body"] == delivery.body.replace(str(delivery.pk), event["event_id"])

    def test_are_made_for_every_listener_that_wants_the_event(self, api):
        begin(api, "all")
        begin(api, "failures", events=["payment.failed"])
        begin(api, "opt-in", events=["settlement.released"])
        pay(api)
        pay(api, amount=10_051)

        found = {
            name: [event["event"] for event in polled(api, name=name)["events"]]
            for name in ("all", "failures", "opt-in")
        }

        assert found == {
            "all": ["payment.success", "payment.failed"],
            "failures": ["payment.failed"],
            "opt-in": [],
        }

    @pytest.mark.parametrize("event", Event)
    def test_are_made_of_every_kind(self, api, ada, event):
        begin(api, events=[event.label])
        publish(ada.business, event)

        assert only(polled(api)["events"])["event"] == event.label

    def test_of_several_outcomes_at_once_take_few_statements(self, api, ada, listener):
        with CaptureQueriesContext(connection) as few:
            publish(ada.business, times=2)
        with CaptureQueriesContext(connection) as many:
            publish(ada.business, times=20)

        assert len(few) == len(many)
        assert polled(api)["waiting"] == 22

    def test_are_rolled_back_with_the_outcome(self, api, ada, listener):
        with transaction.atomic():
            publish(ada.business)
            transaction.set_rollback(True)

        assert polled(api)["waiting"] == 0

    def test_of_another_business_are_never_seen(self, api, other_api, listener):
        begin(other_api)
        pay(other_api)

        assert polled(api)["events"] == []
        assert len(polled(other_api)["events"]) == 1

    def test_are_made_of_test_events(self, api, ada, listener):
        make_endpoint(business=ada.business)
        delivery = services.send_test_event(business=ada.business, data=DATA, now=timezone.now())

        event = only(polled(api)["events"])

        assert (event["origin"], event["event_id"], event["body"]) == (
            "test",
            str(delivery.pk),
            delivery.body,
        )


class TestResend:
    @pytest.fixture
    def delivered(self, api, ada, listener):
        make_endpoint(business=ada.business)
        pay(api)
        now = timezone.now() + timedelta(seconds=1)
        record(acquire(at=now), DELIVERED, at=now)
        event = only(polled(api)["events"])
        polled(api, ack=[event["event_id"]])
        return event

    @pytest.mark.parametrize(
        ("body", "copies", "state"),
        [
            ({}, 1, "waiting"),
            ({"to": "both"}, 1, "waiting"),
            ({"to": "listeners"}, 1, "delivered"),
            ({"to": "endpoint"}, 0, "waiting"),
        ],
    )
    def test_goes_to_the_listeners_that_are_asked_for(self, api, delivered, body, copies, state):
        answer = api.post(f"/api/events/{delivered['event_id']}/resend", body)

        assert (answer.status_code, answer.json()["state"]) == (202, state)
        again = polled(api)["events"]
        assert len(again) == copies
        for copy in again:
            assert (copy["origin"], copy["times"]) == ("resend", 1)
            assert (copy["event_id"], copy["body"]) == (delivered["event_id"], delivered["body"])

    def test_that_is_refused_copies_nothing(self, api, delivered):
        api.post(f"/api/events/{delivered['event_id']}/resend", {"to": "endpoint"})

        for to in ("both", "listeners"):
            refusal(api.post(f"/api/events/{delivered['event_id']}/resend", {"to": to}), 409, "invalid_state")
        assert polled(api)["waiting"] == 0

    def test_of_the_dashboard_is_copied_too(self, api, ada, delivered, now):
        selected = {uuid.UUID(delivered["event_id"]): 1}

        assert list(services.replay_selected(selected, business=ada.business, actor=ADA, now=now)) == [True]
        assert only(polled(api)["events"])["origin"] == "resend"

    def test_is_not_lost_if_the_first_copy_is_acknowledged_after_it(self, api, ada, delivered):
        services.replay_to_listeners(Delivery.objects.get(), now=timezone.now())
        first = only(polled(api)["events"])
        services.replay_to_listeners(Delivery.objects.get(), now=timezone.now())

        again = only(polled(api, ack=[first["event_id"]])["events"])

        assert (again["event_id"], again["times"]) == (first["event_id"], 1)


class TestPoll:
    def test_returns_what_is_not_acknowledged_again_and_counts(self, api, ada, listener):
        publish(ada.business, times=3)
        first = polled(api)["events"]

        again = polled(api, ack=[first[0]["event_id"], str(uuid.uuid4())])

        assert [event["event_id"] for event in again["events"]] == [event["event_id"] for event in first[1:]]
        assert [event["times"] for event in again["events"]] == [2, 2]
        assert (again["waiting"], again["dropped"], again["poll_after"]) == (2, 0, 0)
        assert polled(api, ack=[event["event_id"] for event in first]) == {
            "events": [],
            "waiting": 0,
            "dropped": 0,
            "poll_after": 0,
        }

    def test_returns_the_oldest_fifty(self, api, ada, listener):
        publish(ada.business, times=60)
        stored = [
            str(each) for each in ListenerCopy.objects.order_by("pk").values_list("event_id", flat=True)
        ]

        answer = polled(api)
        rest = polled(api, ack=stored[:50])

        assert [event["event_id"] for event in answer["events"]] == stored[:50]
        assert (answer["waiting"], rest["waiting"]) == (60, 10)
        assert [event["event_id"] for event in rest["events"]] == stored[50:]

    def test_returns_at_most_a_mebibyte_and_at_least_one(self, api, ada, listener):
        publish(ada.business, times=5)
        ListenerCopy.objects.update(body='"' * 150_000)  # twice as long in the answer

        answer = poll(api)

        assert len(answer.json()["events"]) == 3
        assert len(answer.content) <= 1024 * 1024
        ListenerCopy.objects.update(body="x" * 2_000_000)
        assert len(polled(api)["events"]) == 1

    def test_drops_and_counts_the_oldest_beyond_the_limit(self, api, ada, listener, monkeypatch):
        assert listener_copies.MOST_KEPT == 1_000
        monkeypatch.setattr(listener_copies, "MOST_KEPT", 10)
        publish(ada.business, times=17)
        ids = [str(each) for each in ListenerCopy.objects.order_by("pk").values_list("event_id", flat=True)]

        answer = polled(api)

        assert (answer["waiting"], answer["dropped"]) == (10, 7)
        assert answer["events"][0]["event_id"] == ids[7]
        publish(ada.business, times=2)
        assert (begin(api).json()["waiting"], polled(api)["dropped"]) == (10, 9)

    def test_prolongs_the_life_of_the_listener(self, api, listener, now):
        Listener.objects.update(expires_at=now + timedelta(minutes=1))

        polled(api)

        assert Listener.objects.get().expires_at > now + timedelta(minutes=59)

    def test_that_finds_nothing_writes_nothing(self, api, listener):
        with CaptureQueriesContext(connection) as captured:
            polled(api)

        statements = [
            each["sql"].split()[0] for each in captured.captured_queries if "webhooks_" in each["sql"]
        ]
        assert statements == ["SELECT", "SELECT"]

    def test_waits_until_an_event_is_there(self, api, ada, listener, monkeypatch):
        sleeps = []

        def sleep(_seconds):
            assert connection.savepoint_ids == []  # only the test's own transaction is open
            sleeps.append(1)
            if len(sleeps) == 2:
                publish(ada.business)

        monkeypatch.setattr(
            listeners.waits.until.__func__, "__kwdefaults__", {"sleep": sleep, "now": lambda: 0.0}
        )

        assert len(polled(api, wait=10)["events"]) == 1
        assert len(sleeps) == 2

    def test_looks_with_one_query(self, listener):
        with CaptureQueriesContext(connection) as captured:
            listener_copies.has_any(Listener.objects.values_list("pk", flat=True).get())

        assert len(captured) == 2

    def test_says_when_to_come_again_if_it_may_not_wait(self, api, listener, monkeypatch):
        monkeypatch.setattr(listeners, "waits", listeners.waits.__class__())
        listeners.waits.stop()

        assert polled(api, wait=10) == {"events": [], "waiting": 0, "dropped": 0, "poll_after": 1}

    def test_with_an_invalid_field_is_refused(self, subtests, api, listener):
        for body, field in [
            ({"wait": 11}, "wait"),
            ({"wait": -1}, "wait"),
            ({"wait": "1"}, "wait"),
            ({"wait": 0.5}, "wait"),
            ({"ack": [str(uuid.UUID(int=number)) for number in range(101)]}, "ack"),
            ({"ack": ["nonsense"]}, "ack.0"),
            ({"ack": str(uuid.UUID(int=1))}, "ack"),
            ({"acknowledge": []}, "acknowledge"),
        ]:
            with subtests.test(body=body, field=field):
                answer = poll(api, **body)

                assert (answer.status_code, only(answer.json()["errors"])["field"]) == (400, field)

    def test_of_a_hundred_acknowledgements_is_accepted(self, api, listener):
        polled(api, ack=[str(uuid.uuid4()) for _ in range(100)])

    def test_that_is_answered_is_not_logged_and_a_refused_one_is(self, api, listener):
        polled(api)
        poll(api, wait=11)
        poll(api, name="other")
        request_log.flush()

        logged = [(call.target, call.status) for call in ApiRequest.objects.order_by("pk")]
        assert sorted(logged) == [
            (LISTENERS, 201),
            (f"{LISTENERS}/laptop/poll", 400),
            (f"{LISTENERS}/other/poll", 404),
        ]


class TestEnd:
    def test_deletes_the_listener_and_its_copies(self, api, listener):
        pay(api)

        answer = end(api)

        assert (answer.status_code, answer.json()) == (200, {"name": "laptop"})
        assert not Listener.objects.exists()
        assert not ListenerCopy.objects.exists()
        refusal(poll(api), 404, "not_found")
        refusal(end(api), 404, "not_found")

    def test_by_itself_comes_an_hour_after_the_last_poll(self, api, listener, now):
        assert Listener.objects.get().expires_at <= timezone.now() + timedelta(hours=1)
        Listener.objects.update(expires_at=now)

        pay(api)

        assert not ListenerCopy.objects.exists()
        refusal(poll(api), 404, "not_found")

    def test_is_purged(self, api, ada, listener, now):
        begin(api, "other")
        publish(ada.business)
        Listener.objects.filter(name="laptop").update(expires_at=now)
        ListenerCopy.objects.create(
            listener_id=10**6,
            event_id=uuid.uuid4(),
            event=Event.PAYMENT_SUCCESS,
            origin="event",
            body="x",
            created_at=now,
        )

        for kept in EVERYTHING:
            list(kept.purge(now=now))

        assert [each.name for each in Listener.objects.all()] == ["other"]
        assert ListenerCopy.objects.count() == 1


class TestAccess:
    @pytest.mark.parametrize("call", [begin, poll, end])
    def test_read_only_key_is_refused(self, ada, listener, call):
        key = ApiKeyFactory(business=ada.business, access=ApiKey.Access.READ_ONLY)

        refusal(call(InProcessClient(Credentials(key.public_id, key.secret))), 403, "key_may_not_write")

    @pytest.mark.parametrize("call", [poll, end])
    def test_another_business_listener_is_404(self, other_api, listener, call):
        refusal(call(other_api), 404, "not_found")
        assert Listener.objects.exists()

    @pytest.mark.parametrize("path", [LISTENERS, f"{LISTENERS}/laptop/poll", f"{LISTENERS}/laptop/end"])
    def test_production_refuses_before_anything_is_read(self, api, settings, path):
        settings.SANDBOX = False

        refusal(api.post(path, {"nonsense": True}), 403, "sandbox_only")

    def test_has_the_rate_limit_of_the_sandbox(self, api, listener):
        assert poll(api).headers["RateLimit-Policy"] == '"sandbox";q=20;w=1'


class TestProduction:
    @pytest.mark.parametrize("has_endpoint", [False, True])
    def test_publishes_with_no_further_query_or_row(self, ada, listener, has_endpoint, settings):
        settings.SANDBOX = False
        if has_endpoint:
            make_endpoint(business=ada.business)
        new = NewEvent(Event.PAYMENT_SUCCESS, ada.business_id, uuid.uuid4(), data=lambda: DATA)

        with CaptureQueriesContext(connection) as captured:
            publishing.publish(new, now=timezone.now())

        assert len(captured) == (2 if has_endpoint else 1)
        assert not ListenerCopy.objects.exists()


@pytest.mark.django_db(transaction=True)
class TestRaces:
    def test_of_parallel_calls_five_begin(self):
        """Tests the lock on the business in `listeners.begin`."""
        business, now = BusinessFactory(), timezone.now()

        def start(name):
            return listeners.begin(business=business, name=name, events=[Event.PAYMENT_SUCCESS], now=now)

        with racers(8) as threads:
            ended = threads.race(*[lambda name=f"l{number}": start(name) for number in range(8)])

        assert sum(isinstance(each, listeners.TooManyListeners) for each in ended) == 3
        assert Listener.objects.count() == 5

    def test_begun_while_it_ends_is_continued_or_begun_anew(self):
        """Tests the lock on the listener in `listeners.begin`."""
        business, now = BusinessFactory(), timezone.now()

        def start():
            return listeners.begin(business=business, name="l", events=[Event.PAYMENT_SUCCESS], now=now)

        with racers(4) as threads:
            for _ in range(10):
                begun = start()
                calls = [start, lambda listener=begun.listener: listeners.end(listener)] * 2
                assert not any(isinstance(each, Exception) for each in threads.race(*calls))

    def test_parallel_polls_count_each_return(self):
        """Tests the lock on the listener in `listeners._take`."""
        business, now = BusinessFactory(), timezone.now()
        begun = listeners.begin(business=business, name="l", events=[Event.PAYMENT_SUCCESS], now=now)
        publish(business, times=3)

        with racers(6) as threads:
            polls = threads.race(
                *[lambda: listeners.poll(begun.listener, acknowledged=(), seconds=0, now=now)] * 6
            )

        assert sorted(poll.copies[0].times for poll in polls) == [1, 2, 3, 4, 5, 6]

    def test_an_outcome_never_waits_for_a_listener_that_ends(self):
        business, now = BusinessFactory(), timezone.now()
        begun = listeners.begin(business=business, name="l", events=[Event.PAYMENT_SUCCESS], now=now)

        calls = [lambda: publish(business), lambda: listeners.end(begun.listener)]

        with racers(2) as threads:
            assert not any(isinstance(each, Exception) for each in threads.race(*calls))

    def test_an_overfull_listener_is_limited_after_the_commit(self, monkeypatch):
        monkeypatch.setattr(listener_copies, "MOST_KEPT", 10)
        business, now = BusinessFactory(), timezone.now()
        listeners.begin(business=business, name="l", events=[Event.PAYMENT_SUCCESS], now=now)

        publish(business, times=13)

        assert (ListenerCopy.objects.count(), Listener.objects.get().dropped) == (10, 3)
