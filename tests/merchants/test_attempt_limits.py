"""Slots of limits are taken once, expire, and are released."""

from datetime import UTC, datetime, timedelta

import pytest

from merchants.models import LimitSlot
from merchants.people import attempt_limits
from merchants.people.attempt_limits import Limit, LimitReached
from tests.racing import racers

NOW = datetime(2026, 1, 1, 12, tzinfo=UTC)
THREE = Limit("test", 3, timedelta(minutes=15))
ONE = Limit("narrow", 1, timedelta(minutes=15))


@pytest.mark.django_db
class TestTake:
    def test_allows_one_attempt_per_slot(self):
        for _ in range(3):
            attempt_limits.take(THREE.of("ada"), now=NOW)

        with pytest.raises(LimitReached) as reached:
            attempt_limits.take(THREE.of("ada"), now=NOW)
        assert reached.value.retry_at == NOW + timedelta(minutes=15)
        attempt_limits.take(THREE.of("bisi"), now=NOW)

    def test_allows_another_once_the_first_has_expired(self):
        for minute in range(3):
            attempt_limits.take(THREE.of("ada"), now=NOW + timedelta(minutes=minute))

        attempt_limits.take(THREE.of("ada"), now=NOW + timedelta(minutes=15))
        with pytest.raises(LimitReached) as reached:
            attempt_limits.take(THREE.of("ada"), now=NOW + timedelta(minutes=15))
        assert reached.value.retry_at == NOW + timedelta(minutes=16)

    def test_takes_no_slot_if_one_limit_is_reached(self):
        attempt_limits.take(ONE.of("ada"), now=NOW)

        with pytest.raises(LimitReached):
            attempt_limits.take(THREE.of("ada"), ONE.of("ada"), now=NOW)

        assert LimitSlot.objects.count() == 1

    @pytest.mark.parametrize(
        ("milliseconds", "seconds"), [(0, 901), (500, 900), (899_900, 1), (900_000, 1), (950_000, 1)]
    )
    def test_retry_after_is_in_whole_seconds(self, milliseconds, seconds):
        attempt_limits.take(ONE.of("ada"), now=NOW)

        with pytest.raises(LimitReached) as reached:
            attempt_limits.take(ONE.of("ada"), now=NOW)

        assert reached.value.retry_after_seconds(NOW + timedelta(milliseconds=milliseconds)) == seconds

    def test_releases_attempts_that_did_not_count(self):
        attempt_limits.release(attempt_limits.take(ONE.of("ada"), THREE.of("ada"), now=NOW))

        assert not LimitSlot.objects.exists()
        attempt_limits.take(ONE.of("ada"), now=NOW)

    def test_stores_no_subject(self):
        attempt_limits.take(ONE.of("ada@example.com\ud800"), now=NOW)

        assert "ada" not in str(list(LimitSlot.objects.values()))


@pytest.mark.django_db(transaction=True)
class TestRace:
    def test_allows_no_more_than_the_slots(self):
        with racers(6) as started:
            results = started.race(*[lambda: attempt_limits.take(THREE.of("ada"), now=NOW)] * 6)

        assert sorted(type(each).__name__ for each in results) == ["LimitReached"] * 3 + ["list"] * 3
