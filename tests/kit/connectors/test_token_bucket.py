from uuid import uuid4

import pytest
from django.conf import settings as configured

from kit.connectors.token_bucket import PROCESSES, NoToken, TokenBucket
from tests.frozen_redis import frozen_cache
from tests.sleeping_clock import SleepingClock

pytestmark = pytest.mark.redis
needs_redis = pytest.mark.skipif(not configured.REDIS_URL, reason="REDIS_URL names no Redis")


@pytest.fixture
def clock():
    return SleepingClock()


@pytest.fixture(params=["process", pytest.param("redis", marks=needs_redis)])
def made(request, settings, clock):
    """Return a function that makes buckets for 10 tokens a second, 20 at once, all with one name."""
    is_shared, name = request.param == "redis", f"tests:{uuid4()}"
    if not is_shared:
        settings.REDIS_URL = ""

    def make():
        share = 1 if is_shared else PROCESSES
        bucket = TokenBucket(name, per_second=10 * share, burst=20 * share)
        bucket.clock = clock
        return bucket

    return make


@pytest.fixture
def bucket(made):
    return made()


def take(bucket, count, **how):
    for _ in range(count):
        bucket.take(**how)


def test_burst_is_taken_without_waiting(bucket, clock):
    take(bucket, 20)

    assert clock.slept == 0


def test_further_calls_wait_for_the_rate(bucket, clock):
    take(bucket, 30)

    assert clock.slept == pytest.approx(1, abs=0.05)


def test_fills_up_again_to_the_burst(bucket, clock):
    take(bucket, 20)
    clock.now += 3_600

    take(bucket, 30)

    assert clock.slept == pytest.approx(1, abs=0.05)


def test_nothing_is_taken_if_the_wait_is_too_long(bucket, clock):
    take(bucket, 20)

    for _ in range(50):
        with pytest.raises(NoToken):
            bucket.take(patience=0.05)

    assert bucket.take() == pytest.approx(0.1, abs=0.01)


def test_query_leaves_the_reserve(bucket, clock):
    take(bucket, 16, leaves_reserve=True)
    with pytest.raises(NoToken):
        bucket.take(patience=0.05, leaves_reserve=True)
    before = clock.slept

    take(bucket, 4)

    assert before == clock.slept == 0


def test_query_waits_while_payments_take_everything(bucket, clock):
    take(bucket, 20)

    waited = bucket.take(leaves_reserve=True)

    assert waited == pytest.approx(0.5, abs=0.02)


def test_429_empties_it_for_its_reset_time(bucket, clock):
    bucket.empty(reset=1.5)

    assert bucket.wait() == pytest.approx(1.5, abs=0.01)
    assert bucket.take() == pytest.approx(1.6, abs=0.01)


def test_longer_reset_is_not_waited_for(bucket, clock):
    bucket.empty(reset=30)

    with pytest.raises(NoToken):
        bucket.take()

    assert clock.slept == 0


@needs_redis
def test_processes_share_it(clock):
    name = f"tests:{uuid4()}"
    buckets = [TokenBucket(name, per_second=10, burst=20) for _ in range(4)]
    for bucket in buckets:
        bucket.clock = clock

    for bucket in buckets:
        take(bucket, 5)

    with pytest.raises(NoToken):
        buckets[0].take(patience=0.05)


def test_without_redis_each_process_has_its_part(settings, clock):
    with frozen_cache(settings):
        settings.REDIS_URL = settings.CACHES["default"]["LOCATION"]
        bucket = TokenBucket("tests:frozen", per_second=100, burst=100)
        bucket.clock = clock

        take(bucket, 100 // PROCESSES)
        with pytest.raises(NoToken):
            bucket.take(patience=0.01)
