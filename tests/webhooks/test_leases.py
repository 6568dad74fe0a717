import uuid
from datetime import timedelta

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from tests.webhooks.rows import (
    ADA,
    DATA,
    DELIVERED,
    FAILED,
    KEY,
    LEASE,
    NOON,
    acquire,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
    replay,
)
from webhooks import services
from webhooks.endpoints import held_deliveries
from webhooks.models import Attempt, Delivery, Endpoint, Event
from webhooks.sending import leases
from webhooks.sending.concurrency import Places

pytestmark = pytest.mark.django_db
STATES = Delivery.State
LATER = NOON + timedelta(minutes=1)


def states():
    return sorted(Delivery.objects.values_list("state", flat=True))


class TestAcquire:
    def test_returns_everything_needed_to_send(self):
        endpoint = make_endpoint()
        delivery = make_delivery(endpoint)

        (leased,) = acquire()

        assert (leased.id, leased.business_id) == (delivery.pk, endpoint.business_id)
        assert (leased.event, leased.body) == (Event.PAYMENT_SUCCESS, delivery.body)
        assert (leased.url, leased.hash_key) == (endpoint.url, KEY)
        assert leased.number == 1

    def test_is_a_lease(self):
        make_delivery(make_endpoint())
        acquire()

        assert acquire() == []
        assert acquire(at=NOON + LEASE - timedelta(microseconds=1)) == []

    def test_is_repeated_with_the_same_attempt_number_after_the_lease(self):
        make_delivery(make_endpoint())
        (first,) = acquire()

        (second,) = acquire(at=NOON + LEASE)

        assert (second.id, second.number) == (first.id, first.number)
        assert second.token != first.token

    def test_takes_the_oldest_first_and_no_more_than_the_limit(self):
        rows = make_deliveries(make_endpoint(), 5, at=NOON - timedelta(seconds=1))

        leased = acquire(limit=3)

        assert [each.id for each in leased] == [row.pk for row in rows[:3]]

    def test_takes_nothing_before_its_time(self):
        make_delivery(make_endpoint(), at=NOON + timedelta(microseconds=1))

        assert acquire() == []

    @pytest.mark.parametrize("limit", [6, 10, 100])
    def test_finds_deliveries_of_every_business_despite_a_large_backlog(self, limit):
        loud = make_endpoint()
        make_deliveries(loud, 600, at=NOON - timedelta(hours=1))
        quiet = [make_endpoint() for _ in range(5)]
        for endpoint in quiet:
            make_delivery(endpoint, at=NOON - timedelta(seconds=1))

        leased = acquire(limit=limit, usual=Places(1, 1, 1))

        assert {each.business_id for each in leased} == {endpoint.business_id for endpoint in [loud, *quiet]}
        assert len(leased) == 6

    def test_counts_places_a_business_already_uses(self):
        busy, other, full = make_endpoint(), make_endpoint(), make_endpoint()
        for endpoint in (busy, other, full):
            make_deliveries(endpoint, 10, at=NOON - timedelta(minutes=1))

        leased = acquire(free={busy.business_id: Places(3, 3, 3), full.business_id: Places(0, 0, 0)})

        by_business = [each.business_id for each in leased]
        assert by_business.count(busy.business_id) == 3
        assert by_business.count(other.business_id) == 8
        assert by_business.count(full.business_id) == 0

    def test_leaves_the_last_two_places_of_a_business_to_first_attempts(self):
        endpoint = make_endpoint()
        make_deliveries(endpoint, 20, at=NOON - timedelta(minutes=2), attempts_made=1)
        first_attempts = make_deliveries(endpoint, 5, at=NOON - timedelta(minutes=1))

        leased = acquire()

        assert [each.is_first for each in leased] == [False] * 6 + [True] * 2
        assert [each.id for each in leased[6:]] == [row.pk for row in first_attempts[:2]]

    @pytest.mark.parametrize("limit", [10, 100])
    def test_finds_a_first_attempt_behind_any_number_of_retries(self, limit):
        endpoint = make_endpoint()
        make_deliveries(endpoint, 300, at=NOON - timedelta(hours=1), attempts_made=2)
        delivery = make_delivery(endpoint, at=NOON - timedelta(seconds=1))

        leased = acquire(limit=limit, free={endpoint.business_id: Places(2, 0, 2)})

        assert [each.id for each in leased] == [delivery.pk]

    def test_counts_manual_attempts_as_tried(self):
        endpoint = make_endpoint()
        make_deliveries(endpoint, 2, manual_attempts=1, at=NOON - timedelta(seconds=1))

        assert acquire(free={endpoint.business_id: Places(2, 0, 2)}) == []

    def test_returns_the_same_leases_when_repeated_with_the_same_token(self):
        """The response to the commit was lost. Without this, the deliveries would wait for the lease to end."""
        delivery = make_delivery(make_endpoint())
        token = uuid.uuid4()
        (first,) = acquire(token=token)

        (repeated,) = acquire(token=token, at=NOON + timedelta(seconds=1), earlier=[NOON + LEASE])

        assert (repeated.id, repeated.leased_until) == (delivery.pk, first.leased_until)
        assert record([repeated], DELIVERED) == 0

    def test_acquires_new_leases_when_repeated_after_nothing_was_committed(self):
        delivery = make_delivery(make_endpoint())

        (leased,) = acquire(earlier=[NOON + LEASE - timedelta(seconds=1)])

        assert (leased.id, leased.leased_until) == (delivery.pk, NOON + LEASE)

    def test_uses_the_current_url_and_key(self):
        endpoint = make_endpoint()
        make_delivery(endpoint)
        record(acquire())
        services.configure(
            business=endpoint.business,
            url="http://127.0.0.1:9/new",
            subscribed_events=["payment"],
            enabled=True,
            actor=ADA,
            now=NOON,
        )
        rotated = services.rotate_hash_key(business=endpoint.business, actor=ADA, now=NOON)

        (leased,) = acquire(at=LATER)

        assert leased.url == "http://127.0.0.1:9/new"
        assert leased.hash_key == rotated.new_hash_key != KEY
        assert leased.number == 2

    @pytest.mark.parametrize("is_first_enabled", [True, False])
    def test_counts_the_enabled_endpoints_of_the_business(self, *, is_first_enabled):
        first = make_endpoint(enabled=is_first_enabled)
        second = make_endpoint(business=first.business, number=1)
        make_endpoint(business=first.business, number=2)
        make_endpoint(business=first.business, number=3, enabled=False)
        make_endpoint(business=first.business, number=4, deleted_at=NOON)
        make_endpoint()
        make_delivery(second)

        (leased,) = acquire()

        assert leased.endpoints == 2 + is_first_enabled

    def test_holds_deliveries_to_a_disabled_endpoint_without_using_an_attempt(self):
        endpoint = make_endpoint()
        delivery = make_delivery(endpoint)
        Endpoint.objects.update(enabled=False)

        assert acquire() == []

        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts_made, delivery.lease_token) == (STATES.HELD, 0, None)

    def test_skips_unsubscribed_deliveries(self):
        endpoint = make_endpoint()
        make_deliveries(endpoint, 2)
        payout = make_delivery(endpoint, event=Event.PAYOUT_FAILED)
        Endpoint.objects.update(subscribed_events=["payout"])

        leased = acquire(at=LATER)

        assert [each.id for each in leased] == [payout.pk]
        assert states() == [STATES.SKIPPED, STATES.SKIPPED, STATES.WAITING]

    def test_skips_deliveries_without_an_endpoint(self):
        make_delivery(make_endpoint())
        Endpoint.objects.all().delete()

        assert acquire() == []
        assert states() == [STATES.SKIPPED]


