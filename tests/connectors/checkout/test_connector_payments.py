"""Authorisations and card checks: what our connector answers to what Checkout.com says."""

from dataclasses import replace
from datetime import timedelta

import pytest

from connectors.checkout.api import answers
from connectors.checkout.api.references import reference_of
from payments.rails.protocol import ActionKind, AnswerLost, NoRecord, NotSent, PayerAction
from tests.connectors.checkout.connecting import SECURE, card, connected, order

NOT_AUTHENTICATED, NOT_ENROLLED, UNSUPPORTED = "4539628347117863", "4484070000035519", "4532432452900131"
SOFT_DECLINED, LOW_ON_FUNDS, LOST, RECOMMENDING = (
    "4500622868341387", "4544249167673670", "4941202060999329", "4659105569051157",
)  # fmt: skip


@pytest.fixture
def connection(settings, simulator):
    return connected(settings, simulator)


@pytest.fixture
def acquirer(connection):
    return connection[0]


def known(made, answer):
    """Return an order as it is after an answer was stored."""
    return replace(made, acquirer_reference=answer.acquirer_reference)


def outcome(answer):
    return answer.outcome.code, answer.outcome.gateway_code, answer.outcome.advice


class TestAnswer:
    def test_approval_has_their_identifiers(self, acquirer, simulator):
        made = order()

        answer = acquirer.authorise(made, card=card())

        [payment] = simulator.account.payments.values()
        assert outcome(answer) == ("10000", "10000", "")
        assert answer.acquirer_reference == payment.id
        assert answer.authorization_code == payment.last_attempt.auth_code
        assert len(answer.retrieval_reference_number) == 12
        assert len(answer.acquirer_transaction_id) == 21
        assert answer.merchant_descriptor == made.descriptor
        assert abs(answer.expires_at - payment.expires_on) < timedelta(seconds=1)

    @pytest.mark.parametrize("status", ["Authorized", "Captured"])
    def test_payment_that_is_captured_at_once_succeeds_when_it_is_authorised(
        self, acquirer, simulator, status
    ):
        simulator.account.variants.change({"automatic_capture": status})

        assert acquirer.authorise(order(capture=True), card=card()).outcome.is_success

    def test_decline_is_mapped_and_shows_no_authorisation_code(self, acquirer, simulator):
        answer = acquirer.authorise(order(amount=8305), card=card(RECOMMENDING))

        [payment] = simulator.account.payments.values()
        assert payment.last_attempt.auth_code
        assert answer.authorization_code == answer.merchant_descriptor == ""
        assert outcome(answer) == ("20030", "20020", "do_not_retry")  # recommendation 03

    @pytest.mark.parametrize(
        ("number", "expected"),
        [(LOW_ON_FUNDS, ("20051", "20051", "retry")), (LOST, ("20041", "30041", "do_not_retry"))],
    )
    def test_decline_says_the_same_when_it_is_queried(self, acquirer, number, expected):
        made = order()

        answer = acquirer.authorise(made, card=card(number))

        assert outcome(answer) == outcome(acquirer.query(known(made, answer))) == expected

    def test_approval_says_the_same_when_it_is_queried(self, acquirer):
        made = order()

        answer = acquirer.authorise(made, card=card())

        assert acquirer.query(known(made, answer)) == answer

    @pytest.mark.parametrize("is_queried", [False, True])
    def test_part_of_the_amount_must_be_reversed(self, acquirer, simulator, is_queried):
        made = order()
        simulator.account.decisions["Authorization"].append("10010")

        answer = acquirer.authorise(made, card=card())
        answer = acquirer.query(known(made, answer)) if is_queried else answer

        assert (answer.outcome.code, answer.must_be_reversed) == ("20013", True)

    @pytest.mark.parametrize(
        "change",
        [
            {"amount": None, "balances": None},
            {"status": "Settling"},
            {"status": ["Authorized"]},
            {"approved": "true"},
            {"approved": 1},
            {"status": "Declined"},
            {"approved": False},
            {"status": "Pending", "approved": True},
        ],
    )
    def test_contradiction_decides_nothing_and_keeps_the_identifier(self, change):
        made = order()

        answer = answers.of_payment(made, approval_of(made) | change)

        assert (answer.is_definite, answer.acquirer_reference) == (False, "pay_a")
        with pytest.raises(AnswerLost):  # not "pending", which fails after half an hour
            answers.of_payment(replace(made, acquirer_reference="pay_a"), approval_of(made) | change)

    @pytest.mark.parametrize("reference", ["", "pay_a"])
    def test_larger_amount_decides_nothing_and_is_only_reversed(self, reference):
        made = order(acquirer_reference=reference)
        larger = {"amount": 20_000, "balances": {"total_authorized": 20_000}}

        answer = answers.of_payment(made, approval_of(made) | larger)

        assert (answer.is_definite, answer.must_be_reversed) == (False, True)

    @pytest.mark.parametrize(
        "change", [{"reference": "another"}, {"currency": "USD"}, {"id": "../pay_a"}, {"id": None}]
    )
    def test_another_payment_is_no_answer(self, change):
        made = order()

        with pytest.raises(AnswerLost):
            answers.of_payment(made, approval_of(made) | change)

    @pytest.mark.parametrize("status", ["Voided", "Canceled", "Expired"])
    def test_payment_that_ended_without_a_charge_failed(self, status):
        made = order()

        answer = answers.of_payment(made, approval_of(made) | {"status": status})

        assert outcome(answer) == ("20030", "", "retry")

    def test_expired_authorisation_without_time_zone_is_in_utc(self):
        made = order()

        answer = answers.of_payment(made, approval_of(made) | {"expires_on": "2026-12-01T10:00:00"})

        assert answer.expires_at.isoformat() == "2026-12-01T10:00:00+00:00"

    def test_unreadable_expiry_is_left_out(self):
        made = order()

        assert answers.of_payment(made, approval_of(made) | {"expires_on": "soon"}).expires_at is None

    def test_old_order_is_not_sent(self, connection):
        acquirer, transport = connection

        with pytest.raises(NotSent):
            acquirer.authorise(order(age=timedelta(seconds=6)), card=card())

        assert transport.sent == []


