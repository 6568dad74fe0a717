"""Repeats, refusals and lost answers: what our client believes and what it sends again."""

from contextlib import suppress
from dataclasses import replace

import pytest

from connectors.checkout import cards
from connectors.checkout.api.client import NotFound
from kit.connectors.circuit_breaker import IN_A_ROW
from kit.connectors.http_client import HttpAnswer, NoAnswer, NoRoom
from kit.connectors.provider_client import Deadline
from kit.connectors.token_bucket import LONGEST_WAIT
from payments.rails.protocol import AnswerLost, NoRecord, RailBlocked, RateLimited
from tests.connectors.checkout.client import Client
from tests.connectors.checkout.connecting import SECURE, URL, card, connected, order


@pytest.fixture
def connection(settings, simulator):
    return connected(settings, simulator)


@pytest.fixture
def acquirer(connection):
    return connection[0]


def sent(connection):
    return connection[1].calls()


def made(simulator):
    return len(simulator.account.payments)


class TestLostAnswer:
    @pytest.mark.parametrize("fault", ["swallow", "lose", "cut", "lose_and_cut", "half"])
    def test_is_repeated_once_with_the_same_key(self, connection, acquirer, simulator, fault):
        simulator.plan.add(f"authorise: {fault}")

        answer = acquirer.authorise(order(), card=card())

        assert (answer.outcome.is_success, answer.was_repeated) == (True, True)
        assert sent(connection) == ["POST payments"] * 2
        keys = {headers["Cko-Idempotency-Key"] for *_, headers in connection[1].sent[:2]}
        assert (len(keys), made(simulator)) == (1, 1)

    def test_is_repeated_only_once(self, connection, acquirer, simulator):
        simulator.plan.add("authorise: lose", "authorise: lose")

        with pytest.raises(AnswerLost):
            acquirer.authorise(order(), card=card())

        assert sent(connection) == ["POST payments"] * 2

    @pytest.mark.parametrize("capture", [True, False])
    def test_second_payment_that_a_repeat_made_is_reversed_alone(self, acquirer, simulator, capture):
        """Their server fails after the effect and cuts the connection, so that the key isn't kept."""
        simulator.account.delays.change({"idempotency_key": -1, "operation": 0})
        simulator.plan.add("authorise: cut")
        made = order(capture=capture)
        answer = acquirer.authorise(made, card=card())
        beside = replace(made, beside=frozenset({answer.acquirer_reference}))

        assert acquirer.query(beside).outcome.is_success
        with pytest.raises(AnswerLost):  # the steps are decided later
            acquirer.reverse(beside, is_repeat=False)
        simulator.clock.advance(2)
        acquirer.reverse(beside, is_repeat=True)

        books = simulator.books()["payments"]
        ours, [other] = books.pop(answer.acquirer_reference), books.values()
        assert ours["charged" if capture else "reserved"] == 10_000
        assert (other["reserved"], other["charged"] - other["refunded"]) == (0, 0)

    def test_nothing_beside_the_only_payment_is_no_record(self, acquirer):
        made = order()
        answer = acquirer.authorise(made, card=card())

        with pytest.raises(NoRecord):
            acquirer.query(replace(made, beside=frozenset({answer.acquirer_reference})))

    def test_repeat_gets_the_link_of_the_challenge(self, acquirer, simulator):
        simulator.plan.add("authorise: cut")

        assert acquirer.authorise(order(three_ds=SECURE), card=card()).action.url

    def test_is_not_repeated_without_time(self, settings, simulator):
        acquirer, transport = connected(settings, simulator, TIMEOUT=cards.REPEAT_NEEDS - 0.1)
        simulator.plan.add("authorise: lose")

        with pytest.raises(AnswerLost):
            acquirer.authorise(order(), card=card())

        assert len(transport.sent) == 1

    @pytest.mark.parametrize(
        "fault", ["error 422 card_expired", "error 401", "error 403", "error 404", "error 503"]
    )
    def test_refusal_of_the_repeat_does_not_say_what_became_of_the_first(self, acquirer, simulator, fault):
        simulator.plan.add("authorise: swallow", f"authorise: {fault}")

        with pytest.raises(AnswerLost) as lost:
            acquirer.authorise(order(), card=card())

        assert not isinstance(lost.value, RailBlocked)

    @pytest.mark.parametrize("variant", ["409", "429"])
    def test_repeat_while_the_first_runs_is_unknown(self, connection, acquirer, simulator, variant):
        simulator.account.variants.change({"key_in_flight": variant})
        simulator.plan.add("authorise: delay 20")

        with pytest.raises(AnswerLost):
            acquirer.authorise(order(), card=card())

        assert (len(sent(connection)), made(simulator)) == (2, 1)


