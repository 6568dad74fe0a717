"""Captures, voids and refunds: accepted, decided later, found again after a lost answer."""

from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

import pytest

from connectors.checkout.api import answers
from connectors.checkout.api.references import reference_of
from connectors.checkout.cards import REFUND_REPEATED_FROM, REPEATED_FROM, REPEATED_UNTIL
from payments.rails.protocol import AnswerLost, RailBlocked
from tests.connectors.checkout.connecting import card, connected, operation, order

KINDS = ["capture", "void", "refund"]
CALLS = {"capture": "captures", "void": "voids", "refund": "refunds"}


# From which a capture, void or refund that isn't listed is sent again.
AGE = {"capture": REPEATED_FROM, "void": REPEATED_FROM, "refund": REFUND_REPEATED_FROM}


@pytest.fixture
def connection(settings, simulator):
    return connected(settings, simulator)


@pytest.fixture
def acquirer(connection):
    return connection[0]


@pytest.fixture
def authorise(acquirer, simulator):
    def make(kind="capture", **more):
        """Return the order of a payment that an operation of this kind can be of."""
        made = order(capture=kind == "refund", **more)
        answer = acquirer.authorise(made, card=card())
        simulator.clock.advance(2)
        simulator.tick()
        return replace(made, acquirer_reference=answer.acquirer_reference)

    return make


def books(simulator):
    [payment] = simulator.books()["payments"].values()
    return payment


def older(asked, age):
    return replace(asked, created_at=asked.created_at - age)


@pytest.mark.parametrize("kind", KINDS)
class TestEachKind:
    @pytest.mark.parametrize("variant", ["hidden", "listed"])
    def test_is_accepted_and_then_approved(self, acquirer, simulator, authorise, kind, variant):
        simulator.account.variants.change({"undecided_action": variant})
        made, asked = authorise(kind), operation(kind)

        accepted = acquirer.operate(made, asked)
        asked = replace(asked, acquirer_reference=accepted.acquirer_reference)
        soon = acquirer.query_operation(made, asked)
        simulator.clock.advance(2)
        later = acquirer.query_operation(made, asked)

        assert accepted.acquirer_reference.startswith("act_")
        assert not accepted.is_definite
        assert not soon.is_definite
        assert (later.outcome.code, later.outcome.gateway_code) == ("10000", "10000")
        assert later.acquirer_reference == accepted.acquirer_reference
        assert later.acquirer_transaction_id

    def test_is_found_by_our_reference(self, acquirer, simulator, authorise, kind):
        made, asked = authorise(kind), operation(kind)
        acquirer.operate(made, asked)
        simulator.clock.advance(2)

        assert acquirer.query_operation(made, asked).outcome.is_success

    def test_is_declined_with_their_code(self, acquirer, simulator, authorise, kind):
        made, asked = authorise(kind), operation(kind)
        simulator.account.decisions[kind.capitalize()].append("20051")
        acquirer.operate(made, asked)
        simulator.clock.advance(2)

        outcome = acquirer.query_operation(made, asked).outcome

        assert (outcome.code, outcome.gateway_code) == ("20051", "20051")

    @pytest.mark.parametrize("fault", ["error_after 502", "garbage", "swallow", "cut", "half"])
    def test_lost_answer_is_looked_up(self, acquirer, simulator, authorise, kind, fault):
        made, asked = authorise(kind), operation(kind)
        simulator.plan.add(f"{CALLS[kind]}: {fault}")
        with pytest.raises(AnswerLost):
            acquirer.operate(made, asked)
        simulator.clock.advance(2)

        assert acquirer.query_operation(made, asked).outcome.is_success

    @pytest.mark.parametrize("fault", ["error 503", "lose", "lose_and_cut"])
    def test_that_never_arrived_is_sent_again_when_it_would_be_listed(
        self, acquirer, simulator, authorise, kind, fault
    ):
        made, asked = authorise(kind), operation(kind)
        simulator.plan.add(f"{CALLS[kind]}: {fault}")
        with pytest.raises(AnswerLost):
            acquirer.operate(made, asked)
        with pytest.raises(AnswerLost):
            acquirer.query_operation(made, asked)

        again = acquirer.query_operation(made, older(asked, AGE[asked.kind]))
        simulator.clock.advance(2)

        assert again.acquirer_reference
        assert acquirer.query_operation(made, asked).outcome.is_success

    def test_that_never_arrived_is_not_sent_after_the_key_has_ended(
        self, connection, acquirer, authorise, kind
    ):
        made, asked = authorise(kind), older(operation(kind), REPEATED_UNTIL)

        with pytest.raises(AnswerLost):
            acquirer.query_operation(made, asked)

        assert f"POST {CALLS[kind]}" not in connection[1].calls()

    def test_of_a_payment_that_is_over_is_refused_unless_it_is_a_void(
        self, acquirer, simulator, authorise, kind
    ):
        made = authorise(kind)
        acquirer.operate(made, operation("refund" if kind == "refund" else "void"))
        simulator.clock.advance(2)

        outcome = acquirer.operate(made, operation(kind)).outcome

        assert (outcome.code, outcome.gateway_code) == ("10000" if kind == "void" else "20030", "")

    def test_of_a_payment_that_is_not_visible_is_unknown(self, acquirer, simulator, authorise, kind):
        made = authorise(kind)
        simulator.plan.add(f"{CALLS[kind]}: error 404")

        with pytest.raises(AnswerLost):
            acquirer.operate(made, operation(kind))

    def test_fault_of_our_account_blocks_the_rail(self, acquirer, simulator, authorise, kind):
        made = authorise(kind)
        simulator.plan.add(f"{CALLS[kind]}: error 401")

        with pytest.raises(RailBlocked):
            acquirer.operate(made, operation(kind))

    def test_fault_of_our_account_at_a_repeat_does_not_say_that_nothing_happened(
        self, acquirer, simulator, authorise, kind
    ):
        made = authorise(kind)
        simulator.plan.add(f"{CALLS[kind]}: error 401")

        with pytest.raises(AnswerLost) as lost:
            acquirer.query_operation(made, older(operation(kind), AGE[kind]))

        assert not isinstance(lost.value, RailBlocked)


