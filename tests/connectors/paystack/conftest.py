"""A simulated Paystack. Everything that it says in any test is compared with what Paystack publishes."""

import json

import pytest

from tests.connectors.paystack import documents
from tests.connectors.paystack.client import LIVE_KEY, Client


@pytest.fixture
def paystack():
    client = Client()
    yield client
    assert_published(client)


@pytest.fixture
def takes_cards(settings):
    """Have Paystack take card payments, on pages that it hosts."""
    settings.PROXIES_IN_FRONT = 1
    settings.CARD_ACQUIRER = "paystack"


@pytest.fixture
def live():
    client = Client(key=LIVE_KEY)
    yield client
    assert_published(client)


def assert_published(client):
    """Assert that answers and events are valid by the published document, or have the shape of published samples."""
    if not documents.are_here():
        return
    events = [json.loads(event.body) for event in client.simulator.integration.outbox.events]
    told = [
        f"{method} {path} {status}: {complaint}"
        for method, path, status, answer in client.exchanges
        for complaint in documents.complaints(method, path, status, answer)
    ] + [
        f"{each['event']}: {said}"
        for each in events
        for said in documents.event_complaints(each["event"], each["data"])
    ]
    assert not told, "\n".join(dict.fromkeys(told))
