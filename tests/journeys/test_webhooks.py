import hashlib
import hmac
import json
import os
from collections.abc import Iterator

import pytest

from tests import orders
from tests.clients import HttpClient
from tests.journeys.service import Service
from tests.receiver import Receiver, running_receiver

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("journey")]


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running_receiver() as running:
        yield running


def subscribe(service: Service, business: str, url: str, *options: str) -> dict:
    made = service.command(
        "configure_webhook",
        "--business",
        business,
        "--url",
        url,
        "--events",
        "payment,payout",
        "--json",
        *options,
    )
    assert made.returncode == 0, made.stderr
    return json.loads(made.stdout)


def deliver(service: Service) -> None:
    """Send due deliveries. On PostgreSQL no worker is running; the embedded service has its own."""
    if os.environ.get("DATABASE_URL"):
        assert service.command("deliver_webhooks", "--once").returncode == 0


@pytest.fixture
def shop(service: Service) -> tuple[HttpClient, str]:
    name = orders.new_reference("shop")
    return service.open_business(name), name


class TestWebhooks:
    def test_every_outcome_arrives_signed(self, service, shop, receiver):
        client, name = shop
        key = subscribe(service, name, receiver.url)["hash_key"]

        paid = client.post("/api/payments", orders.card_payment(amount=20_000)).json()
        declined = client.post("/api/payments", orders.card_payment(amount=20_051)).json()
        sent = client.post("/api/payments", orders.payout(amount=20_000)).json()
        refused = client.post("/api/payments", orders.payout(amount=20_051)).json()
        client.post("/api/payments", orders.card_check())
        deliver(service)

        arrived = receiver.wait_for(4)
        events = {json.loads(one.body)["data"]["id"]: json.loads(one.body)["event"] for one in arrived}
        assert events == {
            paid["id"]: "payment.success",
            declined["id"]: "payment.failed",
            sent["id"]: "payout.success",
            refused["id"]: "payout.failed",
        }
        for one in arrived:
            document = json.loads(one.body)
            signature = hmac.new(key.encode(), one.body, hashlib.sha256).hexdigest()
            assert one.headers["X-Service-Signature"] == signature
            assert one.headers["X-Service-Idempotency-Key"] == document["id"] == document["event_id"]
            assert one.headers["X-Service-Attempt"] == "1"
            found = client.get(f"/api/payments/{document['data']['reference']}").json()
            assert document["data"] == found

    def test_authorisation_is_notified_only_when_it_ends(self, service, shop, receiver):
        client, name = shop
        subscribe(service, name, receiver.url)
        order = orders.card_payment(amount=20_000, capture=False)

        client.post("/api/payments", order)
        client.post(f"/api/payments/{order['reference']}/capture", {"amount": 15_000})
        deliver(service)

        (arrived,) = receiver.wait_for(1)
        data = json.loads(arrived.body)["data"]
        assert (data["status"], data["total_amount_captured"]) == ("success", 15_000)

    def test_delivery_is_held_while_disabled(self, service, shop, receiver):
        client, name = shop
        subscribe(service, name, receiver.url, "--disable")

        client.post("/api/payments", orders.card_payment(amount=20_000))
        deliver(service)
        arrived_while_off = list(receiver.received)
        subscribe(service, name, receiver.url)
        deliver(service)

        assert arrived_while_off == []
        (arrived,) = receiver.wait_for(1)
        assert arrived.headers["X-Service-Attempt"] == "1"

    def test_delivery_is_replayed_with_the_same_body_and_the_current_key(self, service, shop, receiver):
        client, name = shop
        subscribe(service, name, receiver.url)
        client.post("/api/payments", orders.card_payment(amount=20_000))
        deliver(service)
        receiver.wait_for(1)

        rotated = json.loads(service.command("rotate_hash_key", "--business", name, "--json").stdout)
        replayed = service.command("replay_webhooks", "--business", name, "--state", "delivered")
        deliver(service)

        first, again = receiver.wait_for(2)
        assert replayed.returncode == 0, replayed.stderr
        assert again.body == first.body
        signature = hmac.new(rotated["hash_key"].encode(), again.body, hashlib.sha256).hexdigest()
        assert again.headers["X-Service-Signature"] == signature
