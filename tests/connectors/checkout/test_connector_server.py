"""Our connector over HTTP: connections, time-outs and answers that break off."""

import threading
import time
from dataclasses import replace
from types import SimpleNamespace

import pytest

from connectors.checkout import cards
from connectors.checkout.cards import CheckoutAcquirer
from connectors.checkout.simulator.server import CheckoutServer
from kit.connectors.circuit_breaker import PROBE_INTERVAL
from payments.rails.protocol import AnswerLost
from tests.connectors.checkout.connecting import SECURE, card, configure, order
from tests.serving import simulator_serving


@pytest.fixture
def server(simulator):
    with simulator_serving(CheckoutServer(simulator=simulator)) as running:
        yield running


@pytest.fixture
def acquirer(settings, server):
    configure(settings, url=server.url)
    return CheckoutAcquirer()


def test_payment_check_and_challenge_pass(acquirer):
    made = order()

    assert acquirer.authorise(made, card=card()).outcome.is_success
    assert acquirer.query(made).outcome.is_success
    assert acquirer.verify(order(amount=0), card=card()).outcome.is_success
    assert acquirer.authorise(order(three_ds=SECURE), card=card()).action.url.startswith("http://127.0.0.1:")


@pytest.mark.parametrize("fault", ["cut", "lose_and_cut", "half"])
def test_connection_that_breaks_is_repeated(acquirer, simulator, fault):
    simulator.plan.add(f"authorise: {fault}")

    assert acquirer.authorise(order(), card=card()).outcome.is_success

    assert len(simulator.account.payments) == 1


def test_answer_that_is_sent_twice_is_not_taken_for_the_next_one(acquirer, simulator):
    simulator.plan.add("authorise: twice", "get_payment: twice")
    first, second = order(amount=10_000), order(amount=20_000)

    answers = [acquirer.authorise(each, card=card()) for each in (first, second)]

    assert answers[0].acquirer_reference != answers[1].acquirer_reference
    assert all(each.outcome.is_success for each in answers)
    for made, answer in zip((first, second), answers, strict=True):
        assert acquirer.query(replace(made, acquirer_reference=answer.acquirer_reference)) == answer


def test_hanging_call_ends_in_time_and_is_looked_up(settings, server, simulator):
    configure(settings, url=server.url, TIMEOUT=0.5)
    acquirer, made = CheckoutAcquirer(), order()
    simulator.plan.add("authorise: swallow")

    with pytest.raises(AnswerLost):
        acquirer.authorise(made, card=card())

    assert acquirer.query(made).outcome.is_success


def test_hanging_first_attempt_is_repeated_in_time(settings, server, simulator, monkeypatch):
    monkeypatch.setattr(cards, "REPEAT_NEEDS", 0.5)
    configure(settings, url=server.url, TIMEOUT=1.5)
    acquirer = CheckoutAcquirer()
    simulator.plan.add("authorise: swallow")

    assert acquirer.authorise(order(three_ds=SECURE), card=card()).action.url


def test_server_that_is_down_is_unknown(settings):
    configure(settings, url="http://127.0.0.1:1")

    with pytest.raises(AnswerLost):
        CheckoutAcquirer().authorise(order(), card=card())


def test_probe_in_the_background_makes_it_available_again(acquirer):
    breaker = acquirer.client.breaker
    breaker.open("calls aren't answered")
    before = acquirer.is_available()
    breaker.clock = SimpleNamespace(monotonic=lambda: time.monotonic() + PROBE_INTERVAL)

    acquirer.is_available()
    for thread in threading.enumerate():
        if thread.name == "provider-probe":
            thread.join(5)

    assert (before, acquirer.is_available()) == (False, True)
