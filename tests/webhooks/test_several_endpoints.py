"""Several endpoints of a business: what each receives, and that one leaves the others alone."""

import json
import uuid
from datetime import timedelta

import pytest
from django.db import connection

from tests.factories import BusinessFactory
from tests.racing import kept_locked
from tests.webhooks.rows import ADA, NOON, acquire, data_of, make_deliveries
from webhooks import publishing, versions
from webhooks.endpoints import endpoint_changes, held_deliveries
from webhooks.endpoints.endpoint_changes import FirstEndpoint, TooManyEndpoints, UrlTaken
from webhooks.models import Delivery, Endpoint, Event
from webhooks.publishing import NewEvent
from webhooks.sending.concurrency import Places, Share
from webhooks.services import configure, is_replayable, replay, replayable

pytestmark = pytest.mark.django_db
STATES = Delivery.State
LATER = NOON + timedelta(seconds=5)


def created(business, number=1, **wanted):
    wanted = {"url": f"https://hooks{number}.shop.com/", "subscribed_events": ["payment"], **wanted}
    return endpoint_changes.create(business=business, wanted=wanted, actor=ADA, now=NOON).endpoint


@pytest.fixture
def business():
    return BusinessFactory()


@pytest.fixture
def first(business):
    return created(business)


@pytest.fixture
def second(business, first):
    return created(business, 2)


def published(business, event=Event.PAYMENT_SUCCESS):
    subject = uuid.uuid4()
    publishing.publish(NewEvent(event, business.pk, subject, data=lambda: data_of(event)), now=NOON)
    return list(Delivery.objects.filter(subject=subject).order_by("endpoint_number"))


class TestPublishing:
    def test_each_endpoint_has_a_delivery_of_the_same_event(self, business, first, second):
        one, other = published(business)

        assert one.pk == one.event_id == other.event_id != other.pk
        assert f'"id":"{other.pk}","event_id":"{one.pk}"' in other.body
        assert one.body == other.body.replace(str(other.pk), str(one.pk))

    def test_words_that_overlap_send_once(self, business):
        created(business, subscribed_events=["payment", "payment.success"])

        assert len(published(business)) == 1

    def test_single_names_are_subscriptions(self, business, first):
        created(business, 2, subscribed_events=["refund.success"])

        assert [row.endpoint_number for row in published(business, Event.REFUND_SUCCESS)] == [1]
        assert published(business, Event.REFUND_FAILED) == []

    def test_each_endpoint_has_the_version_of_its_creation(self, business, monkeypatch):
        newest = versions.NEWEST
        created(business)
        monkeypatch.setitem(versions.DOWNGRADES, newest, lambda data: data | {"reference": "old"})
        monkeypatch.setitem(versions.DOWNGRADES, "2027-01-01", None)
        created(business, 2, api_version="2027-01-01")

        old, new = (json.loads(row.body)["data"] for row in published(business))
        assert (old["reference"], old | {"reference": new["reference"]}) == ("old", new)

    def test_deleted_endpoint_receives_nothing(self, business, first, second):
        endpoint_changes.delete(second, actor=ADA, now=NOON)

        assert [row.endpoint_number for row in published(business)] == [0]


class TestChanges:
    def test_first_of_a_business_without_one_is_that_of_configure(self, business, first):
        configure(
            business=business,
            url="https://new.shop.com/",
            subscribed_events=["payout"],
            enabled=True,
            actor=ADA,
            now=NOON,
        )

        assert Endpoint.objects.get().url == "https://new.shop.com/"

    def test_first_is_never_deleted(self, first):
        with pytest.raises(FirstEndpoint):
            endpoint_changes.delete(first, actor=ADA, now=NOON)

    def test_same_url_twice_names_the_existing_one(self, business, first):
        with pytest.raises(UrlTaken) as refusal:
            created(business)

        assert refusal.value.extra == {"existing": {"id": str(first.public_id)}}

    def test_eleventh_is_refused_until_one_is_deleted(self, business):
        made = [created(business, number) for number in range(10)]
        with pytest.raises(TooManyEndpoints):
            created(business, 11)
        endpoint_changes.delete(made[3], actor=ADA, now=NOON)

        assert created(business, 11).number == 10  # numbers are never used again

    @pytest.mark.skipif(connection.vendor != "postgresql", reason="SQLite has no row locks.")
    @pytest.mark.django_db(transaction=True)
    def test_payments_of_the_business_wait_for_no_change(self, business, first, second):
        with kept_locked(business, "KEY SHARE"):  # the lock of a row that refers to the business
            endpoint_changes.change(second, {"enabled": False}, actor=ADA, now=NOON)
            endpoint_changes.delete(second, actor=ADA, now=NOON)

    def test_each_has_a_key_of_its_own_to_rotate(self, first, second):
        kept = first.hash_key
        rotated = endpoint_changes.rotate_hash_key(
            business=first.business, actor=ADA, now=NOON, number=second.number
        )

        first.refresh_from_db()
        assert (first.hash_key, rotated.new_hash_key) != (kept, second.hash_key)
        assert first.hash_key == kept


