"""Our endpoint receives what the simulators send: signed, late, twice, out of order and forged."""

import json
import random

import pytest

from connectors.checkout.api.references import reference_of
from connectors.checkout.simulator import tables
from connectors.checkout.simulator.control.faults import WebhookFault
from connectors.checkout.simulator.simulator import Simulator
from connectors.models import ProviderEvent
from connectors.protocol import Effect
from connectors.registry import WEBHOOKS
from payments.models import Transaction
from tests.connectors.checkout.client import Client as CheckoutClient
from tests.connectors.paystack import documents
from tests.connectors.paystack.client import LIVE_KEY
from tests.connectors.paystack.client import Client as PaystackClient
from tests.connectors.provider_webhooks import (
    CHECKOUT,
    CHECKOUT_KEY,
    PAYSTACK,
    process,
    send,
)

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("providers")]

Result = ProviderEvent.Result


@pytest.fixture
def posted(client):
    """Return a function that delivers webhooks as a simulator does, and keeps the statuses of our answers."""

    def post(url, headers, body):
        names = {name: value for name, value in headers.items() if name != "Content-Type"}
        answer = client.post(url, body, content_type=headers["Content-Type"], headers=names)
        post.statuses.append(answer.status_code)
        return answer.status_code

    post.statuses = []
    return post


@pytest.fixture
def checkout(settings, posted):
    simulator = Simulator(seed="a test's", sender=posted)
    simulator.outbox.notify(CHECKOUT, CHECKOUT_KEY)
    settings.CHECKOUT_PROCESSING_CHANNEL = simulator.identity.channel
    return CheckoutClient(simulator)


@pytest.fixture
def paystack(settings, posted):
    settings.PAYSTACK_SECRET_KEY = LIVE_KEY
    settings.PAYSTACK_INTEGRATION = "463433"
    client = PaystackClient(key=LIVE_KEY, webhook_url=PAYSTACK)
    client.simulator.integration.outbox._send = posted
    return client


def status_of(row):
    return Transaction.objects.get(pk=row.pk).status


class TestCheckout:
    def test_events_of_a_payment_are_stored_and_lead_to_its_query(self, checkout, payment, posted):
        checkout.paid(reference=reference_of(payment.pk))
        checkout.simulator.deliver()

        process()

        assert status_of(payment) == "success"
        assert set(posted.statuses) == {200}
        assert set(ProviderEvent.objects.values_list("kind", "transaction")) == {
            ("payment_approved", payment.pk),
            ("payment_captured", payment.pk),
        }

    @pytest.mark.parametrize("word", ["forged", "unsigned"])
    def test_forged_events_are_refused(self, checkout, payment, posted, word):
        checkout.simulator.outbox.plan.append(WebhookFault(word))
        checkout.pay(reference=reference_of(payment.pk))
        checkout.simulator.deliver()

        assert posted.statuses.count(401) == 1
        assert ProviderEvent.objects.count() == (1 if word == "forged" else 0)

    def test_event_that_is_sent_twice_is_stored_once(self, checkout, payment, posted):
        checkout.simulator.outbox.plan.append(WebhookFault("twice"))
        checkout.pay(reference=reference_of(payment.pk))
        checkout.simulator.deliver()

        assert posted.statuses == [200, 200]
        assert ProviderEvent.objects.get().times_received == 2

    def test_order_does_not_matter(self, checkout, payment):
        checkout.simulator.outbox.plan.append(WebhookFault("swap"))
        checkout.paid(reference=reference_of(payment.pk))
        checkout.simulator.deliver(shuffle=random.Random(7))

        process()

        assert status_of(payment) == "success"

    def test_event_without_our_reference_is_stored(self, checkout, payment, posted):
        checkout.simulator.outbox.plan.append(WebhookFault("no_reference"))
        checkout.pay(reference=reference_of(payment.pk))
        checkout.simulator.deliver()

        process()

        assert posted.statuses == [200]
        assert ProviderEvent.objects.get().references[0].startswith("pay_")

    def test_payment_in_another_channel_is_not_queried(self, checkout, payment, settings):
        settings.CHECKOUT_PROCESSING_CHANNEL = "pc_of-another-system"
        checkout.pay(reference=reference_of(payment.pk))
        checkout.simulator.deliver()

        process()

        assert status_of(payment) == "pending"
        assert ProviderEvent.objects.get().result == Result.OTHER_ACCOUNT

    def test_nothing_about_the_payer_is_stored(self, checkout, payment):
        checkout.paid(
            reference=reference_of(payment.pk), customer={"email": "ada@example.com", "name": "Ada"}
        )
        checkout.simulator.deliver()

        for event in ProviderEvent.objects.all():
            assert json.loads(bytes(event.body))["data"]["source"] == "hidden"
            assert b"ada" not in bytes(event.body).lower()

    def test_every_kind_is_known(self):
        effect_of = WEBHOOKS["checkout"].effect_of
        of_actions = {kind for kinds in tables.EVENTS_OF_ACTION.values() for kind in kinds}
        others = {"payment_pending", "payment_canceled", "payment_authentication_failed"}

        effects = {kind: effect_of(kind) for kind in of_actions | others}
        assert effects.pop("payment_pending") == Effect.QUERY_UNLESS_WITH_PAYER
        assert {*effects.values()} == {Effect.QUERY}
        assert {effect_of(kind) for kind in ["dispute_received", *tables.EVENT_OF_DISPUTE.values()]} == {
            Effect.DISPUTE
        }


