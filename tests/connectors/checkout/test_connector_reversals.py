"""Taking an authorisation back by void or refund, step by step."""

import random
from contextlib import suppress
from dataclasses import replace

import pytest

from payments.rails.protocol import AnswerLost, NoRecord
from tests.connectors.checkout.connecting import SECURE, card, connected, order

LONGEST = 40  # calls


@pytest.fixture
def connection(settings, simulator):
    return connected(settings, simulator)


@pytest.fixture
def acquirer(connection):
    return connection[0]


def reverse(acquirer, simulator, made, *, pause=2):
    """Call until it is confirmed, and return how often that was."""
    for count in range(1, LONGEST):
        try:
            acquirer.reverse(made, is_repeat=count > 1)
        except AnswerLost:
            simulator.clock.advance(pause)
        else:
            return count
    raise AssertionError("It was never confirmed.")


def left(simulator):
    """Return what is reserved and charged at Checkout.com, refunds deducted."""
    simulator.tick()
    books = simulator.books()["payments"].values()
    return sum(each["reserved"] for each in books), sum(each["charged"] - each["refunded"] for each in books)


def authorised(acquirer, simulator, *, capture, is_known=True):
    made = order(capture=capture)
    answer = acquirer.authorise(made, card=card())
    return replace(made, acquirer_reference=answer.acquirer_reference) if is_known else made


@pytest.mark.parametrize("is_known", [True, False])
class TestReverse:
    def test_voids_an_authorisation(self, acquirer, simulator, is_known):
        made = authorised(acquirer, simulator, capture=False, is_known=is_known)

        assert reverse(acquirer, simulator, made) == 2

        assert left(simulator) == (0, 0)

    def test_refunds_a_captured_payment(self, acquirer, simulator, is_known):
        made = authorised(acquirer, simulator, capture=True, is_known=is_known)
        simulator.clock.advance(2)

        assert reverse(acquirer, simulator, made) == 2

        assert left(simulator) == (0, 0)

    def test_refunds_what_a_capture_took_before_the_void(self, acquirer, simulator, is_known):
        simulator.account.delays.change({"operation": 5})
        made = authorised(acquirer, simulator, capture=True, is_known=is_known)

        reverse(acquirer, simulator, made, pause=1)

        assert left(simulator) == (0, 0)

    @pytest.mark.parametrize("status", ["declined", "voided", "expired"])
    def test_is_done_where_nothing_is_left(self, connection, acquirer, simulator, is_known, status):
        simulator.account.decisions["Authorization"].extend(["20005"] if status == "declined" else [])
        made = authorised(acquirer, simulator, capture=False, is_known=is_known)
        if status == "voided":
            reverse(acquirer, simulator, made)
        simulator.clock.advance(8 * 24 * 3600 if status == "expired" else 0)
        connection[1].sent.clear()

        acquirer.reverse(made, is_repeat=False)

        assert not any(call.startswith("POST") for call in connection[1].calls())


class TestSteps:
    def test_declined_void_is_ordered_again(self, acquirer, simulator):
        simulator.account.decisions["Void"].extend(["20006", "20006"])
        made = authorised(acquirer, simulator, capture=False)

        reverse(acquirer, simulator, made)

        assert left(simulator) == (0, 0)

    def test_accepted_step_is_not_ordered_twice(self, acquirer, simulator):
        simulator.account.delays.change({"operation": 600})
        made = authorised(acquirer, simulator, capture=True)
        simulator.clock.advance(2)

        reverse(acquirer, simulator, made, pause=100)

        [payment] = simulator.account.payments.values()
        assert [action.type for action in payment.actions].count("Refund") == 1

    def test_partial_refund_before_leaves_the_rest_to_refund(self, acquirer, simulator, client):
        made = authorised(acquirer, simulator, capture=True)
        simulator.clock.advance(2)
        client.post(f"/payments/{made.acquirer_reference}/refunds", {"amount": 3_000})
        simulator.clock.advance(2)

        reverse(acquirer, simulator, made)

        assert left(simulator) == (0, 0)

    def test_part_that_was_approved_is_voided(self, acquirer, simulator):
        simulator.account.decisions["Authorization"].append("10010")
        made = authorised(acquirer, simulator, capture=False)

        reverse(acquirer, simulator, replace(made, is_partly_approved=True))

        assert left(simulator) == (0, 0)

    def test_waits_for_a_payer_and_reverses_the_approval(self, acquirer, simulator, client):
        made = order(three_ds=SECURE)
        asked = acquirer.authorise(made, card=card())
        made = replace(made, acquirer_reference=asked.acquirer_reference)
        with pytest.raises(AnswerLost):
            acquirer.reverse(made, is_repeat=False)

        client.payer(asked.action.url, result="approve", password="Checkout1!")
        reverse(acquirer, simulator, made)

        assert left(simulator) == (0, 0)

    def test_every_payment_of_the_reference_is_reversed(self, acquirer, simulator):
        simulator.plan.add("authorise: duplicate")
        made = authorised(acquirer, simulator, capture=False)

        reverse(acquirer, simulator, made)

        assert len(simulator.books()["payments"]) == 2
        assert left(simulator) == (0, 0)

    def test_without_a_record_confirms_nothing(self, acquirer):
        for made in (order(), order(is_partly_approved=True)):
            with pytest.raises(NoRecord):
                acquirer.reverse(made, is_repeat=False)

    @pytest.mark.parametrize(
        "fault", ["swallow", "lose", "error_after 502", "error 503", "error 429", "garbage"]
    )
    @pytest.mark.parametrize("call", ["list_payments", "get_actions", "voids"])
    def test_survives_a_fault_of_each_call(self, acquirer, simulator, call, fault):
        made = authorised(acquirer, simulator, capture=False)
        simulator.plan.add(f"{call}: {fault}")

        reverse(acquirer, simulator, made)

        assert left(simulator) == (0, 0)

    def test_survives_faults_at_random(self, settings, simulator):
        words = [
            "swallow",
            "lose",
            "cut",
            "error 500",
            "error_after 502",
            "error 429",
            "garbage",
            "hide 3",
            "answer",
        ]
        for seed in range(40):
            chance = random.Random(seed)
            acquirer, _ = connected(settings, simulator)
            simulator.plan.add(*(chance.choice(words) for _ in range(8)))
            made = order(capture=chance.random() < 0.5)
            with suppress(AnswerLost):
                acquirer.authorise(made, card=card())

            for _ in range(LONGEST):
                with suppress(AnswerLost):
                    acquirer.reverse(made, is_repeat=False)
                simulator.clock.advance(chance.choice([0, 1, 5]))

            assert left(simulator) == (0, 0), seed
        assert len(simulator.account.payments) > 20