class TestHeldDeliveries:
    def hold(self):
        endpoint = make_endpoint(enabled=False)
        return endpoint, make_delivery(endpoint)

    def test_are_sent_when_the_endpoint_is_enabled(self, django_capture_on_commit_callbacks, signals):
        endpoint, delivery = self.hold()
        assert acquire(at=LATER) == []

        with django_capture_on_commit_callbacks(execute=True):
            services.configure(
                business=endpoint.business,
                url=endpoint.url,
                subscribed_events=["payment"],
                enabled=True,
                actor=ADA,
                now=LATER,
            )

        assert [(each.id, each.number) for each in acquire(at=LATER)] == [(delivery.pk, 1)]
        assert signals

    def test_are_sent_even_if_written_after_the_endpoint_was_enabled(self):
        self.hold()
        Endpoint.objects.update(enabled=True)

        released = held_deliveries.release_stragglers(at=LATER)

        assert released == 1
        assert len(acquire(at=LATER)) == 1

    def test_stay_held_while_the_endpoint_is_disabled(self):
        self.hold()

        assert held_deliveries.release_stragglers(at=LATER) == 0
        assert states() == [STATES.HELD]

    @pytest.mark.parametrize("straggling", [False, True])
    def test_are_skipped_when_the_endpoint_is_enabled_after_more_than_seven_days(self, straggling):
        endpoint, old = self.hold()
        enabled_at = NOON + timedelta(days=7, seconds=1)
        young = make_delivery(endpoint, at=enabled_at - timedelta(days=7))

        if straggling:
            Endpoint.objects.update(enabled=True)
            held_deliveries.release_stragglers(at=enabled_at)
        else:
            services.configure(
                business=endpoint.business,
                url=endpoint.url,
                subscribed_events=["payment"],
                enabled=True,
                actor=ADA,
                now=enabled_at,
            )

        assert [each.id for each in acquire(at=enabled_at)] == [young.pk]
        old.refresh_from_db()
        assert (old.state, old.next_attempt_at) == (STATES.SKIPPED, None)

    def test_can_be_replayed_after_more_than_seven_days_until_they_are_dropped(self):
        _, delivery = self.hold()
        later = NOON + timedelta(days=8)

        assert replay(delivery, at=later) == [True]

        assert [each.id for each in acquire(at=later)] == [delivery.pk]

    def test_are_skipped_after_seven_days(self):
        _, delivery = self.hold()
        week = timedelta(days=7)

        assert held_deliveries.drop_long_held(now=delivery.created_at + week) == 0
        assert held_deliveries.drop_long_held(now=delivery.created_at + week + timedelta(seconds=1)) == 1
        assert states() == [STATES.SKIPPED]

    def test_are_counted_from_the_moment_they_are_held(self):
        make_delivery(make_endpoint())
        record(acquire())
        Endpoint.objects.update(enabled=False)
        switched_off_at = NOON + timedelta(days=6)
        assert acquire(at=switched_off_at) == []

        assert held_deliveries.drop_long_held(now=NOON + timedelta(days=12)) == 0
        assert held_deliveries.drop_long_held(now=switched_off_at + timedelta(days=7, seconds=1)) == 1

    def test_stay_held_after_a_manual_attempt(self):
        _, delivery = self.hold()

        replay(delivery, at=NOON + timedelta(days=5))
        record(acquire(at=NOON + timedelta(days=5)), at=NOON + timedelta(days=5))

        delivery.refresh_from_db()
        assert (delivery.state, delivery.held_at) == (STATES.HELD, NOON)

    def test_start_a_new_period_when_they_are_held_again(self):
        endpoint, delivery = self.hold()
        held_deliveries.release(endpoint, now=LATER)

        assert acquire(at=LATER) == []

        delivery.refresh_from_db()
        assert (delivery.state, delivery.held_at) == (STATES.HELD, LATER)