class TestPaystack:
    def test_events_of_a_transfer_are_stored_and_lead_to_its_query(self, paystack, payout, posted):
        paystack.command(script={"transfer": ["success"]})
        paystack.transfer(payout.pk.hex)
        paystack.simulator.deliver()

        process()

        assert status_of(payout) == "success"
        event = ProviderEvent.objects.get()
        assert posted.statuses == [200]
        assert (event.kind, event.transaction, event.account) == ("transfer.success", payout, "463433")

    @pytest.mark.parametrize("signature", ["wrong", "none"])
    def test_forged_events_are_refused(self, paystack, payout, posted, signature):
        paystack.charge()
        reference = paystack.simulator.integration.outbox.events[-1]
        paystack.simulator.deliver()
        kept = ProviderEvent.objects.count()
        paystack.simulator.integration.outbox.forge(reference.name, {"id": 1}, signature=signature)
        paystack.simulator.deliver()

        assert posted.statuses[-1] == 401
        assert ProviderEvent.objects.count() == kept

    def test_replayed_events_change_nothing(self, paystack, payout, posted):
        paystack.command(script={"transfer": ["success"]})
        paystack.transfer(payout.pk.hex)
        paystack.simulator.deliver()
        process()
        paystack.command(replay=True)
        paystack.simulator.deliver()

        assert process() == 0
        assert posted.statuses == [200, 200]
        assert ProviderEvent.objects.get().times_received == 2

    def test_event_of_a_test_environment_is_refused(self, paystack, settings, posted):
        settings.PAYSTACK_SECRET_KEY = "sk_test_of-this-installation"
        settings.PAYSTACK_WEBHOOK_KEYS = [LIVE_KEY]
        paystack.charge()
        paystack.simulator.deliver()

        assert posted.statuses == [400]

    @pytest.mark.skipif(not documents.are_here(), reason=documents.MISSING)
    def test_every_published_event_is_known_and_stored_without_people(self, client):
        published = [
            json.loads(sample.read_text())
            for sample in sorted((documents.FOLDER / "samples").glob("doc.payments.webhooks.events.*.json"))
        ]
        assert published
        for number, sample in enumerate(published):
            document = sample | {"number": number}
            for part in (document["data"], document["data"].get("customer") or {}):
                part.pop("domain", None)
            assert send(client, PAYSTACK, document).status_code == 200

        for event in ProviderEvent.objects.all():
            assert WEBHOOKS["paystack"].effect_of(event.kind) is not Effect.UNKNOWN, event.kind
            for canary in (b"@", b"2348100000000", b"AUTH_", b"*****"):
                assert canary not in bytes(event.body)