class TestUnknownAnswer:
    @pytest.mark.parametrize(
        "fault",
        [
            "error 500",
            "error 502",
            "error_after 502",
            "error_after 503",
            "garbage",
            "error 404",
            "error 409",
            "error 301",
        ],
    )
    def test_is_not_repeated(self, connection, acquirer, simulator, fault):
        simulator.plan.add(f"authorise: {fault}")

        with pytest.raises(AnswerLost) as lost:
            acquirer.authorise(order(), card=card())

        assert not isinstance(lost.value, RailBlocked)
        assert sent(connection) == ["POST payments"]

    @pytest.mark.parametrize(
        ("status", "body"),
        [(201, b"[]"), (201, b""), (422, b"<html>"), (400, b""), (201, b"[" * 100_000), (200, b"\xff")],
    )
    def test_unreadable_body_is_unknown(self, settings, simulator, status, body):
        acquirer, transport = connected(settings, simulator)
        transport.call = lambda *_, **__: HttpAnswer(status, {}, body)

        with pytest.raises(AnswerLost) as lost:
            acquirer.authorise(order(), card=card())

        assert not isinstance(lost.value, RailBlocked)


class TestRefusal:
    @pytest.mark.parametrize(
        ("fault", "code"), [("error 422 card_expired", "20054"), ("error 400 cvv_invalid", "20030")]
    )
    def test_is_definite(self, connection, acquirer, simulator, fault, code):
        simulator.plan.add(f"authorise: {fault}")

        answer = acquirer.authorise(order(), card=card())

        assert (answer.outcome.code, answer.outcome.gateway_code) == (code, "")
        assert (sent(connection), made(simulator)) == (["POST payments"], 0)

    @pytest.mark.parametrize(
        ("fault", "reason"),
        [
            ("error 401", "CHECKOUT_SECRET_KEY"),
            ("error 403", "permission"),
            ("error 422 business_not_found", "business_not_found"),
            ("error 422 processing_channel_id_required", "processing_channel_id_required"),
        ],
    )
    def test_of_our_account_blocks_the_rail(self, acquirer, simulator, fault, reason):
        simulator.plan.add(f"authorise: {fault}")

        with pytest.raises(RailBlocked) as blocked:
            acquirer.authorise(order(), card=card())

        assert reason in blocked.value.reason
        assert made(simulator) == 0

    @pytest.mark.parametrize(
        "fault", ["list_payments: error 401", "list_payments: error 403", "list_payments: error 429"]
    )
    def test_of_a_query_never_says_that_nothing_happened(self, acquirer, simulator, fault):
        simulator.plan.add("authorise: error_after 502", *[fault] * 9)
        asked = order()
        with pytest.raises(AnswerLost):
            acquirer.authorise(asked, card=card())

        with pytest.raises(AnswerLost) as lost:
            acquirer.query(asked)

        assert not isinstance(lost.value, RailBlocked)


class TestRateLimit:
    def test_delays_a_payment(self, connection, acquirer, simulator):
        simulator.plan.add("authorise: error 429", "authorise: error 429")

        assert acquirer.authorise(order(), card=card()).outcome.is_success

        assert (len(sent(connection)), made(simulator)) == (3, 1)

    def test_that_lasts_blocks_the_rail(self, connection, acquirer, simulator):
        simulator.plan.add(*["authorise: error 429"] * 20)

        with pytest.raises(RailBlocked):
            acquirer.authorise(order(), card=card())

        assert made(simulator) == 0
        assert 2 <= len(sent(connection)) <= 10
        assert sum(connection[1].time.slept) <= LONGEST_WAIT

    def test_delays_the_next_payments_for_as_long_as_it_tells(self, connection, acquirer, simulator):
        simulator.account.variants.change({"retry_after": "present"})
        simulator.plan.add("authorise: error 429")
        acquirer.authorise(order(), card=card())

        assert sum(connection[1].time.slept) == pytest.approx(1, abs=0.2)

    def test_of_minutes_makes_new_payments_unavailable(self, acquirer, simulator):
        acquirer.client.writes.empty(reset=30)
        before = acquirer.is_available()
        simulator.clock.advance(29)

        assert (before, acquirer.is_available()) == (False, True)

    def test_that_leaves_no_call_stops_queries_but_no_payment(self, connection, acquirer, simulator):
        paid = order()
        acquirer.authorise(paid, card=card())
        acquirer.client.reads.empty(reset=30)
        acquirer.client.writes.empty(reset=30)
        connection[1].sent.clear()

        with pytest.raises(RateLimited):
            acquirer.query(paid)

        assert sent(connection) == []
        assert acquirer.authorise(order(), card=card()).outcome.is_success

    def test_of_the_repeat_does_not_say_what_became_of_the_first(self, acquirer, simulator):
        simulator.plan.add("authorise: swallow", *["authorise: error 429"] * 20)

        with pytest.raises(AnswerLost) as lost:
            acquirer.authorise(order(), card=card())

        assert not isinstance(lost.value, RailBlocked)