class TestDeletion:
    def test_skips_ten_thousand_held_deliveries(self, business, first):
        second = created(business, 2, enabled=False)
        make_deliveries(second, 10_000)
        make_deliveries(first)

        endpoint_changes.delete(second, actor=ADA, now=NOON)

        assert Delivery.objects.filter(state=STATES.SKIPPED).count() == 10_000
        assert Delivery.objects.get(state=STATES.WAITING).endpoint_number == 0

    @pytest.mark.django_db(transaction=True)
    def test_keeps_no_row_locked_for_long(self, second, monkeypatch):
        """10,000 rows take over a second on a busy machine, which writers of SQLite would wait for."""
        monkeypatch.setattr(held_deliveries, "IN_A_TRANSACTION", 2)
        make_deliveries(second, 5, state=STATES.HELD)
        skipped = []

        def in_turn(deliveries):
            assert not connection.in_atomic_block
            skipped.append(skip(deliveries))
            return skipped[-1]

        skip = held_deliveries._skip
        monkeypatch.setattr(held_deliveries, "_skip", in_turn)
        endpoint_changes.delete(second, actor=ADA, now=NOON)

        assert (skipped, Delivery.objects.filter(state=STATES.SKIPPED).count()) == ([2, 2, 1], 5)

    def test_leaves_more_to_the_next_run_of_the_task(self, business, second, monkeypatch):
        monkeypatch.setattr(held_deliveries, "AT_ONCE", 2)
        make_deliveries(second, 3, state=STATES.HELD)
        endpoint_changes.delete(second, actor=ADA, now=NOON)
        assert Delivery.objects.filter(state=STATES.SKIPPED).count() == 2

        held_deliveries.drop_long_held(now=NOON)
        assert Delivery.objects.filter(state=STATES.SKIPPED).count() == 3

    def test_delivery_in_flight_is_skipped_when_it_would_be_sent_again(self, business, second):
        (row,) = make_deliveries(second)
        acquire()
        endpoint_changes.delete(second, actor=ADA, now=NOON)

        assert acquire(at=NOON + timedelta(hours=1)) == []
        row.refresh_from_db()
        assert row.state == STATES.SKIPPED

    def test_delivery_that_is_held_after_the_deletion_is_skipped(self, business, second):
        endpoint_changes.delete(second, actor=ADA, now=NOON)
        (row,) = make_deliveries(second, state=STATES.HELD)
        held_deliveries.drop_long_held(now=NOON)

        row.refresh_from_db()
        assert row.state == STATES.SKIPPED

    def test_its_deliveries_are_not_resent(self, business, second):
        (row,) = make_deliveries(second, state=STATES.DEAD)
        endpoint_changes.delete(second, actor=ADA, now=NOON)

        assert is_replayable(row, now=NOON)
        assert list(replay([row.pk], actor=ADA, now=NOON)) == [False]
        assert not replayable(business=business, now=NOON).exists()


class TestReplayable:
    def test_is_limited_to_an_endpoint(self, business, first, second):
        make_deliveries(first, state=STATES.DEAD)
        (row,) = make_deliveries(second, state=STATES.DEAD)

        assert list(replayable(business=business, endpoint=second, now=NOON)) == [row]


class TestPlaces:
    """The places of a business with several endpoints. SQLite and PostgreSQL have statements of their own."""

    def test_backlog_of_one_leaves_a_place_to_the_other(self, business, first, second):
        make_deliveries(first, 20)
        assert [each.endpoint_number for each in acquire(at=LATER)] == [0] * 7

        make_deliveries(second, 20)
        busy = {(business.pk, 0): Share(Places(1, 0, 1), is_busy=True)}
        taken = acquire(at=LATER, free={business.pk: Places(1, 0, 1)}, shares=busy)
        assert [each.endpoint_number for each in taken] == [1]

    @pytest.mark.parametrize("limit", [12, 100])
    def test_backlog_of_one_hides_no_delivery_to_the_other(self, business, first, second, limit):
        make_deliveries(first, 20)
        make_deliveries(second, at=NOON + timedelta(seconds=1))

        taken = acquire(at=LATER, limit=limit)
        assert [each.endpoint_number for each in taken].count(1) == 1
        assert len(taken) in {7, 8}

    def test_silent_endpoint_keeps_its_share(self, business, first, second):
        make_deliveries(first, 20)
        make_deliveries(second, 20, at=NOON + timedelta(seconds=1))
        silent = {(business.pk, 0): Share(Places(0, 0, 0), is_busy=True)}

        taken = acquire(at=LATER, free={business.pk: Places(6, 6, 6)}, shares=silent)
        assert [each.endpoint_number for each in taken] == [1] * 5

    def test_single_endpoint_has_all_places(self, first):
        make_deliveries(first, 20)

        assert len(acquire(at=LATER)) == 8