class TestRecordResults:
    def test_records_a_success(self):
        delivery = make_delivery(make_endpoint())

        lost = record(acquire(), DELIVERED, at=LATER - timedelta(seconds=50))

        delivery.refresh_from_db()
        assert lost == 0
        assert (delivery.state, delivery.attempts_made) == (STATES.DELIVERED, 1)
        assert delivery.delivered_at == NOON + timedelta(seconds=10)
        assert (delivery.lease_token, delivery.next_attempt_at) == (None, None)

    def test_records_every_detail_of_the_attempt(self):
        delivery = make_delivery(make_endpoint())

        record(acquire(), FAILED)

        attempt = Attempt.objects.get()
        assert (attempt.delivery_id, attempt.number, attempt.is_manual) == (delivery.pk, 1, False)
        assert (attempt.status, attempt.error, attempt.explanation) == (
            500,
            "server_error",
            "The endpoint answered 500.",
        )
        assert (attempt.address, attempt.dns_ms, attempt.wait_ms) == (None, None, None)
        assert attempt.total_ms == 3.0
        assert bytes(attempt.excerpt) == b"\x00\xffno"
        assert attempt.started_at == NOON

    def test_takes_many_results_at_once(self):
        for _ in range(20):
            make_deliveries(make_endpoint(), 5)
        leased = acquire(at=LATER)

        assert record(leased[:50], DELIVERED, at=LATER) == 0
        assert record(leased[50:], FAILED, at=LATER) == 0

        assert states() == [STATES.DELIVERED] * 50 + [STATES.WAITING] * 50
        assert Attempt.objects.count() == 100

    def test_accepts_an_empty_batch(self):
        assert record([]) == 0

    def test_changes_nothing_with_a_stale_token(self):
        delivery = make_delivery(make_endpoint())
        stale = acquire()
        fresh = acquire(at=NOON + LEASE)

        assert record(stale, DELIVERED) == 1

        delivery.refresh_from_db()
        assert (delivery.state, delivery.lease_token) == (STATES.WAITING, fresh[0].token)
        assert not Attempt.objects.exists()
        assert record(fresh, DELIVERED) == 0

    def test_is_renewed_only_for_the_process_that_holds_it(self):
        make_delivery(make_endpoint())
        lost = acquire()
        held = acquire(at=NOON + LEASE)

        assert leases.renew(lost, until=NOON + 5 * LEASE) == 0
        assert leases.renew(held, until=NOON + 3 * LEASE) == 1
        assert acquire(at=NOON + 3 * LEASE - timedelta(microseconds=1)) == []
        assert len(acquire(at=NOON + 3 * LEASE)) == 1

    def test_is_not_renewed_after_its_result(self):
        make_delivery(make_endpoint())
        held = acquire()
        record(held, DELIVERED)

        assert leases.renew(held, until=NOON + 5 * LEASE) == 0
        assert states() == [STATES.DELIVERED]

    def test_records_each_result_once(self):
        make_delivery(make_endpoint())
        leased = acquire()
        record(leased, DELIVERED)

        assert record(leased, FAILED) == 1
        assert states() == [STATES.DELIVERED]
        assert Attempt.objects.count() == 1


