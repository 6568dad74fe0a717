from datetime import timedelta

import pytest
from django.utils import timezone

from connectors.checkout.simulator.simulator import Simulator
from kit.connectors import connectors
from kit.db import clock as clocks
from payments import rails
from payments.rails.protocol import CardAcquirer
from payments.simulators.clock import Clock
from tests import orders
from tests.connectors.checkout.client import Client
from tests.connectors.checkout.connecting import GOOD_CARD, InProcess, configure, follow_clock


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
    now = timezone.now()
    clock = Clock(now)  # a process may pause for seconds on a busy machine
    made = Simulator(seed="a test's", sender=inbox, clock=clock)
    made.outbox.notify("https://merchant.example/webhooks", "webhook-key")
    return made


@pytest.fixture
def client(simulator):
    return Client(simulator)


@pytest.fixture
def transport(settings, simulator):
    """Route the service's card payments to the simulator."""
    connectors._made.cache_clear()
    configure(settings)
    settings.CARD_ACQUIRER = "checkout"
    made = connectors.make(rails.ACQUIRERS["checkout"], protocol=CardAcquirer)
    transport = made.client._http = InProcess(simulator)
    transport.time = follow_clock(made.client, simulator)
    yield transport
    connectors._made.cache_clear()


@pytest.fixture
def pay(api, transport):
    """Return a function that sends a payment to the service."""

    def send(number=GOOD_CARD, **changes):
        source = orders.card_source(pan=number, cvv="100")
        return api.post("/api/payments", orders.card_payment(source=source, **changes))

    return send


@pytest.fixture
def pass_time(monkeypatch, simulator):
    """Return a function that moves the clocks of the service and of the simulator."""
    moment = timezone.now()

    def advance(seconds):
        nonlocal moment
        moment += timedelta(seconds=seconds)
        simulator.clock.advance(seconds)

    monkeypatch.setattr(timezone, "now", lambda: moment)
    monkeypatch.setattr(clocks, "_ask_database", lambda: moment)
    return advance
