"""Keys, limits, faults of calls and of webhooks, and the server."""

import hashlib
import hmac
import json
import random
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO

import pytest
import requests
from django.core.management import CommandError, call_command

from connectors.paystack.simulator import routes
from connectors.paystack.simulator.control.faults import Unanswered
from connectors.paystack.simulator.integration import Settings
from connectors.paystack.simulator.server import Server
from connectors.paystack.simulator.simulator import Simulator
from tests.connectors.paystack.client import KEY, LIVE_KEY, REFERENCE, Client
from tests.serving import simulator_serving

AUTHORIZED = {"Authorization": f"Bearer {KEY}"}


class TestAdmission:
    def test_keys(self, paystack):
        refused = paystack.call("GET", "/balance", key="pk_test_simulator")

        assert (refused.status, refused.message) == (401, "Invalid key")
        assert paystack.verify().document["status"] is False

    def test_addresses(self, paystack):
        paystack.command(switch={"ip_refused": True})

        assert (paystack.get("/balance").status, paystack.charge().status) == (403, 403)

    def test_domain_follows_the_key(self, paystack, live):
        assert [client.charge().data["domain"] for client in (paystack, live)] == ["test", "live"]

    @pytest.mark.parametrize(("key", "path", "limit"), [(KEY, "/balance", 100), (LIVE_KEY, "/balance", 600)])
    def test_rates_of_each_endpoint(self, key, path, limit):
        client = Client(key=key, limits_rates=True)

        said = [client.get(path).status for _ in range(limit + 1)]
        refused = client.get(path)

        assert said == [200] * limit + [429]
        assert refused.code == "rate_limited"
        assert (refused.headers["x-ratelimit-limit"], refused.headers["x-ratelimit-reset"]) == (
            str(limit),
            "60",
        )
        assert client.get("/bank").status == 200
        client.simulator.advance(60)
        assert client.get(path).status == 200

    def test_answers_every_body(self, paystack):
        """A member of any type is answered, with a refusal or not."""
        values = (
            None,
            "",
            0,
            -1,
            1e30,
            "abc",
            [],
            {"number": []},
            {"account_expires_at": 5},
            True,
            "\0",
            "058",
        )
        members = (
            "email amount card bank_transfer reference transaction recipient customer metadata bank_code"
        )
        generator = random.Random(1)
        for _ in range(2_000):
            route = generator.choice(routes.ROUTES)
            body = {name: generator.choice(values) for name in members.split()} | {"email": "a@b.co"}
            query = generator.choice(["perPage=0&page=x", "use_cursor=true&next=%%", "from=x", "customer=1"])
            path = re.sub(r"{\w+}", generator.choice(["1", "abc", "%00"]), route.path)

            answer = paystack.simulator.handle(
                route.method, f"{path}?{query}", AUTHORIZED, json.dumps(body).encode()
            )

            assert answer.status in {200, 201, 202, 303, 400, 404, 422, 429}

    def test_calls_are_counted(self, paystack):
        paystack.charge()
        paystack.verify()
        paystack.verify("other")

        counted = paystack.simulator.calls
        assert counted == {"POST /charge": 1, "GET /transaction/verify/{reference}": 2}

    def test_bodies_that_are_no_object(self, paystack):
        for body in (b"[]", b"{", b"\xff"):
            assert paystack.simulator.handle("POST", "/charge", AUTHORIZED, body).status == 400
        assert paystack.simulator.handle("PATCH", "/charge", AUTHORIZED).status == 404


