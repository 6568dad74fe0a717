import json
import threading
import time
from http.client import HTTPConnection, RemoteDisconnected

import pytest

from connectors.checkout.simulator.control.control import carry_out
from connectors.checkout.simulator.server import CheckoutServer
from connectors.checkout.simulator.simulator import Simulator
from tests.connectors.checkout.client import order
from tests.serving import simulator_serving

KEY = Simulator().identity.secret_key


@pytest.fixture
def server(simulator):
    with simulator_serving(CheckoutServer(simulator=simulator)) as running:
        yield running


def call(server, method, path, document=None, *, key="", timeout=5):
    connection = HTTPConnection("127.0.0.1", server.port, timeout=timeout)
    try:
        headers = {"Authorization": f"Bearer {KEY}", "Cko-Idempotency-Key": key}
        connection.request(method, path, json.dumps(document) if document else None, headers)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


class TestServer:
    def test_answers_and_keeps_the_connection(self, server):
        connection = HTTPConnection("127.0.0.1", server.port, timeout=5)
        for expected in (201, 201):
            connection.request("POST", "/payments", json.dumps(order()), {"Authorization": f"Bearer {KEY}"})
            answer = connection.getresponse()
            made = json.loads(answer.read())
            assert answer.status == expected
        assert made["_links"]["self"]["href"].startswith(server.url)
        connection.close()

    def test_delivers_webhooks(self, server, inbox):
        call(server, "POST", "/payments", order())

        deadline = time.monotonic() + 5
        while not inbox.received and time.monotonic() < deadline:
            time.sleep(0.02)

        assert json.loads(inbox.received[0][2])["type"] == "payment_approved"

    @pytest.mark.parametrize(
        ("word", "error"), [("cut", RemoteDisconnected), ("half", Exception), ("swallow", TimeoutError)]
    )
    def test_loses_answers(self, server, simulator, word, error):
        simulator.plan.add(word)

        with pytest.raises(error):
            call(server, "POST", "/payments", order(), key="a", timeout=0.3)

        assert call(server, "POST", "/payments", order(), key="a")[0] == 201
        assert len(simulator.account.payments) == 1

    def test_call_that_is_still_answered_conflicts(self, server, simulator):
        simulator.plan.add("delay 0.4")
        slow = threading.Thread(target=call, args=(server, "POST", "/payments", order()), kwargs={"key": "a"})
        slow.start()
        while not simulator.account.payments:
            time.sleep(0.01)

        assert call(server, "POST", "/payments", order(), key="a")[0] == 409
        slow.join(5)

    def test_shows_pages_to_a_browser(self, server, client):
        made = client.secured()

        status, page = call(server, "GET", made["_links"]["redirect"]["href"].removeprefix(server.url))

        assert (status, b"Approve" in page) == (200, True)

    def test_is_controlled(self, server):
        status, state = call(
            server, "POST", "/control", {"plan": ["error 503"], "advance": 60, "books": True}
        )
        assert (status, json.loads(state)["plan"]) == (200, 1)
        assert call(server, "POST", "/payments", order())[0] == 503

        assert call(server, "POST", "/control", {"explode": True})[0] == 400


class TestControl:
    def test_sets_everything_that_a_test_sets(self, simulator, client):
        payment = client.paid(reference="ref")

        state = carry_out(
            simulator,
            {
                "delays": {"operation": 0},
                "variants": {"key_in_flight": "429"},
                "decide": {"Refund": ["20051"]},
                "webhooks": ["twice"],
                "notify": {"url": "https://other.example", "key": "k"},
                "dispute": {"payment": "ref", "amount": 500},
                "settle": "2100-01-01",
                "deliver": True,
            },
        )

        client.post(f"/payments/{payment}/refunds", {"amount": 1})
        assert client.actions(payment)[0]["response_code"] == "20051"
        assert state["delivered"]
        assert set(state["delivered"]) == {200}
        carry_out(simulator, {"dispute_outcome": {"id": state["dispute"], "status": "lost"}})
        assert client.get(f"/disputes/{state['dispute']}")[1]["status"] == "lost"

    @pytest.mark.parametrize(
        "order_",
        [
            {"explode": 1},
            {"variants": {"key_in_flight": "500"}},
            {"delays": {"nothing": 1}},
            {"delays": {"capture": "soon"}},
            {"decide": {"Nothing": []}},
            {"dispute": {"payment": "none"}},
            {"dispute_outcome": {"id": "none", "status": "won"}},
            {"plan": ["explode"]},
        ],
    )
    def test_refuses_what_it_does_not_know(self, simulator, order_):
        with pytest.raises(ValueError):
            carry_out(simulator, order_)
