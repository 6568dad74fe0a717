import json
import re
import uuid
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from django.db import IntegrityError, connection, transaction
from standardwebhooks import Webhook, WebhookVerificationError

from merchants.models import AuditEntry
from tests.factories import BusinessFactory
from tests.webhooks.rows import (
    ADA,
    DATA,
    DELIVERED,
    FAILED,
    NOON,
    acquire,
    data_of,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
    replay,
)
from webhooks import services
from webhooks.models import CATEGORIES, Category, Delivery, Endpoint, Event
from webhooks.publishing import NewEvent, endpoints_of, prepare
from webhooks.services import UnusableEndpoint, configure, replayable, rotate_hash_key
from webhooks.signing import sign, standard_headers, standard_secret

VECTORS = json.loads((Path(__file__).parents[1] / "data" / "signing_vectors.json").read_text())["webhook"]
STATES = Delivery.State


def configured(business, **changes):
    wanted = {"url": "https://hooks.shop.com/sluice", "subscribed_events": ["payment"], "enabled": True}
    return configure(business=business, actor=ADA, now=NOON, **(wanted | changes))


def prepared(business, event=Event.PAYMENT_SUCCESS, **changes):
    new = {"subject": uuid.uuid4(), "data": lambda: data_of(event)} | changes
    new = NewEvent(event, business.pk, **new)
    return [row for each in endpoints_of(business.pk) for row in prepare(new, each, now=NOON)]


class TestSigning:
    def test_matches_the_vectors(self):
        assert sign(VECTORS["hash_key"], VECTORS["body"].encode()) == VECTORS["signature"]
        assert sign(VECTORS["hash_key"], b"") == VECTORS["empty_body_signature"]

    def test_of_standard_webhooks_is_that_of_their_library(self):
        """Signed with `standardwebhooks` 1.1.0 for Python, and this secret."""
        key = "whk_sandbox_Zk3W9sT1vXq8LrB6yNc0MdH5uJf2GaP7eQo4iRzVxK"
        assert standard_secret(key) == (
            "whsec_d2hrX3NhbmRib3hfWmszVzlzVDF2WHE4THJCNnlOYzBNZEg1dUpmMkdhUDdlUW80aVJ6VnhL"
        )
        headers = standard_headers(
            [key],
            delivery_id=uuid.UUID("5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11"),
            at=NOON + timedelta(milliseconds=900),
            body='{"event":"payment.success","name":"Adé"}'.encode(),
        )
        assert headers == {
            "webhook-id": "5d0e5d0c-4f4e-4e0b-9a35-0f5f7f1c2a11",
            "webhook-timestamp": "1767268805",
            "webhook-signature": "v1,WkOEbqUyML2JI4ISavdb+d1FDCJ5GmzoVkJciI54Cq0=",
        }

    def test_of_standard_webhooks_is_verified_by_their_library(self):
        new, old, other = (f"whk_sandbox_{name}" for name in ("new", "old", "other"))
        body = '{"event":"payment.success","name":"Adé"}'.encode()
        headers = standard_headers([new, old], delivery_id=uuid.uuid4(), at=datetime.now(UTC), body=body)

        for key in (new, old):
            assert Webhook(standard_secret(key)).verify(body, headers)["name"] == "Adé"
        with pytest.raises(WebhookVerificationError):
            Webhook(standard_secret(other)).verify(body, headers)


@pytest.mark.django_db
class TestConfigure:
    def test_generates_a_key_once(self):
        business = BusinessFactory()

        first, second = configured(business), configured(business, url="https://hooks.shop.com/other")

        assert re.fullmatch(r"whk_sandbox_[A-Za-z0-9]{43}", first.new_hash_key)
        assert second.new_hash_key is None
        endpoint = Endpoint.objects.get()
        assert (endpoint.url, endpoint.hash_key) == ("https://hooks.shop.com/other", first.new_hash_key)

    def test_stores_the_key_encrypted(self):
        key = configured(BusinessFactory()).new_hash_key

        with connection.cursor() as cursor:
            cursor.execute("SELECT * FROM webhooks_endpoint")
            stored = str(cursor.fetchall())

        assert key not in stored
        assert "gAAAA" in stored

    def test_is_in_the_audit_trail_with_before_and_after_and_without_the_key(self):
        business = BusinessFactory()
        key = configured(business).new_hash_key
        configured(business, subscribed_events=["payout", "payment"], enabled=False)

        first, second = AuditEntry.objects.filter(action="webhook.configured").order_by("pk")
        assert first.before == {}
        assert (second.before["enabled"], second.after["enabled"]) == (True, False)
        assert second.before["subscribed_events"] == ["payment"]
        assert second.after["subscribed_events"] == ["payment", "payout"]
        assert (second.actor, second.business_id) == ("ada@example.com", business.pk)
        assert key not in str(list(AuditEntry.objects.values()))

    @pytest.mark.parametrize(
        "wrong",
        [
            {"url": ""},
            {"url": "ftp://hooks.shop.com"},
            {"url": "https://ada@hooks.shop.com"},
            {"subscribed_events": []},
            {"subscribed_events": ["refunds"]},
            {"subscribed_events": ["payment", "payment.succeeded"]},
        ],
    )
    def test_rejects_invalid_settings_with_a_reason(self, wrong):
        with pytest.raises(UnusableEndpoint) as refusal:
            configured(BusinessFactory(), **wrong)

        assert len(str(refusal.value.detail)) > 20
        assert not Endpoint.objects.exists()

    @pytest.mark.parametrize(
        "url", ["http://hooks.shop.com/", "https://127.0.0.1/", "https://pay.sluice.shop/hook", "https://a/"]
    )
    def test_is_stricter_in_production(self, url, settings):
        settings.SANDBOX, settings.PUBLIC_URL = False, "https://pay.sluice.shop"

        with pytest.raises(UnusableEndpoint):
            configured(BusinessFactory(), url=url)

    def test_creates_a_live_key_in_production(self, settings):
        settings.SANDBOX = False

        assert configured(BusinessFactory()).new_hash_key.startswith("whk_live_")


