"""Paystack's rate limits as our client keeps them: what waits, for how long, and what is sent nevertheless."""

import json

import pytest

from connectors.paystack.api.client import PaystackClient
from kit.connectors.http_client import HttpAnswer
from kit.connectors.provider_client import Deadline
from kit.connectors.token_bucket import LONGEST_WAIT
from payments.rails.protocol import RateLimited
from tests.sleeping_clock import SleepingClock

TAKEN = HttpAnswer(200, {}, json.dumps({"status": True, "message": "Taken", "data": {}}).encode())


class Paystack(SleepingClock):
    """Answers each call, at first with the planned resets of 429, and is the clock that only waiting moves."""

    def __init__(self):
        super().__init__()
        self.resets = []
        self.sent = []

    def has_room(self):
        return True

    def call(self, request, *, timeout):
        self.sent.append(request.url)
        if not self.resets:
            return TAKEN
        body = json.dumps({"status": False, "message": "Rate limit exceeded", "code": "rate_limited"})
        return HttpAnswer(429, {"x-ratelimit-reset": self.resets.pop(0)}, body.encode())


@pytest.fixture
def paystack(settings):
    settings.REDIS_URL = ""
    return Paystack()


@pytest.fixture
def connect(paystack, settings):
    """Return a function that makes the client of an account."""

    settings.PAYSTACK_SECRET_KEY, settings.PAYSTACK_URL = "sk_live_key", "https://paystack.test"

    def made(integration="1"):
        settings.PAYSTACK_INTEGRATION = integration
        client = PaystackClient()
        client._http = paystack
        for endpoint in ("POST /transfer", "POST /refund", "GET /refund"):
            client._bucket(endpoint).clock = paystack
        return client

    return made


@pytest.fixture
def client(connect):
    return connect()


def order(client, path="/transfer"):
    return client.post(path, {}, until=Deadline(9))


def query(client):
    return client.get("/refund", until=Deadline(9))


def test_a_short_limit_delays_an_order(paystack, client):
    paystack.resets = ["1"]

    order(client)

    assert len(paystack.sent) == 2
    assert 1 <= paystack.slept <= LONGEST_WAIT


def test_a_long_limit_is_not_waited_for(paystack, client):
    paystack.resets = ["30"]

    with pytest.raises(RateLimited):
        order(client)

    assert (len(paystack.sent), paystack.slept) == (1, 0)
    assert not client.has_room("POST /transfer")


def test_an_order_under_a_used_up_limit_is_sent(paystack, client):
    """Paystack decides: no order fails for our own count."""
    client._bucket("POST /transfer").empty(reset=30)

    order(client)

    assert (len(paystack.sent), paystack.slept) == (1, 0)


def test_a_query_under_a_used_up_limit_is_not_made(paystack, client):
    client._bucket("GET /refund").empty(reset=30)

    with pytest.raises(RateLimited):
        query(client)

    assert paystack.sent == []


def test_an_order_waits_at_most_two_seconds(paystack, client):
    for _ in range(200):
        before = paystack.slept
        order(client)
        assert paystack.slept - before <= LONGEST_WAIT

    assert len(paystack.sent) == 200
    assert paystack.slept > 0


def test_the_limit_of_an_endpoint_is_its_own(paystack, client):
    paystack.resets = ["30"]
    with pytest.raises(RateLimited):
        order(client)

    order(client, "/refund")
    query(client)

    assert paystack.slept == 0
    assert client.has_room("POST /refund")


def test_the_limit_of_an_account_is_its_own(paystack, client, connect):
    paystack.resets = ["30"]
    with pytest.raises(RateLimited):
        order(client)

    order(connect("2"))

    assert paystack.slept == 0