def approval_of(made):
    return {
        "id": "pay_a",
        "reference": reference_of(made.id),
        "currency": made.currency,
        "amount": made.amount,
        "approved": True,
        "status": "Authorized",
        "balances": {"total_authorized": made.amount},
        "response_code": "10000",
    }


class TestThreeDSecure:
    def test_payer_is_redirected(self, acquirer, simulator):
        answer = acquirer.authorise(order(three_ds=SECURE), card=card())

        [payment] = simulator.account.payments.values()
        url = f"{simulator.account.base_url}/3ds/{payment.session}"
        assert answer.action == PayerAction(kind=ActionKind.REDIRECT, url=url)
        assert (answer.outcome.is_pending, answer.acquirer_reference) == (True, payment.id)

    def test_payer_is_redirected_although_3d_secure_was_off(self, acquirer):
        answer = acquirer.authorise(order(is_on_our_page=True), card=card(SOFT_DECLINED))

        assert answer.action.kind == ActionKind.REDIRECT

    def test_soft_decline_elsewhere_is_declined(self, acquirer):
        assert outcome(acquirer.authorise(order(), card=card(SOFT_DECLINED))) == ("20151", "20154", "retry")

    @pytest.mark.parametrize(("result", "code"), [("approve", "10000"), ("decline", "20151")])
    def test_return_of_the_payer_is_a_query(self, acquirer, client, result, code):
        made = order(three_ds=SECURE)
        asked = acquirer.authorise(made, card=card())
        client.payer(asked.action.url, result=result, password="Checkout1!")

        answer = acquirer.answer_action(known(made, asked), kind=ActionKind.REDIRECT, value={})

        assert answer.outcome.code == code

    def test_failed_challenge_without_an_action_is_20151(self, acquirer, simulator, client):
        simulator.account.variants.change({"failed_challenge_action": "missing"})
        made = order(three_ds=SECURE)
        asked = acquirer.authorise(made, card=card())
        client.payer(asked.action.url, result="decline")

        assert outcome(acquirer.query(known(made, asked))) == ("20151", "", "retry")

    def test_payer_who_has_not_returned_is_pending_and_not_redirected_again(self, acquirer):
        made = order(three_ds=SECURE)
        asked = acquirer.authorise(made, card=card())

        answer = acquirer.query(known(made, asked))

        assert (answer.is_definite, answer.action) == (False, None)

    def test_link_is_not_followed_twice(self):
        made = order(three_ds=SECURE)
        links = {"redirect": {"href": "https://issuer.example/challenge"}}
        document = approval_of(made) | {"status": "Pending", "approved": None, "_links": links}

        assert answers.of_payment(made, document).action.url == "https://issuer.example/challenge"
        assert answers.of_payment(replace(made, acquirer_reference="pay_a"), document).action is None

    def test_abandoned_challenge_fails_when_they_say_so(self, acquirer, simulator):
        made = order(three_ds=SECURE)
        asked = acquirer.authorise(made, card=card())
        simulator.clock.advance(15 * 60)

        assert outcome(acquirer.query(known(made, asked))) == ("20151", "20152", "retry")

    def test_abandoned_challenge_that_they_never_end_stays_pending(self, acquirer, simulator):
        simulator.account.variants.change({"abandoned_challenge": "pending"})
        made = order(three_ds=SECURE)
        asked = acquirer.authorise(made, card=card())
        simulator.clock.advance(24 * 3600)

        assert not acquirer.query(known(made, asked)).is_definite

    @pytest.mark.parametrize(("number", "theirs"), [(NOT_ENROLLED, "20150"), (UNSUPPORTED, "20150")])
    def test_card_without_3d_secure_is_declined(self, acquirer, number, theirs):
        answer = acquirer.authorise(order(three_ds=SECURE), card=card(number))

        assert outcome(answer) == ("20151", theirs, "retry")

    def test_frictionless_answer_needs_no_payer(self, acquirer, simulator):
        simulator.account.variants.change({"frictionless": "answer"})

        assert acquirer.authorise(order(three_ds=SECURE), card=card("4485040371536584")).outcome.is_success

    @pytest.mark.parametrize(
        "link",
        ["", "javascript:alert(1)", "//evil.example", "https://", f"https://a.example/{'x' * 2048}", 7],
    )
    def test_payer_is_not_sent_to_what_is_no_address(self, link):
        made = order(three_ds=SECURE)
        document = approval_of(made) | {"status": "Pending", "_links": {"redirect": {"href": link}}}

        assert answers.of_payment(made, document).action is None


