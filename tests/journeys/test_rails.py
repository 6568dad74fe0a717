"""The whole service with the real connectors: processes of the service, the acquirer and the bank."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from contextlib import ExitStack, contextmanager

import pytest
import requests

from kit.free_ports import free_port
from tests import orders
from tests.journeys.service import PROJECT, start_service, wait_until_open
from tests.journeys.test_canary import new_card_number
from tests.simulators import HTTP_BANK, ISO8583

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("journey")]

PAYMENTS = "/api/payments"


@contextmanager
def simulator(port, *command, stop=signal.SIGTERM, **environment):
    process = subprocess.Popen(
        [sys.executable, "manage.py", *command], cwd=PROJECT, env=os.environ | environment
    )
    try:
        wait_until_open(port, process)
        yield
    finally:
        process.send_signal(stop)
        assert process.wait(timeout=15) == 0


class Rails:
    """The service, and the control ports of the two simulators."""

    def __init__(self, service, control_port, bank_url):
        self.service, self._control_port, self._bank_url = service, control_port, bank_url

    def acquirer(self, **order):
        with socket.create_connection(("127.0.0.1", self._control_port)) as control:
            control.sendall(json.dumps(order).encode() + b"\n")
            return json.loads(control.makefile().readline())

    def bank(self, **order):
        return requests.post(f"{self._bank_url}/control", json=order, timeout=10).json()


@pytest.fixture(scope="module")
def rails(tmp_path_factory):
    port, control_port, bank_port = free_port(), free_port(), free_port()
    key = secrets.token_hex(16)
    with ExitStack() as running:
        ports = ("--port", str(port), "--control-port", str(control_port))
        running.enter_context(simulator(port, "acquirer_simulator", *ports, stop=signal.SIGINT))
        shared = {"BANK_CLIENT_ID": "sluice", "BANK_SECRET_KEY": key}
        running.enter_context(simulator(bank_port, "bank_simulator", "--port", str(bank_port), **shared))
        service = running.enter_context(
            start_service(
                tmp_path_factory.mktemp("rails"),
                CARD_ACQUIRER=ISO8583,
                ACQUIRER_HOST="127.0.0.1",
                ACQUIRER_PORT=str(port),
                ACQUIRER_TLS="False",
                ACQUIRER_TIMEOUT="1",
                ACQUIRER_INSTITUTION_ID="628051",
                ACQUIRER_TERMINAL_ID="SLUICE01",
                ACQUIRER_MERCHANT_ID="SLUICE000000001",
                PAYOUT_BANK=HTTP_BANK,
                BANK_URL=f"http://127.0.0.1:{bank_port}",
                BANK_TIMEOUT="1",
                **shared,
            )
        )
        yield Rails(service, control_port, f"http://127.0.0.1:{bank_port}")


def pay(rails, **changes):
    answer = rails.service.client.post(PAYMENTS, orders.card_payment(**changes))
    assert answer.status_code == 201, answer.text
    return answer.json()


def again(rails, payment):
    return rails.service.client.get(f"{PAYMENTS}/{payment['reference']}").json()


def requery_everything(rails):
    """Query every unknown outcome, as the schedule does after ten seconds."""
    deadline = time.monotonic() + 60
    while "Would query 0" not in rails.service.command("requery_pending", "--dry-run").stdout:
        assert time.monotonic() < deadline
        assert rails.service.command("requery_pending").returncode == 0


class TestRails:
    def test_process_a_payment_in_every_way(self, rails):
        paid = pay(rails)
        authorised = pay(rails, capture=False)
        address = f"{PAYMENTS}/{authorised['reference']}"

        captured = rails.service.client.post(f"{address}/capture", {"amount": 20_000}).json()
        rails.service.client.post(
            f"{address}/refunds", {"reference": orders.new_reference(), "amount": 5_000}
        )

        books = rails.acquirer(books=True)["books"]
        assert (paid["status"], captured["status"]) == ("success", "success")
        assert books[paid["retrieval_reference_number"]]["charged"] == 50_000
        of_second = books[authorised["retrieval_reference_number"]]
        assert of_second == {"charged": 20_000, "reserved": 0, "refunded": 5_000}

    def test_reverse_unanswered_authorisations(self, rails):
        before = rails.acquirer(plan=["swallow"])["books"]

        pending = pay(rails)
        requery_everything(rails)

        payment = again(rails, pending)
        assert (pending["status"], payment["status"], payment["gateway_code"]) == ("pending", "failed", "68")
        after = rails.acquirer(books=True)["books"]
        (new,) = after.keys() - before.keys()
        assert after[new] == {"charged": 0, "reserved": 0, "refunded": 0}

    def test_send_a_payout_once(self, rails):
        rails.bank(plan=["swallow", "cut"])
        payout = rails.service.client.post(PAYMENTS, orders.payout()).json()
        requery_everything(rails)

        assert (payout["status"], again(rails, payout)["status"]) == ("pending", "success")
        assert rails.bank()["paid"][payout["id"].replace("-", "")] == 250_000

    def test_recover_after_the_acquirer_was_disconnected(self, rails):
        rails.acquirer(hang_up=True)
        time.sleep(1)

        assert pay(rails)["status"] == "success"

    def test_store_no_card_number_anywhere(self, rails):
        number = new_card_number()
        source = orders.card_source(pan=number, cvv="8263")
        rails.acquirer(plan=["answer", "swallow", "garbage", "half", "twice"])

        for _ in range(5):
            time.sleep(0.5)  # it reconnects after garbage
            rails.service.client.post(PAYMENTS, orders.card_payment(source=source))
        requery_everything(rails)

        files = [path for path in rails.service.folder.rglob("*") if path.is_file()]
        assert "connection to the acquirer ended" in rails.service.log
        assert [path for path in files if number.encode() in path.read_bytes()] == []
        assert number not in json.dumps(rails.acquirer(books=True))


class TestSimulatorCommands:
    @pytest.mark.parametrize("command", ["acquirer_simulator", "bank_simulator", "checkout_simulator"])
    def test_have_help_texts(self, command):
        shown = subprocess.run(
            [sys.executable, "manage.py", command, "--help"],
            cwd=PROJECT, capture_output=True, text=True, check=True, timeout=60,
        )  # fmt: skip

        assert f"Example: manage.py {command}" in " ".join(shown.stdout.split())

    @pytest.mark.parametrize("command", ["acquirer_simulator", "bank_simulator", "checkout_simulator"])
    def test_report_a_port_that_is_in_use(self, command):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            refused = subprocess.run(
                [sys.executable, "manage.py", command, "--port", str(taken.getsockname()[1])],
                cwd=PROJECT, capture_output=True, text=True, check=False, timeout=60,
            )  # fmt: skip

        assert refused.returncode == 1
        assert "The port cannot be used" in refused.stderr