class TestCapture:
    def test_of_a_part_releases_the_rest(self, acquirer, simulator, authorise):
        made = authorise()

        acquirer.operate(made, operation("capture", 4_000))
        simulator.clock.advance(2)

        assert books(simulator) | {"charged": 4_000, "voided": 6_000, "reserved": 0} == books(simulator)

    def test_of_more_than_authorised_is_refused(self, acquirer, authorise):
        outcome = acquirer.operate(authorise(), operation("capture", 20_000)).outcome

        assert (outcome.code, outcome.is_pending) == ("20030", False)

    def test_with_another_amount_than_ours_decides_nothing(self):
        asked = operation("capture", 4_000)
        action = {
            "id": "act_a",
            "type": "Capture",
            "reference": reference_of(asked.id),
            "approved": True,
            "amount": 5_000,
        }

        with pytest.raises(AnswerLost):
            answers.of_operation(asked, [action])


class TestOperationInTwoActions:
    """A request that arrives late may be carried out beside its repeat."""

    @pytest.mark.parametrize("kind", ["capture", "void", "refund"])
    @pytest.mark.parametrize(
        ("approved", "state"),
        [
            ((False, True), "success"),
            ((True, False), "success"),
            ((False, None), "pending"),
            ((None, False), "pending"),
            ((False, False), "failed"),
        ],
    )
    def test_is_declined_only_if_both_are(self, kind, approved, state):
        asked = replace(operation(kind, 4_000), acquirer_reference="act_0")
        actions = [
            {
                "id": f"act_{place}",
                "type": kind.title(),
                "reference": reference_of(asked.id),
                "approved": each,
                "amount": 4_000,
            }
            for place, each in enumerate(approved)
        ]

        outcome = answers.of_operation(asked, actions).outcome

        told = {"success": outcome.is_success, "pending": outcome.is_pending}
        assert told == {name: name == state for name in told}


class TestVoid:
    def test_of_an_authorisation_that_has_expired_there_is_done(self, acquirer, simulator, authorise):
        made = authorise("void")
        simulator.clock.advance(7 * 24 * 3600)

        assert acquirer.operate(made, operation("void")).outcome.is_success

    def test_of_a_captured_payment_is_refused(self, acquirer, authorise):
        assert acquirer.operate(authorise("refund"), operation("void")).outcome.code == "20030"


class TestRefund:
    def test_before_the_automatic_capture_waits_for_it(self, acquirer, simulator):
        made = order(capture=True)
        made = replace(made, acquirer_reference=acquirer.authorise(made, card=card()).acquirer_reference)
        asked = operation("refund")
        with pytest.raises(AnswerLost):
            acquirer.operate(made, asked)
        simulator.clock.advance(2)

        again = acquirer.query_operation(made, older(asked, REPEATED_FROM))

        assert again.acquirer_reference

    def test_that_may_still_arrive_is_not_sent_again_for_two_hours(self, acquirer, simulator, authorise):
        made, asked = authorise("refund"), operation("refund", 3_000)
        [payment] = simulator.account.payments.values()
        for action in payment.actions:
            action.processed_on -= timedelta(days=1)  # captured long before
        simulator.plan.add("refunds: arrive_late 4000", "refunds: error_after 502")
        with pytest.raises(AnswerLost):
            acquirer.operate(made, asked)

        with pytest.raises(AnswerLost):
            acquirer.query_operation(made, older(asked, REPEATED_FROM))
        simulator.clock.advance(4000)
        simulator.tick()
        simulator.clock.advance(2)
        answer = acquirer.query_operation(made, older(asked, REFUND_REPEATED_FROM))

        assert (answer.outcome.is_success, payment.refunded) == (True, 3_000)

    def test_5xx_with_an_effect_is_never_sent_again_before_it_is_listed(self, acquirer, simulator, authorise):
        made, asked = authorise("refund"), operation("refund", 3_000)
        simulator.account.delays.change({"operation": 300})
        simulator.plan.add("refunds: error_after 502")
        with pytest.raises(AnswerLost):
            acquirer.operate(made, asked)

        for minutes in (0, 2, 4, 12, 40):
            with suppress(AnswerLost):
                acquirer.query_operation(made, older(asked, timedelta(minutes=minutes)))
            simulator.clock.advance(120)

        assert books(simulator)["refunded"] == 3_000

    def test_two_of_one_amount_are_told_apart(self, acquirer, simulator, authorise):
        made, first, second = authorise("refund"), operation("refund", 1_000), operation("refund", 1_000)
        simulator.account.decisions["Refund"].extend(["20051", "10000"])
        for asked in (first, second):
            acquirer.operate(made, asked)
        simulator.clock.advance(2)

        assert [acquirer.query_operation(made, each).outcome.code for each in (first, second)] == [
            "20051",
            "10000",
        ]


def test_operation_finds_a_payment_whose_identifier_was_never_told(acquirer, simulator):
    made = order(capture=False)
    acquirer.authorise(made, card=card())

    assert acquirer.operate(made, operation("void")).acquirer_reference
