"""Every method of both clients, and every scenario, against one live sandbox."""

import json
import re
import time

import pytest
from sluice import Sluice

from config.environment.env import PROJECT
from tests.client_packages.live_calls import CALLS, Shop
from tests.client_packages.programs import run
from tests.receiver import running_receiver

pytestmark = pytest.mark.clients

GROUPS = json.loads((PROJECT / "clients" / "surface.json").read_text())["groups"]
SURFACE = {f"{group}.{name}": method for group, methods in GROUPS.items() for name, method in methods.items()}


class Recorder:
    """A transport that notes the operations of the requests that it passes on."""

    def __init__(self, transport, document):
        self._transport = transport
        self._operations = [
            (method.upper(), re.compile(re.sub(r"\{\w+\}", "[^/]+", path)), operation["operationId"])
            for path, methods in document["paths"].items()
            for method, operation in methods.items()
        ]
        self.seen = set()

    def send(self, request):
        path = request.target.partition("?")[0]
        self.seen |= {
            name
            for method, known, name in self._operations
            if method == request.method and known.fullmatch(path)
        }
        return self._transport.send(request)


PREPARE = """
from django.core.management import call_command
from merchants.models import Business
from django.utils import timezone
from payments.models import RiskTerms
Business.objects.update(keys_decide_unapplied=True)
for each in Business.objects.all():
    RiskTerms.objects.create(
        business=each, currency="NGN", reserve_basis_points=100, reserve_days=1, valid_from=timezone.now(), agreed_by="tests"
    )
call_command("configure_webhook", business={business!r}, url={url!r}, events="payment")
"""


@pytest.fixture(scope="module")
def shop(service):
    """A business with a delivered event, a waiting one and a settlement, whose keys may decide about transfers."""
    with (
        running_receiver(lambda received: 200 if received == 1 else 500) as receiver,
        Sluice.from_sandbox(service.folder) as client,
    ):
        service.command("shell", "-v0", "-c", PREPARE.format(business=service.business, url=receiver.url))
        client.sandbox.play("payment.success")
        _wait_until(lambda: client.events.list(state="delivered").data)
        client.sandbox.play("payment.success")
        _wait_until(lambda: any(event.attempts_made for event in client.events.list(state="waiting").data))
        client.sandbox.close_day("pending")
        yield Shop(client)


@pytest.fixture(scope="module")
def recorded(shop):
    """Another client of the same business, and the recorder of its requests."""
    client = shop.client
    caller = client._caller
    recorder = Recorder(caller.transport, client.call("GET", "/api/openapi.json"))
    return Sluice(client.base_url, caller._api_key, caller._secret_key, transport=recorder), recorder


def test_has_a_call_for_every_method():
    assert CALLS.keys() == SURFACE.keys(), (
        "Add a call to live_calls.py, and one to clients/node/tests/live.ts."
    )


@pytest.mark.parametrize("name", SURFACE)
def test_every_method_of_the_python_client_calls_its_operations(shop, recorded, name):
    client, recorder = recorded
    group, method = name.split(".")
    call = getattr(getattr(client, group), {"return": "return_"}.get(method, method))
    recorder.seen.clear()

    assert CALLS[name](shop, call) is not None
    played = {"createPayment"} if name == "sandbox.play" else set()
    assert recorder.seen == {*SURFACE[name]["operations"], *played}


def test_the_python_client_plays_every_scenario(shop):
    for scenario in shop.client.sandbox.scenarios():
        played = shop.client.sandbox.play(scenario.name)
        assert (played.status, played.response_code) == (scenario.ends.status, scenario.ends.response_code)
        time.sleep(0.1)  # the sandbox takes 20 of its own calls a second


def test_the_node_client_calls_every_operation_and_plays_every_scenario(node_client, service, shop):
    printed = run("node", "build/tests/live.js", cwd=node_client, SLUICE_SANDBOX=str(service.folder))

    assert printed.strip() == "ok"


def _wait_until(is_so):
    for _ in range(100):
        if is_so():
            return
        time.sleep(0.1)
    pytest.fail("It did not happen within 10 s.")
