"""Our connector to a simulator in this process, and orders and cards as the core makes them."""

import json
from datetime import timedelta
from io import StringIO
from uuid import uuid4

from django.core.management import call_command

from connectors.checkout.cards import CheckoutAcquirer
from connectors.checkout.simulator.control.settings import Identity
from connectors.checkout.simulator.simulator import AnswerCut, AnswerLost
from kit.connectors.http_client import HttpAnswer, NoAnswer
from kit.db import clock
from payments.rails.protocol import CardOrder, OperationOrder, Payer, ThreeDSecure
from payments.rules.cards import Card, CardSecret, brand_of

GOOD_CARD, SECURE = "4242424242424242", ThreeDSecure(enabled=True)
RETURN_URL = "https://pay.example/3ds/token/return"
URL = "https://test.api.sandbox.checkout.com"


class InProcess:
    """A transport to a simulator without a socket. Remembers what was sent."""

    def __init__(self, simulator):
        self.simulator = simulator
        self.is_down = False
        self.sent = []  # method, path, document, headers

    def has_room(self):
        return True

    def call(self, request, *, timeout):
        path = request.url.removeprefix(URL)
        is_json = request.headers.get("Content-Type") == "application/json"
        document = json.loads(request.body) if is_json else None
        self.sent.append((request.method, path, document, dict(request.headers)))
        if self.is_down:
            raise NoAnswer("ConnectionError")
        try:
            answer = self.simulator.handle(request.method, path, dict(request.headers), request.body)
        except (AnswerLost, AnswerCut) as lost:
            raise NoAnswer(type(lost).__name__) from None
        return HttpAnswer(answer.status, answer.headers, answer.body)

    def calls(self):
        return [f"{method} {path.partition('?')[0].split('/')[-1]}" for method, path, *_ in self.sent]


class SimulatedTime:
    """The simulator's clock in place of the module `time`."""

    def __init__(self, simulator):
        self.clock = simulator.clock
        self.slept = []

    def time(self):
        return self.clock.now().timestamp()

    monotonic = time

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.clock.advance(seconds)


def follow_clock(client, simulator):
    """Make a client live in the simulator's time and probe in the caller's thread, and return that time."""
    time = SimulatedTime(simulator)
    client.breaker.clock = client.reads.clock = client.writes.clock = time
    client.breaker.start = lambda probe: probe()
    return time


def configure(settings, *, url=URL, **more):
    """Set the account of the simulator."""
    identity = Identity()
    given = {"URL": url, "SECRET_KEY": identity.secret_key, "PROCESSING_CHANNEL": identity.channel, **more}
    for name, value in given.items():
        setattr(settings, f"CHECKOUT_{name}", value)


def connected(settings, simulator, **more):
    """Return a connector to a simulator, with its transport."""
    configure(settings, **more)
    transport = InProcess(simulator)
    acquirer = CheckoutAcquirer()
    acquirer.client._http = transport
    transport.time = follow_clock(acquirer.client, simulator)
    return acquirer, transport


def card(number=GOOD_CARD, *, expiry=("12", "2030"), cvv="", name="Ada Obi", address=None):
    return Card(
        secret=CardSecret(number=number, cvv=cvv or ("1234" if number.startswith("3") else "100")),
        brand=brand_of(number),
        bin=number[:6],
        last4=number[-4:],
        name=name,
        expiry_month=expiry[0],
        expiry_year=expiry[1],
        billing_address=address or {},
    )


def order(*, amount=10_000, capture=False, age=timedelta(), **more):
    given = {
        "id": uuid4(),
        "amount": amount,
        "currency": "NGN",
        "captures_at_once": capture,
        "three_ds": ThreeDSecure(),
        "has_passed_challenge": False,
        "card_bin": "424242",
        "card_last4": "4242",
        "card_expiry_month": "12",
        "card_expiry_year": "2030",
        "system_trace_audit_number": "000001",
        "retrieval_reference_number": "633206000001",
        "authorization_code": "",
        "descriptor": "Ada Books",
        "payer": Payer(),
        "return_url": RETURN_URL,
        "created_at": clock.now() - age,
    }
    return CardOrder(**given | more)


def operation(kind, amount=10_000, *, age=timedelta(), **more):
    given = {
        "id": uuid4(),
        "kind": kind,
        "amount": amount,
        "system_trace_audit_number": "000002",
        "retrieval_reference_number": "633206000002",
        "created_at": clock.now() - age,
    }
    return OperationOrder(**given | more)


def requery():
    """Query everything whose outcome is unknown."""
    call_command("requery_pending", stdout=StringIO(), stderr=StringIO())


def books(simulator):
    """Return what the simulator has of its only payment."""
    [payment] = simulator.books()["payments"].values()
    return payment