class TestFaults:
    @pytest.mark.parametrize(
        ("fault", "is_done"),
        [
            ("swallow", True),
            ("cut", True),
            ("half", True),
            ("delay 30", True),
            ("lose", False),
            ("lose_and_cut", False),
            ("arrive_late 5", False),
        ],
    )
    def test_no_answer(self, paystack, fault, is_done):
        paystack.command(plan=[fault])

        with pytest.raises(Unanswered, match=fault.split()[0]):
            paystack.charge()

        assert (REFERENCE in paystack.books()["charged"]) is is_done

    def test_late_arrival_is_carried_out(self, paystack):
        paystack.command(plan=["arrive_late 5"])
        with pytest.raises(Unanswered):
            paystack.charge()

        paystack.simulator.advance(5)

        assert paystack.verify().data["status"] == "success"

    @pytest.mark.parametrize(
        ("fault", "status", "is_done"),
        [
            ("fail 500", 500, True),
            ("refuse 500", 500, False),
            ("refuse 429", 429, False),
            ("refuse 403", 403, False),
        ],
    )
    def test_error_with_and_without_effect(self, paystack, fault, status, is_done):
        paystack.command(plan=[fault])

        assert paystack.charge().status == status
        assert (REFERENCE in paystack.books()["charged"]) is is_done

    def test_error_of_a_proxy_is_no_json(self, paystack):
        paystack.command(plan=["fail 502", "garbage"])

        for _ in range(2):
            with pytest.raises(json.JSONDecodeError):
                paystack.charge(reference="")

    def test_repeated_request_looks_like_a_duplicate(self, paystack):
        paystack.command(plan=["POST /charge: repeat", "POST /transfer: repeat"])

        assert paystack.charge().message == "Duplicate charge request for reference"
        assert paystack.transfer(recipient=paystack.recipient()).code == "duplicate_transfer_reference"
        assert paystack.books()["charged"] == {REFERENCE: 50_000}

    def test_young_records_are_not_found(self, paystack):
        paystack.command(plan=["POST /charge: hide", "POST /transfer: hide 30"])
        paystack.charge()
        recipient = paystack.recipient()
        paystack.transfer(recipient=recipient)

        def said():
            charge, transfer = paystack.verify(), paystack.get(f"/transfer/verify/{REFERENCE}")
            return (charge.status, transfer.status, len(paystack.get("/transaction").data))

        assert said() == (404, 404, 0)
        assert paystack.transfer(recipient=recipient).status == 400
        paystack.simulator.advance(30)
        assert said() == (404, 200, 0)
        paystack.simulator.advance(30)
        assert said() == (200, 200, 1)

    def test_down(self, paystack):
        paystack.command(switch={"is_down": True})
        with pytest.raises(Unanswered):
            paystack.charge()
        paystack.command(switch={"is_down": False})

        assert paystack.verify().status == 404

    @pytest.mark.parametrize(
        "order",
        [
            {"plan": ["fall"]}, {"webhooks": ["never"]}, {"script": {"card": ["pin"]}}, {"switch": {"up": True}},
            {"script": {"transfer": ["paid"]}}, {"variant": {"ids": "long"}}, {"fly": 1}, {"default": {"dispute": "x"}},
        ],
    )  # fmt: skip
    def test_unknown_commands(self, paystack, order):
        answer = paystack.simulator.handle("POST", "/control", {}, json.dumps(order).encode())

        assert answer.status == 400
        assert json.loads(answer.body)["error"]


class TestWebhooks:
    def test_are_signed_with_the_secret_key(self, paystack):
        paystack.charge()
        paystack.deliver()

        [sent] = paystack.delivered
        right = hmac.new(KEY.encode(), sent.body, hashlib.sha512).hexdigest()
        assert sent.headers["x-paystack-signature"] == right
        assert (sent.event, sent.data["reference"]) == ("charge.success", REFERENCE)

    @pytest.mark.parametrize("key", [KEY, LIVE_KEY])
    def test_are_repeated_until_200(self, key):
        client = Client(key=key)
        client.answers_to_events = 201
        client.charge()
        waits = {KEY: 10 * [3600], LIVE_KEY: 3 * [180] + 72 * [3600]}[key]

        attempts = [len(client.deliver())]
        for wait in [*waits, 86_400]:
            client.simulator.advance(wait)
            attempts.append(len(client.deliver()))

        assert attempts == [1] * (len(waits) + 1) + [0]

    def test_repetition_ends_with_200(self, paystack):
        paystack.answers_to_events = 500
        paystack.charge()
        paystack.deliver()
        paystack.answers_to_events = 200
        paystack.simulator.advance(3600)

        assert [len(paystack.deliver()) for _ in range(2)] == [1, 0]

    @pytest.mark.parametrize(
        ("plan", "order"),
        [
            (["twice"], ["a", "a", "b"]),
            (["lost"], ["b"]),
            (["after_next"], ["b", "a"]),
            (["late 60"], ["b"]),
        ],
    )
    def test_faults(self, paystack, plan, order):
        paystack.command(webhooks=plan)
        for reference in ("a", "b"):
            paystack.charge(reference=reference)

        assert [data["reference"] for _, data in paystack.deliver()] == order

    def test_before_the_answer(self, live):
        live.command(plan=["POST /transfer: webhook_first"], script={"transfer": ["pending success"]})
        recipient = live.recipient()
        known = []
        live.simulator.integration.outbox._send = lambda url, headers, body: known.append(body) or 200

        assert live.transfer(recipient=recipient).data["status"] == "pending"
        assert json.loads(known[0])["event"] == "transfer.success"

    @pytest.mark.parametrize("signature", ["wrong", "none", "right"])
    def test_forged(self, paystack, signature):
        paystack.command(script={"card": ["declined"]})
        paystack.charge()
        changes = {"amount": 1}
        paystack.command(forge={"reference": REFERENCE, "signature": signature, "changes": changes})
        paystack.deliver()

        [sent] = paystack.delivered
        right = hmac.new(KEY.encode(), sent.body, hashlib.sha512).hexdigest()
        assert (sent.headers.get("x-paystack-signature") == right) is (signature == "right")
        assert (sent.data["status"], sent.data["amount"]) == ("success", 1)
        assert paystack.verify().data["status"] == "failed"

    def test_replayed(self, paystack):
        paystack.charge()
        paystack.deliver()
        paystack.command(replay=True)

        assert paystack.events() == ["charge.success"]


