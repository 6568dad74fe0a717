"""Data read from Redis is never executed, because others may write to it."""

import json
import os
import pickle
import subprocess
import sys
import time
from base64 import b64encode
from pathlib import Path

import pytest
from celery import Celery
from django.conf import settings as configured
from django.core.cache import cache
from django.utils import timezone
from redis import Redis

from config.celery import app
from config.runtime.cache import JSONSerializer
from tests import orders
from tests.journeys.service import PROJECT

pytestmark = pytest.mark.redis
needs_redis = pytest.mark.skipif(not configured.REDIS_URL, reason="REDIS_URL names no Redis")


class Payload:
    """Creates a file when it is unpickled."""

    def __init__(self, canary):
        self.canary = canary

    def __reduce__(self):
        return Path.touch, (self.canary,)


@pytest.fixture
def canary(tmp_path):
    return tmp_path / "executed"


@pytest.fixture
def planted(canary):
    return pickle.dumps(Payload(canary))


@pytest.fixture
def redis():
    with Redis.from_url(configured.CACHES["default"]["LOCATION"]) as client:
        yield client


class TestPayload:
    def test_is_executed_by_pickle(self, planted, canary):
        """Shows that the payload used in the tests below works."""
        pickle.loads(planted)  # noqa: S301  (this must not happen elsewhere)

        assert canary.exists()


@needs_redis
class TestCache:
    KEYS = ("some", "rate:writes:1:1", "sign-in:address:00:0", "allauth:rl:login:ip:1")

    @pytest.mark.parametrize("prefix", ["json:1:", ":1:"])
    @pytest.mark.parametrize("key", KEYS)
    def test_reads_a_pickle_as_missing(self, redis, planted, canary, key, prefix):
        redis.set(f"{prefix}{key}", planted)

        assert cache.get(key) is None
        assert cache.get_or_set(f"{key}:other", 1) == 1
        cache.has_key(key)
        cache.touch(key, 10)
        cache.set(key, [1.5])
        assert cache.get(key) == [1.5]
        assert not canary.exists()

    @pytest.mark.django_db
    def test_pickles_under_each_used_key_are_not_executed(self, redis, planted, canary, api, client):
        def work():
            return (
                api.post("/api/payments", orders.card_payment()).status_code,
                api.get("/api/banks").status_code,
                client.post(
                    "/dashboard/login/", {"email": "ada@example.com", "password": "wrong"}
                ).status_code,
                client.post("/dashboard/login/forgotten/", {"email": "ada@example.com"}).status_code,
            )

        before = work()
        keys = redis.keys("*")
        for key in [*keys, *(key.removeprefix(b"json") for key in keys)]:
            redis.set(key, planted, ex=60)

        assert any(b"rate:" in key for key in keys)
        assert work() == before
        assert not canary.exists()

    def test_keeps_the_values_that_are_cached_today(self):
        """Call counts, times of failed sign-ins, allauth's histories, locks and used codes."""
        for value in (7, timezone.now().timestamp(), [1.5, 2.5], True, "y", None, {"a": [1]}):
            cache.set("value", value)
            assert cache.get("value", "missing") == value
        assert type(cache.get("value")) is dict

    def test_does_not_create_what_it_increments(self, redis):
        with pytest.raises(ValueError, match="not found"):
            cache.incr("expired-count")

        assert not redis.exists(cache.make_key("expired-count"))


class TestSerializer:
    @pytest.mark.parametrize("value", [object(), b"a", timezone.now(), [{"a": {1}}], 1j])
    def test_refuses_types_that_json_does_not_have(self, value):
        with pytest.raises(TypeError):
            JSONSerializer().dumps(value)

    @pytest.mark.parametrize("value", [float("nan"), float("inf")])
    def test_refuses_numbers_that_json_does_not_have(self, value):
        with pytest.raises(ValueError, match="JSON"):
            JSONSerializer().dumps(value)


class TestBroker:
    def test_accepts_json_only(self):
        conf = app.conf

        assert list(conf.accept_content) == list(conf.result_accept_content) == ["json"]
        assert {conf.task_serializer, conf.result_serializer, conf.event_serializer} == {"json"}

    @needs_redis
    def test_worker_executes_no_pickle_and_no_remote_command(self, redis, planted, canary, tmp_path):
        redis.flushdb()
        for queue in ("sluice", "requery"):
            redis.lpush(queue, json.dumps(message(queue, planted)))
        environment = os.environ | {
            "REDIS_URL": configured.CACHES["default"]["LOCATION"],
            "DATABASE_URL": "",
            "SANDBOX_DATA": str(tmp_path / "data"),
        }
        command = [
            "-m",
            "celery",
            "-A",
            "config",
            "worker",
            "--pool",
            "solo",
            "--without-mingle",
            "--without-gossip",
        ]
        with (tmp_path / "log").open("w") as log:
            worker = subprocess.Popen(
                [sys.executable, *command, "--loglevel", "WARNING"],
                cwd=PROJECT, env=environment, stdout=log, stderr=log,
            )  # fmt: skip
        try:
            wait_until(lambda: (tmp_path / "log").read_text().count("Refusing to deserialize") >= 2)
            assert Celery(broker=environment["REDIS_URL"], set_as_current=False).control.ping(timeout=3) == []
            assert worker.poll() is None
            assert not canary.exists()
        finally:
            worker.kill()
            worker.wait()


def message(queue, body):
    """Return a message as kombu puts it into Redis."""
    return {
        "body": b64encode(body).decode(),
        "content-encoding": "binary",
        "content-type": "application/x-python-serialize",
        "headers": {
            "task": "config.heartbeat",
            "id": "1",
            "lang": "py",
            "argsrepr": "()",
            "kwargsrepr": "{}",
        },
        "properties": {
            "correlation_id": "1",
            "delivery_mode": 2,
            "delivery_info": {"exchange": "", "routing_key": queue},
            "priority": 0,
            "body_encoding": "base64",
            "delivery_tag": queue,
        },
    }


def wait_until(condition, seconds=40):
    ends_at = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < ends_at
        time.sleep(0.1)
