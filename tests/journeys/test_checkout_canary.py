"""A card number, its CVV and the secret key go to a simulated Checkout.com, and appear nowhere else."""

import secrets

import pytest

from connectors.checkout.simulator.control.settings import Identity
from connectors.checkout.simulator.server import CheckoutServer
from connectors.checkout.simulator.simulator import Simulator
from kit.text.masking import passes_luhn
from tests import orders
from tests.journeys.service import start_service
from tests.journeys.test_canary import (
    PAYMENTS,
    Canary,
    assert_seen_nowhere,
    text_of_folder,
    text_of_support_bundle,
    traced_by,
    traces_in,
)
from tests.journeys.watched import wait_for
from tests.serving import simulator_serving
from tests.webhooks import servers

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("journey")]

FAULTS = [
    "cut", "half", "garbage", "error 401", "error 422 card_number_invalid", "error_after 502", "error 429",
    "error 409",
]  # fmt: skip


def american_express_number():
    """Return a number whose CVV has four digits, like that of the canary."""
    body = "37" + "".join(secrets.choice("123456789") for _ in range(12))
    return next(body + digit for digit in "0123456789" if passes_luhn(body + digit))


def pay_in_every_way(canary, simulator):
    paid = canary.post(PAYMENTS, canary.payment(customer={"email": "ada@example.com", "reference": "c-1"}))
    assert paid.json()["status"] == "success", paid.text
    challenged = canary.payment(**{"3ds": {"enabled": True, "challenge_preference": "no_preference"}})
    assert canary.post(PAYMENTS, challenged).json()["redirect_link"]
    check = orders.card_check(source=canary.source(type="CARD"))
    assert canary.post(PAYMENTS, check).json()["status"] == "success"
    authorised = canary.payment(capture=False)
    canary.post(PAYMENTS, authorised)
    canary.post(f"{PAYMENTS}/{authorised['reference']}/capture", {"amount": 100})
    canary.post(
        f"{PAYMENTS}/{paid.json()['reference']}/refunds", {"reference": "canary-refund", "amount": 100}
    )
    for fault in FAULTS:
        simulator.plan.add(f"authorise: {fault}")
        canary.post(PAYMENTS, canary.payment())
    canary.service.command("requery_pending")


@pytest.mark.timeout(300)
def test_appears_nowhere_else(tmp_path):
    simulator, identity = Simulator(), Identity()
    account = {
        "CARD_ACQUIRER": "checkout",
        "CHECKOUT_SECRET_KEY": identity.secret_key,
        "CHECKOUT_PROCESSING_CHANNEL": identity.channel,
    }
    with (
        simulator_serving(CheckoutServer(simulator=simulator)) as checkout,
        servers.opened(servers.answering(servers.status(200))) as collector,
        start_service(tmp_path, CHECKOUT_URL=checkout.url, **account, **traced_by(collector)) as service,
    ):
        canary = Canary(service)
        canary.number = american_express_number()
        pay_in_every_way(canary, simulator)

        assert_seen_nowhere(canary)
        wait_for(lambda: b"api/payments" in traces_in(collector), "traces")
        traces = traces_in(collector).decode("latin-1")
        assert canary.hits(traces) == []
        assert len(simulator.account.payments) > 5
        for text in (
            traces, service.log, *canary.answers, text_of_folder(service), text_of_support_bundle(service),
        ):  # fmt: skip
            assert identity.secret_key not in text