@pytest.mark.django_db
class TestRotateHashKey:
    def test_replaces_the_key_and_writes_an_audit_entry(self):
        business = BusinessFactory()
        old = configured(business).new_hash_key

        new = rotate_hash_key(business=business, actor=ADA, now=NOON + timedelta(days=1)).new_hash_key

        endpoint = Endpoint.objects.get()
        assert endpoint.hash_key == new != old
        assert endpoint.key_made_at == NOON + timedelta(days=1)
        audited = str(list(AuditEntry.objects.values()))
        assert "webhook.key_rotated" in audited
        assert new not in audited

    def test_needs_an_endpoint(self):
        with pytest.raises(Endpoint.DoesNotExist):
            rotate_hash_key(business=BusinessFactory(), actor=ADA, now=NOON)


@pytest.mark.django_db
class TestPrepare:
    def test_returns_nothing_without_an_endpoint(self):
        assert prepared(BusinessFactory(), data=pytest.fail) == []

    def test_returns_only_what_is_subscribed(self, subtests):
        for event in Event:
            for category in Category:
                with subtests.test(event=event, category=category):
                    endpoint = make_endpoint(events=[category])

                    rows = prepared(endpoint.business, event)

                    assert len(rows) == (CATEGORIES[event] == category)

    def test_every_event_has_a_category(self):
        assert set(CATEGORIES) == set(Event)

    def test_body_and_list_name_an_event_as_the_contract_does(self):
        endpoint = make_endpoint(events=["unapplied"])

        (row,) = prepared(endpoint.business, Event.TRANSFER_UNAPPLIED)

        assert json.loads(row.body)["event"] == "transfer.unapplied"
        assert row.get_event_display() == "transfer.unapplied"
        assert "test" not in json.loads(row.body)

    @pytest.mark.parametrize(("enabled", "state"), [(True, STATES.WAITING), (False, STATES.HELD)])
    def test_holds_when_the_endpoint_is_disabled(self, enabled, state):
        (row,) = prepared(make_endpoint(enabled=enabled).business)

        row.save(force_insert=True)
        assert Delivery.objects.get().state == state

    def test_renders_the_envelope_exactly(self):
        (row,) = prepared(make_endpoint().business, data=lambda: DATA | {"reference": "ọ̀rẹ́ ✓"})

        envelope = json.loads(row.body)
        assert list(envelope) == ["id", "event_id", "event", "created_at", "data"]
        assert envelope == {
            "id": str(row.pk),
            "event_id": str(row.pk),
            "event": "payment.success",
            "created_at": "2026-01-01T12:00:05.000Z",
            "data": DATA | {"reference": "ọ̀rẹ́ ✓"},
        }
        assert row.body.isascii()
        assert ": " not in row.body

    def test_renders_bytes_that_the_database_does_not_change(self):
        (row,) = prepared(
            make_endpoint().business, data=lambda: DATA | {"narration": "a\x00b \u2028 \U0001f600 \\ \" '%s"}
        )

        row.save(force_insert=True)

        assert Delivery.objects.get().body.encode() == row.body.encode()

    def test_publishes_a_transaction_once(self):
        endpoint, subject = make_endpoint(), uuid.uuid4()
        (first,), (second,) = (prepared(endpoint.business, subject=subject) for _ in range(2))
        first.save(force_insert=True)

        with pytest.raises(IntegrityError), transaction.atomic():
            second.save(force_insert=True)