class TestBreaker:
    @pytest.mark.parametrize(
        ("fault", "is_available"),
        [("error 503", False), ("cut", False), ("swallow", False), ("error 409", True), ("error 422", True)],
    )
    def test_opens_for_errors_of_theirs_and_missing_answers(self, acquirer, simulator, fault, is_available):
        simulator.plan.add(*[f"authorise: {fault}"] * IN_A_ROW)

        for _ in range(IN_A_ROW):
            with suppress(AnswerLost):
                acquirer.authorise(order(), card=card())

        assert acquirer.is_available() is is_available

    def test_does_not_count_calls_that_were_not_made(self, connection, acquirer):
        def refuse(_request, *, timeout):
            raise NoRoom

        connection[1].call = refuse
        for _ in range(IN_A_ROW):
            with pytest.raises(AnswerLost):
                acquirer.authorise(order(), card=card())

        assert acquirer.is_available()


class TestDownload:
    """Of a report's file."""

    @pytest.fixture
    def path(self, simulator):
        """Return the path of a report, of a day with a payment."""
        client = Client(simulator)
        client.paid()
        simulator.account.base_url = URL
        simulator.clock.advance(2 * 86_400)
        [report, *_] = client.get("/reports")[1]["data"]
        client.answers.clear()
        return f"/reports/{report['id']}/files/{report['files'][0]['id']}"

    def download(self, acquirer, path):
        return acquirer.client.download(path, deadline=acquirer.client.deadline(of_query=True))

    def test_waits_for_the_rate_limit(self, connection, acquirer, simulator, path):
        simulator.plan.add("get_report_file: error 429")

        assert "Payout ID" in self.download(acquirer, path)

        assert connection[1].time.slept

    def test_without_a_call_left_is_not_made(self, connection, acquirer, path):
        acquirer.client.reads.empty(reset=30)

        with pytest.raises(RateLimited):
            self.download(acquirer, path)

        assert sent(connection) == []

    @pytest.mark.parametrize("fault", ["error 401", "error 403"])
    def test_that_our_key_may_not_make_stops_calls(self, acquirer, simulator, path, fault):
        simulator.plan.add(f"get_report_file: {fault}", f"list_payments: {fault}")

        with pytest.raises(AnswerLost):
            self.download(acquirer, path)

        assert not acquirer.is_available()

    def test_counts_for_the_breaker(self, acquirer, simulator, path):
        simulator.plan.add(*["get_report_file: error 503"] * IN_A_ROW, "list_payments: error 503")

        for _ in range(IN_A_ROW):
            with pytest.raises(AnswerLost):
                self.download(acquirer, path)

        assert not acquirer.is_available()

    def test_of_an_unknown_file_is_not_found(self, acquirer, path):
        with pytest.raises(NotFound):
            self.download(acquirer, path[:-3] + "xyz")


class TestTime:
    def test_call_without_time_left_is_not_made_and_not_held_against_them(self, connection, acquirer):
        """A process that was suspended must not send a payment that is long failed."""
        for _ in range(IN_A_ROW):
            with pytest.raises(AnswerLost):
                acquirer.client.post("/payments", {}, key="a", deadline=Deadline(0))

        assert sent(connection) == []
        assert acquirer.is_available()

    def test_first_attempt_leaves_time_for_a_repeat_and_the_repeat_has_the_rest(self, settings, simulator):
        acquirer, transport = connected(settings, simulator, TIMEOUT=9)
        given = []

        def lose(_request, *, timeout):
            given.append(timeout)
            raise NoAnswer

        transport.call = lose
        with pytest.raises(AnswerLost):
            acquirer.authorise(order(), card=card())

        assert [round(each) for each in given] == [6, 9]