def served(**settings):
    return simulator_serving(Server(Simulator(Settings(**settings))))


class _Receiver(BaseHTTPRequestHandler):
    def do_POST(self):
        self.server.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.end_headers()
        self.server.is_told = len(self.server.received) == 1

    def log_message(self, *arguments):
        pass


class TestServer:
    def test_answers_and_is_controlled_over_http(self):
        with served() as server:
            balance = requests.get(f"{server.url}/balance", headers=AUTHORIZED, timeout=5)
            told = requests.post(f"{server.url}/control", json={"top_up": 1}, timeout=5)

        assert balance.json()["message"] == "Balances retrieved"
        assert told.json()["books"]["balance"] == 100_000_001

    @pytest.mark.parametrize(
        ("fault", "error"),
        [
            ("swallow", requests.Timeout),
            ("cut", requests.ConnectionError),
            ("half", requests.exceptions.ChunkedEncodingError),
            ("drip 2", requests.ReadTimeout),
        ],
    )
    def test_faults_reach_the_connection(self, fault, error):
        with served() as server:
            server.simulator.command(plan=[fault])
            with pytest.raises(error):
                requests.get(f"{server.url}/balance", headers=AUTHORIZED, timeout=0.5)

    def test_answered_twice(self):
        with served() as server:
            server.simulator.command(plan=["twice"])
            with socket.create_connection(("127.0.0.1", server.port), timeout=5) as connection:
                connection.sendall(f"GET /balance HTTP/1.1\r\nAuthorization: Bearer {KEY}\r\n\r\n".encode())
                received = b""
                while received.count(b"Balances retrieved") < 2:
                    received += connection.recv(65_536)

    def test_one_of_many_equal_transfers_pays(self):
        with served() as server:
            client = Client()
            client.simulator = server.simulator
            body = {
                "source": "balance",
                "amount": 50_000,
                "recipient": client.recipient(),
                "reference": REFERENCE,
            }

            def send(_):
                return requests.post(
                    f"{server.url}/transfer", json=body, headers=AUTHORIZED, timeout=5
                ).status_code

            with ThreadPoolExecutor(8) as threads:
                said = sorted(threads.map(send, range(16)))

        assert said == [200] + [400] * 15
        assert client.books()["paid_out"] == {REFERENCE: 50_000}

    def test_delivers_events(self):
        receiver = HTTPServer(("127.0.0.1", 0), _Receiver)
        receiver.received, receiver.timeout = [], 5
        with served(webhook_url=f"http://127.0.0.1:{receiver.server_port}/hook") as server:
            server.simulator.integration.event("charge.success", {"id": 1})
            receiver.handle_request()
        receiver.server_close()

        assert json.loads(receiver.received[0]) == {"event": "charge.success", "data": {"id": 1}}


class TestCommand:
    def test_unknown_variant(self):
        with pytest.raises(CommandError, match="second_account can be same, refused"):
            call_command("paystack_simulator", "--variant", "second_account=third", stdout=StringIO())

    def test_does_not_run_in_production(self, settings):
        settings.SANDBOX = False

        with pytest.raises(CommandError, match="production"):
            call_command("paystack_simulator", stdout=StringIO())
