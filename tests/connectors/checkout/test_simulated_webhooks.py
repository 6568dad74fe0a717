import hashlib
import hmac
import json
import random

import pytest

from connectors.checkout.simulator.control.faults import WebhookFault
from payments.simulators.fault_injection import UnknownFault


def plan(simulator, *words):
    simulator.outbox.plan.extend([WebhookFault.read(word) for word in words])


def documents(inbox):
    return [json.loads(body) for _, _, body in inbox.received]


class TestDelivery:
    def test_is_signed_over_the_raw_body(self, client, simulator, inbox):
        client.pay()

        simulator.deliver()

        [(url, headers, body)] = inbox.received
        assert url == "https://merchant.example/webhooks"
        assert headers["Cko-Signature"] == hmac.new(b"webhook-key", body, hashlib.sha256).hexdigest()

    def test_names_payment_action_and_reference(self, client, simulator, inbox):
        made = client.pay(reference="ref", metadata={"sluice": "1"})[1]
        simulator.deliver()

        [event] = documents(inbox)
        data = event["data"]
        assert (event["type"], data["id"], data["action_id"]) == (
            "payment_approved",
            made["id"],
            made["action_id"],
        )
        assert (data["reference"], data["metadata"], data["source"]["last_4"]) == (
            "ref",
            {"sluice": "1"},
            "4242",
        )

    def test_of_a_capture_has_a_timestamp_and_no_links(self, client, simulator, inbox):
        client.paid()
        simulator.deliver()

        captured = documents(inbox)[1]
        assert captured["type"] == "payment_captured"
        assert {"timestamp"} <= captured.keys()
        assert not {"created_on", "_links"} & captured.keys()

    @pytest.mark.parametrize(
        ("call", "codes", "event"),
        [
            ("captures", [], "payment_captured"),
            ("captures", ["20051"], "payment_capture_declined"),
            ("voids", ["20006"], "payment_void_declined"),
            ("voids", [], "payment_voided"),
        ],
    )
    def test_of_operations(self, client, inbox, call, codes, event):
        for kind in ("Capture", "Void"):
            client.simulator.account.decisions[kind].extend(codes)
        payment = client.pay()[1]["id"]
        client.post(f"/payments/{payment}/{call}", {"reference": "op"})
        client.pass_time(1)

        client.simulator.deliver()

        found = documents(inbox)[-1]
        assert (found["type"], found["data"]["reference"]) == (event, "op")

    def test_is_repeated_until_it_is_accepted(self, client, simulator, inbox):
        client.pay()
        inbox.status = 500
        for seconds in (0, 300, 600, 900, 1800, 3600, 14_400, 43_200, 43_200, 10**6):
            client.pass_time(seconds)
            simulator.deliver()

        assert len(inbox.received) == 9
        assert len({body for _, _, body in inbox.received}) == 1


class TestFaults:
    def test_early_comes_before_the_answer(self, client, simulator, inbox):
        plan(simulator, "early")

        client.pay()

        assert len(inbox.received) == 1

    def test_late_comes_later_and_lost_never(self, client, simulator, inbox):
        plan(simulator, "late 60", "lose")
        client.pay()
        client.pay()
        assert simulator.deliver() == []

        client.pass_time(60)
        simulator.deliver()

        assert len(inbox.received) == 1

    def test_twice_repeats_the_event(self, client, simulator, inbox):
        plan(simulator, "twice")
        client.pay()
        simulator.deliver()

        assert inbox.received[0] == inbox.received[1]

    def test_swap_reorders(self, client, simulator, inbox):
        plan(simulator, "swap")
        client.paid()
        simulator.deliver()

        assert [one["type"] for one in documents(inbox)] == ["payment_captured", "payment_approved"]

    def test_swap_without_a_next_one_delays(self, client, simulator, inbox):
        plan(simulator, "swap")
        client.pay()
        assert simulator.deliver() == []

        client.pass_time(60)

        assert len(simulator.deliver()) == 1

    def test_forged_has_a_wrong_signature(self, client, simulator, inbox):
        plan(simulator, "forged")
        client.pay("4544249167673670")
        simulator.deliver()

        (_, _, _), (_, headers, body) = inbox.received
        assert json.loads(body)["type"] == "payment_approved"
        assert headers["Cko-Signature"] != hmac.new(b"webhook-key", body, hashlib.sha256).hexdigest()

    def test_unsigned_and_without_reference(self, client, simulator, inbox):
        plan(simulator, "unsigned", "no_reference")
        client.pay()
        client.pay()
        simulator.deliver()

        assert "Cko-Signature" not in inbox.received[0][1]
        assert "reference" not in documents(inbox)[1]["data"]

    def test_can_be_shuffled(self, client, simulator, inbox):
        for _ in range(10):
            client.pay()

        simulator.deliver(shuffle=random.Random(1))

        in_order = [one.id for one in simulator.outbox.events]
        received = [one["id"] for one in documents(inbox)]
        assert received != in_order
        assert sorted(received) == sorted(in_order)

    def test_unknown_word(self):
        with pytest.raises(UnknownFault):
            WebhookFault.read("explode")