class TestCardCheck:
    def test_verified_card_is_accepted(self, acquirer):
        answer = acquirer.verify(order(amount=0), card=card())

        assert (answer.outcome.code, answer.expires_at) == ("10000", None)

    def test_declined_card_is_refused(self, acquirer):
        assert acquirer.verify(order(amount=0), card=card(LOST)).outcome.code == "20041"

    def test_is_queried(self, acquirer):
        made = order(amount=0)

        answer = acquirer.verify(made, card=card())

        assert acquirer.query(known(made, answer)) == answer

    def test_is_never_reversed(self, connection):
        acquirer, transport = connection

        acquirer.reverse(order(amount=0), is_repeat=False)

        assert transport.sent == []


class TestLookup:
    def test_by_reference_decides_as_the_answer_would_have(self, acquirer, simulator):
        made = order()
        simulator.plan.add("authorise: error_after 502")
        with pytest.raises(AnswerLost):
            acquirer.authorise(made, card=card())

        answer = acquirer.query(made)

        assert answer.outcome.is_success
        assert answer.acquirer_reference in simulator.account.payments

    def test_empty_list_proves_nothing(self, acquirer):
        with pytest.raises(NoRecord):
            acquirer.query(order())

    def test_payment_that_appears_later_is_found(self, acquirer, simulator):
        made = order()
        simulator.plan.add("authorise: hide 60", "authorise: error_after 502")
        simulator.account.delays.change({"index": 60})
        acquirer.authorise(made, card=card())
        with pytest.raises(NoRecord):
            acquirer.query(made)

        simulator.clock.advance(60)

        assert acquirer.query(made).outcome.is_success

    def test_of_two_payments_the_oldest_approved_one_is_ours(self, acquirer, simulator, caplog):
        made = order()
        simulator.plan.add("authorise: duplicate")
        acquirer.authorise(made, card=card())

        answer = acquirer.query(made)

        first, second = simulator.account.payments.values()
        assert (answer.acquirer_reference, answer.outcome.is_success) == (first.id, True)
        assert "several payments with our reference" in caplog.text
        assert second.id in caplog.text

    def test_of_two_payments_a_declined_one_does_not_matter(self, acquirer, simulator):
        made = order()
        simulator.account.decisions["Authorization"].extend(["20005", "10000"])
        simulator.plan.add("authorise: duplicate")
        acquirer.authorise(made, card=card())

        assert acquirer.query(made).outcome.is_success

    def test_known_payment_that_cannot_be_seen_is_unknown_and_not_missing(self, acquirer, simulator):
        made = order()
        simulator.plan.add("authorise: hide 30")
        answer = acquirer.authorise(made, card=card())

        with pytest.raises(AnswerLost) as lost:
            acquirer.query(known(made, answer))

        assert not isinstance(lost.value, NoRecord)

    @pytest.mark.parametrize(
        "fault", ["get_payment: error 503", "get_actions: error 503", "get_payment: garbage"]
    )
    def test_without_an_answer_is_unknown(self, acquirer, simulator, fault):
        made = order()
        answer = acquirer.authorise(made, card=card(LOST))
        simulator.plan.add(fault)

        with pytest.raises(AnswerLost):
            acquirer.query(known(made, answer))
