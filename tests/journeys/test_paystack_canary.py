"""A card number and its CVV, the secret key and a key of webhooks go to a simulated Paystack, and appear nowhere else."""

import secrets

import pytest

from config.runtime import simulated_providers
from connectors.paystack.simulator.integration import Settings
from connectors.paystack.simulator.server import Server
from connectors.paystack.simulator.simulator import Simulator
from tests import orders
from tests.journeys.service import start_service
from tests.journeys.test_canary import (
    PAYMENTS,
    Canary,
    assert_seen_nowhere,
    text_of_database,
    text_of_folder,
    text_of_support_bundle,
    traced_by,
    traces_in,
)
from tests.journeys.watched import wait_for
from tests.serving import simulator_serving
from tests.webhooks import servers

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("journey")]

ACCOUNTS, EVENTS = "/api/virtual-accounts", "/connectors/paystack"
# The last one stops further calls.
FAULTS = ["cut", "garbage", "refuse 400", "fail 502", "refuse 401"]
CALLS = ["POST /charge", "POST /transfer", "POST /customer"]


def use_everything(canary):
    """Pay by card, pay out, and open an account and a session."""
    canary.post(PAYMENTS, canary.payment())
    canary.post(PAYMENTS, orders.payout(amount=20_000))
    canary.post(ACCOUNTS, orders.static_account())
    dynamic = canary.post(ACCOUNTS, orders.dynamic_account())
    if dynamic.status_code == 201:
        canary.post(PAYMENTS, orders.transfer_payment(dynamic.json()["id"]))
    canary.send("GET", "/api/banks/resolve?bank_code=058&account_number=0123456789")


@pytest.mark.timeout(300)
def test_appears_nowhere_else(tmp_path):
    key, of_webhooks = f"sk_test_{secrets.token_hex(20)}", f"sk_test_{secrets.token_hex(20)}"
    simulator = Simulator(Settings(secret_key=key))
    with (
        simulator_serving(Server(simulator)) as paystack,
        servers.opened(servers.answering(servers.status(200))) as collector,
        start_service(
            tmp_path,
            **simulated_providers.environment_for(["paystack"])
            | {"PAYSTACK_URL": paystack.url, "PAYSTACK_SECRET_KEY": key, "PAYSTACK_WEBHOOK_KEYS": of_webhooks}
            | {"PAYSTACK_CARDS": "direct", "PAYSTACK_TIMEOUT": "1"},
            **traced_by(collector),
        ) as service,
    ):
        canary = Canary(service)
        simulator.integration.outbox.url = f"{service.base_url}{EVENTS}"
        use_everything(canary)
        for fault in FAULTS:
            for call in CALLS:
                simulator.command(plan=[f"{call}: {fault}"])
            use_everything(canary)
        canary.send("POST", EVENTS, b'{"event": "charge.success"}', **{"X-Paystack-Signature": of_webhooks})
        canary.service.command("requery_pending")

        wait_for(lambda: b"connectors/paystack" in traces_in(collector), "traces")
        assert simulator.calls["POST /charge"] > len(FAULTS) / 2
        assert simulator.calls["POST /transfer"] > len(FAULTS) / 2
        assert simulator.integration.outbox.events
        assert_seen_nowhere(canary)
        traces = traces_in(collector).decode("latin-1")
        assert canary.hits(traces) == []
        on_postgresql = bool(service.environment.get("DATABASE_URL"))
        for text in (
            traces, service.log, *canary.answers, text_of_folder(service), text_of_support_bundle(service),
            text_of_database(service) if on_postgresql else "",
        ):  # fmt: skip
            assert key not in text
            assert of_webhooks not in text
