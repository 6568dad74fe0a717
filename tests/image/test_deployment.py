"""The service as docker-compose.yml runs it: web, both workers and beat, from the image, in production."""

import hashlib
import hmac
import json
import re

import pytest
import requests

from developer_site.guides.guides import GUIDES
from tests import orders
from tests.faults.processes import wait_until
from tests.image.deployment import PROXY_HEADERS, SERVICES

pytestmark = [pytest.mark.image, pytest.mark.timeout(1_800)]  # seconds; not a limit on speed

PAYMENTS = "/api/payments"
# Prints the rights of process 1, the folders in which this process can create a file, and why it can't in others.
INSPECTION = """
import errno, json, os
status = dict(line.split(":", 1) for line in open("/proc/1/status"))
writable, refused = [], {}
for folder, names, _ in os.walk("/"):
    if folder == "/":
        names[:] = [name for name in names if name not in {"proc", "sys", "dev"}]
    probe = os.path.join(folder, f"probe-of-{os.getuid()}")
    try:
        os.close(os.open(probe, os.O_CREAT | os.O_WRONLY))
    except OSError as problem:
        refused[folder] = errno.errorcode[problem.errno]
    else:
        os.remove(probe)
        writable.append(folder)
print(json.dumps({"status": status, "writable": writable, "refused": refused}))
"""


def pay(deployment, **changes):
    answer = deployment.client.post(PAYMENTS, orders.card_payment(**changes), **PROXY_HEADERS)
    assert answer.status_code == 201, answer.text + deployment.log("web")
    return answer.json()


def webhook_about(deployment, payment):
    """Wait for the webhook about a payment."""

    def arrived():
        return [
            hook
            for hook in deployment.receiver.webhooks
            if json.loads(hook.body)["data"]["id"] == payment["id"]
        ]

    wait_until(arrived, what="the webhook")
    return arrived()[0]


def get(path):
    return requests.get(f"http://127.0.0.1:8000{path}", headers=PROXY_HEADERS, timeout=30)


class TestDeployment:
    @pytest.mark.parametrize("name", SERVICES)
    @pytest.mark.parametrize("user", ["10001", "0"])
    def test_runs_without_rights_on_a_read_only_root(self, deployment, name, user):
        found = json.loads(deployment.execute(name, "python", "-c", INSPECTION, user=user))

        status = {key: value.split() for key, value in found["status"].items()}
        assert status["Uid"] == status["Gid"] == ["10001"] * 4
        assert {int(status[f"Cap{each}"][0], 16) for each in ("Inh", "Prm", "Eff", "Bnd", "Amb")} == {0}
        assert status["NoNewPrivs"] == ["1"]
        assert {path for path in found["writable"] if not path.startswith("/tmp/")} == {"/tmp"}  # noqa: S108
        assert {found["refused"][path] for path in ("/", "/app", "/etc", "/run", "/venv")} == {"EROFS"}

    def test_takes_a_signed_payment_and_sends_a_signed_webhook(self, deployment):
        payment = pay(deployment)

        assert payment["status"] == "success"
        webhook = webhook_about(deployment, payment)
        signature = hmac.new(deployment.hash_key.encode(), webhook.body, hashlib.sha256).hexdigest()
        assert webhook.headers["X-Service-Signature"] == signature
        assert webhook.headers["X-Service-Event"] == "payment.success"

    def test_refuses_a_request_with_another_signature(self, deployment):
        answer = deployment.client.get(PAYMENTS, **PROXY_HEADERS, **{"X-Signature": "0" * 64})

        assert answer.status_code == 401

    def test_queries_an_unknown_outcome(self, deployment):
        """The schedule, the re-query worker and the worker all take part in this."""
        payment = pay(deployment, amount=10_098)
        assert payment["status"] == "pending"

        webhook = webhook_about(deployment, payment)

        assert webhook.headers["X-Service-Event"] == "payment.failed"
        found = deployment.client.get(f"{PAYMENTS}/{payment['reference']}", **PROXY_HEADERS).json()
        assert (found["status"], found["gateway_code"]) == ("failed", "68")

    def test_serves_every_guide_and_its_files(self, deployment):
        for slug in GUIDES:
            page = get(f"/docs/{slug}")
            assert page.status_code == 200, slug
        files = set(re.findall(r'(?:href|src)="(/static/[^"]+)"', page.text))
        assert files
        assert {get(path).status_code for path in files} == {200}

    def test_is_sound_for_the_doctor(self, deployment):
        wait_until(lambda: get("/readyz").json()["status"] == "ok", what="the worker's heartbeat")

        report = json.loads(deployment.execute("web", "sh", "-c", "python manage.py doctor --json || true"))

        assert report["findings"]
        assert [finding for finding in report["findings"] if finding["severity"] == "broken"] == []

    @pytest.mark.parametrize("name", SERVICES)
    def test_stops_in_its_grace_period_and_starts_again(self, deployment, name):
        assert deployment.restart(name) == 0

        payment = pay(deployment)
        assert webhook_about(deployment, payment).headers["X-Service-Event"] == "payment.success"
