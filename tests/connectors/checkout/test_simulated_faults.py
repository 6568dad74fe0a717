import pytest

from connectors.checkout.simulator.control.faults import CallFault
from connectors.checkout.simulator.simulator import AnswerCut, AnswerLost
from payments.simulators.fault_injection import UnknownFault


def made(simulator):
    return len(simulator.books()["payments"])


class TestIdempotencyKey:
    def test_replays_a_success_and_a_decline(self, client, simulator):
        for card, key in [("4242424242424242", "a"), ("4544249167673670", "b")]:
            assert client.pay(card, key=key) == client.pay(card, key=key)

        assert made(simulator) == 2

    def test_replays_a_redirect_and_an_accepted_capture(self, client):
        payment = client.pay()[1]["id"]

        first, again = (
            client.post(f"/payments/{payment}/captures", {"amount": 1}, key="c")[1] for _ in range(2)
        )

        assert first == again

    def test_keeps_no_error(self, client, simulator):
        simulator.plan.add("error 422 currency_invalid")

        assert [client.pay(key="a")[0] for _ in range(2)] == [422, 201]

    def test_ends_after_a_day_and_then_pays_again(self, client, simulator):
        client.pay(key="a")
        client.pass_time(24 * 3600)
        client.pay(key="a")

        assert made(simulator) == 2

    def test_does_not_protect_after_a_5xx_that_had_an_effect(self, client, simulator):
        simulator.plan.add("error_after 502")

        assert [client.pay(key="a")[0] for _ in range(2)] == [502, 201]
        assert made(simulator) == 2

    def test_with_another_body(self, client, simulator):
        first = client.pay(amount=100, key="a")

        assert client.pay(amount=200, key="a") == first
        simulator.account.variants.change({"key_with_other_body": "refused"})
        assert client.pay(amount=200, key="a")[0] == 422

    @pytest.mark.parametrize(
        ("variant", "error"), [("409", (409, ["conflict"])), ("429", (429, ["duplicate_request"]))]
    )
    def test_of_a_call_that_still_runs(self, client, simulator, variant, error):
        simulator.account.variants.change({"key_in_flight": variant})
        simulator.plan.add("delay 20")
        with pytest.raises(AnswerLost):
            client.pay(key="a")

        status, refused = client.pay(key="a")

        assert (status, refused["error_codes"]) == error
        client.pass_time(20)
        assert client.pay(key="a")[0] == 201
        assert made(simulator) == 1

    def test_is_one_namespace_or_one_per_call(self, client, simulator):
        payment = client.pay(key="a")[1]
        assert client.post(f"/payments/{payment['id']}/captures", key="a") == (201, payment)

        simulator.account.variants.change({"key_scope": "call"})
        assert client.post(f"/payments/{payment['id']}/captures", key="a")[0] == 202


class TestLostAnswers:
    @pytest.mark.parametrize(
        ("word", "error", "payments"),
        [
            ("swallow", AnswerLost, 1),
            ("lose", AnswerLost, 0),
            ("delay 10", AnswerLost, 1),
            ("cut", AnswerCut, 1),
            ("lose_and_cut", AnswerCut, 0),
            ("half", AnswerCut, 1),
        ],
    )
    def test_execute_the_call_or_not(self, client, simulator, word, error, payments):
        simulator.plan.add(word)

        with pytest.raises(error):
            client.pay(key="a")

        assert made(simulator) == payments
        assert client.pay(key="a")[0] in {201, 409}

    def test_call_that_arrives_late_is_executed_then(self, client, simulator):
        simulator.plan.add("arrive_late 30")
        with pytest.raises(AnswerLost):
            client.pay(reference="late")
        assert client.get("/payments?reference=late")[1]["total_count"] == 0

        client.pass_time(30)

        assert client.get("/payments?reference=late")[1]["total_count"] == 1

    def test_repeat_that_overtakes_the_late_call_is_the_only_payment(self, client, simulator):
        simulator.plan.add("arrive_late 30")
        with pytest.raises(AnswerLost):
            client.pay(key="a")

        assert client.pay(key="a")[0] == 201
        client.pass_time(30)
        assert made(simulator) == 1

    def test_garbage_is_no_json(self, simulator, client):
        simulator.plan.add("garbage")

        with pytest.raises(ValueError, match="Expecting value"):
            client.pay()

    def test_payment_can_be_made_twice(self, client, simulator):
        simulator.plan.add("duplicate")
        client.pay(reference="twice")

        assert client.get("/payments?reference=twice")[1]["total_count"] == 2

    def test_fault_waits_for_its_operation(self, client, simulator):
        simulator.plan.add("captures: error_after 503", "list_payments: error 429")

        payment = client.pay()[1]["id"]

        assert client.get("/payments?reference=x")[1]["error_codes"] == ["too_many_requests"]
        assert client.post(f"/payments/{payment}/captures")[0] == 503
        assert len(simulator.plan) == 0

    @pytest.mark.parametrize(
        "word", ["", "explode", "error", "error many", "hide", "drip 1", "delay long", "fail 500", "repeat"]
    )
    def test_unknown_fault(self, word):
        with pytest.raises(UnknownFault):
            CallFault.read(word)

    def test_retry_after_is_a_variant(self, client, simulator):
        simulator.account.variants.change({"retry_after": "present"})
        simulator.plan.add("error 429")
        headers = {"Authorization": f"Bearer {simulator.identity.secret_key}"}

        assert simulator.handle("GET", "/payments?reference=x", headers, b"").headers["Retry-After"] == "1"
