import pytest

from connectors.checkout.simulator.simulator import Simulator
from tests.connectors.checkout.client import Client


class Inbox:
    """Receives webhooks in process."""

    def __init__(self):
        self.received = []  # address, headers, body
        self.status = 200

    def __call__(self, url, headers, body):
        self.received.append((url, headers, body))
        return self.status


@pytest.fixture
def inbox():
    return Inbox()


@pytest.fixture
def simulator(inbox):
    made = Simulator(seed="a test's", sender=inbox)
    made.outbox.notify("https://merchant.example/webhooks", "webhook-key")
    return made


@pytest.fixture
def client(simulator):
    return Client(simulator)
