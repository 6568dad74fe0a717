import json
import os
import re
import shlex
import stat
import subprocess
import sys
import time
from urllib.parse import urlsplit

import pytest
import requests

from kit.free_ports import free_port
from tests import orders
from tests.journeys.service import PROJECT, start_service

pytestmark = [
    pytest.mark.journey,
    pytest.mark.long,
    pytest.mark.sqlite,
    pytest.mark.xdist_group("journey"),
    pytest.mark.skipif(bool(os.environ.get("DATABASE_URL")), reason="the embedded service is SQLite's"),
]

VISA = orders.card_source(pan="4242424242424242", cvv="100")


class TestSandbox:
    def test_keeps_its_data_and_keys_over_a_restart(self, tmp_path):
        order = orders.card_payment()

        with start_service(tmp_path) as first:
            first.client.post("/api/payments", order)
        with start_service(tmp_path) as second:
            found = second.client.get(f"/api/payments/{order['reference']}")

        assert found.json()["status"] == "success"
        assert second.credentials == first.credentials

    def test_has_files_readable_by_their_owner_only(self, service):
        modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in service.folder.iterdir()}

        assert {name: mode for name, mode in modes.items() if mode != 0o600} == {
            "service.log": modes["service.log"]  # created by the test
        }
        assert {"credentials.json", "keys.json", "db.sqlite3"} <= set(modes)

    def test_writes_the_credentials_to_a_file(self, service):
        document = json.loads((service.folder / "credentials.json").read_text())

        assert set(document) >= {
            "base_url", "business", "api_key", "secret_key", "dashboard_url", "email", "password",
            "admin_url", "admin_email", "admin_password",
        }  # fmt: skip
        assert all(document.values())

    def test_prints_a_curl_line_that_works_when_pasted(self, tmp_path):
        with start_service(tmp_path) as running:
            (line,) = re.findall(r"^curl .*$", running.log, re.MULTILINE)
            pasted = subprocess.run(shlex.split(line), capture_output=True, text=True, check=True, timeout=30)

        assert json.loads(pasted.stdout)["status"] == "success"

    def test_prints_the_settings_of_a_client(self, service):
        (line,) = re.findall(r"^export SLUICE_.*$", service.log, re.MULTILINE)
        names = ("base_url", "api_key", "secret_key")

        shown = subprocess.run(
            ["bash", "-c", f"{line}; printenv {' '.join(f'SLUICE_{name.upper()}' for name in names)}"],
            capture_output=True, text=True, check=True, timeout=30,
        )  # fmt: skip

        keys = json.loads((service.folder / "credentials.json").read_text())
        assert shown.stdout.split() == [keys[name] for name in names]

    def test_prints_a_payment_link_that_can_be_paid(self, service):
        (address,) = re.findall(r"^  pay here +(\S+)", service.log, re.MULTILINE)

        page = requests.get(address, timeout=30)

        assert (page.status_code, "Demo Business" in page.text) == (200, True)

    def test_runs_scheduled_tasks(self, service):
        order = orders.card_payment(amount=10_098)
        first = service.client.post("/api/payments", order).json()

        deadline = time.monotonic() + 40
        while time.monotonic() < deadline:
            payment = service.client.get(f"/api/payments/{order['reference']}").json()
            if payment["status"] != "pending":
                break
            time.sleep(0.5)

        assert (first["status"], payment["status"]) == ("pending", "success")

    def test_shares_its_address_with_other_commands(self, service):
        environment = {name: value for name, value in service.environment.items() if name != "PUBLIC_URL"}

        made = subprocess.run(
            [
                sys.executable, "manage.py", "create_business",
                "--name", "Shop", "--email", f"{orders.new_reference()}@example.com", "--json",
            ],
            cwd=PROJECT,
            env=environment,
            capture_output=True,
            text=True,
            check=True,
            timeout=60,
        )  # fmt: skip

        assert json.loads(made.stdout)["base_url"] == service.base_url

    def test_explains_what_to_do_if_its_port_is_in_use(self, service, tmp_path):
        port = service.base_url.rpartition(":")[2]

        refused = subprocess.run(
            [sys.executable, "manage.py", "sandbox", "--port", port, "--data", str(tmp_path)],
            cwd=PROJECT,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

        assert refused.returncode == 1
        assert f"Port {port} is taken. Choose another: --port" in refused.stderr


class TestAdvance:
    def test_walks_a_refused_event_to_its_end(self, service):
        """Each call waits for its attempt, so a loop without pauses is enough."""
        client = service.open_business("walker")
        arguments = ("--business", "walker", "--url", "http://127.0.0.1:9/hook", "--events", "payment")
        assert service.command("configure_webhook", *arguments).returncode == 0
        client.post("/api/payments", orders.card_payment())
        event = first_failure(client)

        answers = [client.post("/api/sandbox/advance", {"event": event}) for _ in range(8)]

        assert [answer.status_code for answer in answers] == [200] * 7 + [409]
        assert [answer.json()["attempts_made"] for answer in answers[:7]] == list(range(2, 9))
        assert answers[6].json()["state"] == "dead"


def first_failure(client):
    """Return the id of the only event, once its first attempt has failed."""
    for _ in range(100):
        found = client.get("/api/events").json()["data"]
        if found and found[0]["attempts_made"]:
            return found[0]["event_id"]
        time.sleep(0.1)
    pytest.fail("The first attempt was not made.")


class TestRailsOfProviders:
    @pytest.fixture(scope="class")
    @classmethod
    def on_providers(cls, tmp_path_factory):
        with start_service(tmp_path_factory.mktemp("providers"), "--rails", "checkout,paystack") as running:
            yield running

    def test_lead_the_payer_to_the_provider_and_back(self, on_providers):
        client = on_providers.client
        order = orders.card_payment(source=VISA) | {"3ds": {"enabled": True}}
        page = client.post("/api/payments", order).json()["redirect_link"]

        bank = requests.get(page, timeout=30)
        back = requests.post(
            bank.url, data={"password": "Checkout1!", "result": "approve"}, timeout=30, allow_redirects=False
        )
        returned = requests.get(back.headers["Location"], timeout=30, allow_redirects=False)

        assert urlsplit(bank.url).netloc != urlsplit(page).netloc
        assert returned.headers["Location"].startswith(order["redirect_url"])
        assert client.get(f"/api/payments/{order['reference']}").json()["status"] == "success"

    def test_answer_a_capture_with_its_outcome(self, on_providers):
        client = on_providers.client
        order = orders.card_payment(source=VISA, capture=False)
        client.post("/api/payments", order)

        captured = client.post(f"/api/payments/{order['reference']}/capture", {})

        assert (captured.status_code, captured.json()["status"]) == (200, "success")

    def test_pay_out(self, on_providers):
        client = on_providers.client
        order = orders.payout()

        answer = client.post("/api/payments", order)

        assert (answer.status_code, answer.json()["status"]) == (201, "success")

    def test_must_be_known(self, tmp_path):
        command = [
            sys.executable,
            "manage.py",
            "sandbox",
            "--data",
            str(tmp_path),
            "--port",
            str(free_port()),
        ]

        refused = subprocess.run(
            [*command, "--rails", "stripe"], cwd=PROJECT, capture_output=True, text=True, check=False
        )

        assert refused.returncode == 2
        assert "--rails may have checkout, paystack" in refused.stderr
