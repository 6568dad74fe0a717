import random
from datetime import timedelta
from statistics import mean

import pytest

from tests.webhooks.rows import NOON, acquire, make_delivery, make_endpoint, record
from webhooks.models import Attempt, Delivery
from webhooks.sending.retry_schedule import BASE_DELAYS, delay_before

STATES = Delivery.State


def delays_of(seed):
    """Return the waits between the attempts of one delivery that always fails."""
    jitters = random.Random(seed)
    attempts = range(2, len(BASE_DELAYS) + 1)
    return [delay_before(attempt, jitter=jitters.uniform(-0.5, 0.5)) for attempt in attempts]


class TestDelayBefore:
    runs = [delays_of(seed) for seed in range(1000)]

    def test_is_the_table_of_the_interface_document(self):
        seconds = [delay_before(attempt, jitter=0).total_seconds() for attempt in range(1, 9)]

        assert seconds == [0, 30, 120, 600, 1800, 3600, 14400, 43200]

    def test_has_no_ninth_attempt(self):
        assert delay_before(9, jitter=0) is None
        assert delay_before(100, jitter=0.5) is None

    @pytest.mark.parametrize("step", range(7))
    def test_stays_within_half_of_the_base_and_around_it(self, step):
        base = BASE_DELAYS[step + 1]
        drawn = [delays[step] for delays in self.runs]

        assert all(base * 0.5 <= delay <= base * 1.5 for delay in drawn)
        assert mean(delay / base for delay in drawn) == pytest.approx(1, abs=0.03)

    def test_adds_up_to_about_18_hours(self):
        totals = [sum(delays, timedelta()) / timedelta(hours=1) for delays in self.runs]

        assert mean(totals) == pytest.approx(17.7, abs=0.5)


@pytest.mark.django_db
class TestADeliveryThatAlwaysFails:
    @pytest.mark.parametrize("seed", range(3))
    def test_is_tried_eight_times_and_then_dead(self, seed):
        jitters = random.Random(seed)
        delivery = make_delivery(make_endpoint())
        waits = []
        at = NOON

        while True:
            leased = acquire(at=at)
            assert [each.number for each in leased] == [len(waits) + 1]
            record(leased, at=at, jitter=jitters.uniform(-0.5, 0.5))
            delivery.refresh_from_db()
            if delivery.state != STATES.WAITING:
                break
            assert acquire(at=delivery.next_attempt_at - timedelta(microseconds=1)) == []
            waits.append(delivery.next_attempt_at - at)
            at = delivery.next_attempt_at

        assert waits == delays_of(seed)
        assert delivery.state == STATES.DEAD
        assert delivery.attempts_made == Attempt.objects.count() == 8
        assert delivery.next_attempt_at is None
        assert acquire(at=at + timedelta(days=365)) == []

    def test_counts_delays_from_the_end_of_the_previous_attempt(self):
        delivery = make_delivery(make_endpoint())
        leased = acquire(at=NOON)

        record(leased, at=NOON + timedelta(seconds=10))

        delivery.refresh_from_db()
        assert delivery.next_attempt_at == NOON + timedelta(seconds=40)

    def test_follows_the_setting(self, settings):
        settings.WEBHOOK_RETRY_DELAYS = [0, 5]
        delivery = make_delivery(make_endpoint())

        record(acquire(at=NOON), at=NOON)
        record(acquire(at=NOON + timedelta(seconds=5)), at=NOON + timedelta(seconds=5))

        delivery.refresh_from_db()
        assert (delivery.state, delivery.attempts_made) == (STATES.DEAD, 2)