class TestReplay:
    def make(self, state, *, attempts_made=8, **changes):
        delivered_at = NOON if state == STATES.DELIVERED else None
        return make_delivery(
            changes.pop("endpoint", None) or make_endpoint(),
            state=state,
            attempts_made=attempts_made,
            next_attempt_at=None,
            delivered_at=delivered_at,
            **changes,
        )

    @pytest.mark.parametrize("state", [STATES.DEAD, STATES.DELIVERED, STATES.HELD])
    def test_sends_the_same_id_and_bytes_and_marks_the_attempt(self, state):
        delivery = self.make(state, attempts_made=3)

        assert replay(delivery) == [True]
        (leased,) = acquire()
        record([leased], DELIVERED)

        assert (leased.id, leased.body, leased.number) == (delivery.pk, delivery.body, 4)
        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts_made, delivery.manual_attempts) == (STATES.DELIVERED, 3, 1)
        assert Attempt.objects.get().is_manual
        assert not delivery.is_manual

    @pytest.mark.parametrize("state", [STATES.WAITING, STATES.SKIPPED])
    def test_leaves_others_alone(self, state):
        delivery = make_delivery(make_endpoint(), state=state)

        assert replay(delivery) == [False]

    @pytest.mark.parametrize("state", [STATES.DEAD, STATES.DELIVERED])
    def test_keeps_the_state_and_schedules_no_retry_when_it_fails(self, state):
        delivery = self.make(state)
        replay(delivery)

        record(acquire())

        delivery.refresh_from_db()
        assert (delivery.state, delivery.next_attempt_at, delivery.attempts_made) == (state, None, 8)
        assert acquire(at=NOON + timedelta(days=30)) == []

    def test_keeps_the_automatic_attempts_of_a_held_delivery_when_it_fails(self):
        endpoint = make_endpoint(enabled=False)
        delivery = self.make(STATES.HELD, attempts_made=0, endpoint=endpoint)
        replay(delivery)

        record(acquire())

        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts_made, delivery.manual_attempts) == (STATES.HELD, 0, 1)

    def test_can_be_repeated_with_increasing_attempt_numbers(self):
        delivery = self.make(STATES.DEAD)

        for number in (9, 10, 11):
            replay(delivery)
            (leased,) = acquire()
            assert leased.number == number
            record([leased])

        assert sorted(Attempt.objects.values_list("number", flat=True)) == [9, 10, 11]

    def test_is_sent_again_with_the_same_number_after_a_lost_lease(self):
        replay(self.make(STATES.DEAD))
        acquire()

        (leased,) = acquire(at=NOON + LEASE)

        assert (leased.number, leased.is_manual) == (9, True)

    def test_of_a_test_event_ignores_subscription_and_disabled_endpoint(self):
        endpoint = make_endpoint(enabled=False, events=["payout"])
        services.send_test_event(business=endpoint.business, data=DATA, now=NOON)

        (leased,) = acquire()
        record([leased])

        assert leased.number == 1
        assert states() == [STATES.TEST_FAILED]


class TestHasWork:
    def test_costs_one_query(self):
        with CaptureQueriesContext(connection) as queries:
            leases.has_work(at=LATER)

        assert len(queries) == 1

    @pytest.mark.parametrize(
        ("enabled", "state", "is_work"),
        [
            (True, STATES.WAITING, True),
            (True, STATES.HELD, True),
            (False, STATES.HELD, False),
            (True, STATES.DEAD, False),
            (True, STATES.SKIPPED, False),
        ],
    )
    def test_depends_on_state_and_endpoint(self, enabled, state, is_work):
        make_delivery(make_endpoint(), at=NOON, state=state)
        Endpoint.objects.update(enabled=enabled)

        assert leases.has_work(at=LATER) is is_work

    def test_begins_when_a_delivery_is_due(self):
        delivery = make_delivery(make_endpoint())

        assert not leases.has_work(at=delivery.next_attempt_at - timedelta(microseconds=1))
        assert leases.has_work(at=delivery.next_attempt_at)