@pytest.mark.django_db
class TestReplayable:
    def test_chooses_by_state_event_and_time_oldest_first(self):
        endpoint = make_endpoint()
        rows = make_deliveries(endpoint, 9, state=STATES.DEAD)
        delivered = make_delivery(endpoint, state=STATES.DELIVERED, delivered_at=NOON)
        held = make_delivery(endpoint, state=STATES.HELD, event=Event.PAYOUT_FAILED)
        make_delivery(endpoint, state=STATES.SKIPPED)
        make_delivery(endpoint)
        make_delivery(make_endpoint(), state=STATES.DEAD)
        business = endpoint.business

        assert list(replayable(now=NOON, business=business)) == rows
        assert list(replayable(now=NOON, business=business, states=[STATES.DELIVERED])) == [delivered]
        assert list(replayable(now=NOON, business=business, states=[STATES.HELD, STATES.WAITING])) == [held]
        assert list(replayable(now=NOON, business=business, states=STATES, event=Event.PAYOUT_FAILED)) == [
            held
        ]
        between = replayable(now=NOON, business=business, since=rows[2].created_at, until=rows[4].created_at)
        assert list(between) == rows[2:5]

    def test_takes_retrying_deliveries_before_their_next_attempt(self):
        delivery = retrying(make_endpoint())
        chosen = {"business": delivery.business, "states": [STATES.WAITING]}

        assert list(replayable(now=NOON, **chosen)) == [delivery]
        assert list(replayable(now=delivery.next_attempt_at, **chosen)) == []

    def test_writes_an_audit_entry_and_notifies_workers(self, signals):
        dead = make_delivery(make_endpoint(), state=STATES.DEAD)

        replay(dead)

        entry = AuditEntry.objects.get(action="webhook.replayed")
        assert (entry.target, entry.business_id) == (str(dead.pk), dead.business_id)
        assert signals == [True]


def retrying(endpoint):
    """Return a delivery after its first failure."""
    delivery = make_delivery(endpoint)
    record(acquire(), FAILED)
    delivery.refresh_from_db()
    return delivery


@pytest.mark.django_db
class TestExtraAttempt:
    def test_that_fails_uses_none_up_and_leaves_the_planned_one(self):
        delivery = retrying(make_endpoint())
        planned = delivery.next_attempt_at

        assert replay(delivery) == [True]
        record(acquire(), FAILED)

        delivery.refresh_from_db()
        assert (delivery.state, delivery.next_attempt_at, delivery.planned_at) == ("waiting", planned, None)
        assert (delivery.attempts_made, delivery.manual_attempts, delivery.is_manual) == (1, 1, False)
        assert [each.is_manual for each in delivery.attempts.order_by("number")] == [False, True]

    def test_that_succeeds_ends_the_delivery(self):
        delivery = retrying(make_endpoint())

        replay(delivery)
        record(acquire(), DELIVERED)

        delivery.refresh_from_db()
        assert (delivery.state, delivery.next_attempt_at, delivery.planned_at) == ("delivered", None, None)

    def test_is_made_once_if_requested_twice(self):
        delivery = retrying(make_endpoint())

        assert [replay(delivery), replay(delivery)] == [[True], [False]]

    def test_is_refused_while_an_attempt_is_made(self):
        delivery = retrying(make_endpoint())
        acquire(at=delivery.next_attempt_at)

        assert replay(delivery) == [False]

    def test_keeps_its_plan_if_its_worker_is_lost(self):
        delivery = retrying(make_endpoint())
        planned = delivery.next_attempt_at
        replay(delivery)
        acquire()

        record(acquire(at=NOON + timedelta(hours=1)), FAILED)

        delivery.refresh_from_db()
        assert delivery.next_attempt_at >= planned
        assert (delivery.state, delivery.attempts_made) == ("waiting", 1)


@pytest.mark.django_db
class TestSendTestEvent:
    def test_creates_a_delivery_without_a_transaction(self, django_capture_on_commit_callbacks, signals):
        endpoint = make_endpoint(events=["payout"])

        with django_capture_on_commit_callbacks(execute=True):
            delivery = services.send_test_event(business=endpoint.business, data=DATA, now=NOON)

        assert (delivery.subject, delivery.state, delivery.is_manual) == (None, STATES.WAITING, True)
        assert signals == [True]

    def test_is_marked_as_a_test(self):
        delivery = services.send_test_event(business=make_endpoint().business, data=DATA, now=NOON)

        assert json.loads(delivery.body)["test"] is True

    @pytest.mark.parametrize(
        ("exchange", "state"), [(DELIVERED, STATES.DELIVERED), (FAILED, STATES.TEST_FAILED)]
    )
    def test_is_attempted_once(self, exchange, state):
        delivery = services.send_test_event(business=make_endpoint().business, data=DATA, now=NOON)

        record(acquire(), exchange)

        delivery.refresh_from_db()
        assert (delivery.state, delivery.next_attempt_at) == (state, None)
        assert acquire(at=NOON + timedelta(days=2)) == []

    @pytest.mark.parametrize("exchange", [DELIVERED, FAILED])
    def test_is_never_replayed(self, exchange):
        delivery = services.send_test_event(business=make_endpoint().business, data=DATA, now=NOON)
        record(acquire(), exchange)

        assert not replayable(now=NOON, business=delivery.business, states=STATES.values).exists()
        assert replay(delivery) == [False]


@pytest.mark.django_db
class TestStates:
    @pytest.mark.parametrize("changes", [{"state": "gone"}, {"state": STATES.TEST_FAILED}])
    def test_database_rejects_unknown_states_and_failed_tests_of_outcomes(self, changes):
        delivery = make_delivery(make_endpoint())

        with pytest.raises(IntegrityError), transaction.atomic():
            Delivery.objects.filter(pk=delivery.pk).update(**changes)
