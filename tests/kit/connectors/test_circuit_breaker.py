import pytest

from kit.connectors.circuit_breaker import IN_A_ROW, CircuitBreaker
from kit.connectors.connector_metrics import BREAKERS_OPEN


class Provider:
    """A provider, the clock of our breaker for it, and the probes that were made."""

    def __init__(self):
        self.is_up = True
        self.probes = 0
        self.now = 1_000.0

    def probe(self):
        self.probes += 1
        return self.is_up

    def monotonic(self):
        return self.now


@pytest.fixture
def provider():
    return Provider()


@pytest.fixture
def breaker(provider):
    made = CircuitBreaker("tests", probe=provider.probe)
    made.clock, made.start = provider, lambda work: work()
    return made


def fail(breaker, provider, *, calls=IN_A_ROW):
    provider.is_up = False
    for _ in range(calls):
        breaker.record(is_answered=False)


def test_opens_after_five_unanswered_calls_in_a_row(breaker, provider):
    fail(breaker, provider, calls=4)
    before = breaker.allows_calls()
    breaker.record(is_answered=False)

    assert (before, breaker.allows_calls(), provider.probes) == (True, False, 0)


@pytest.mark.parametrize(("pause", "is_open"), [(0.5, True), (0.6, False)])
def test_opens_if_half_of_twenty_calls_within_ten_seconds_are_unanswered(breaker, provider, pause, is_open):
    for number in range(20):
        breaker.record(is_answered=number % 2 == 0)
        provider.now += pause

    assert breaker.allows_calls() is not is_open


def test_stays_closed_if_fewer_are_unanswered(breaker):
    for number in range(60):
        breaker.record(is_answered=number % 5 < 3)

    assert breaker.allows_calls()


def test_probes_once_a_second_while_it_is_open(breaker, provider):
    fail(breaker, provider)

    for _ in range(30):
        assert not breaker.allows_calls()
        provider.now += 0.1

    assert provider.probes == 2


def test_closes_at_the_first_answered_probe(breaker, provider):
    fail(breaker, provider)
    provider.is_up = True
    before = breaker.allows_calls()
    provider.now += 1

    assert (before, breaker.allows_calls(), provider.probes) == (False, True, 1)


def test_counts_anew_after_it_has_closed(breaker, provider):
    fail(breaker, provider)
    provider.is_up = True
    provider.now += 1
    breaker.allows_calls()

    breaker.record(is_answered=False)

    assert breaker.allows_calls()


def test_answer_of_an_earlier_call_does_not_close_it(breaker, provider):
    fail(breaker, provider)

    breaker.record(is_answered=True)

    assert not breaker.allows_calls()


def test_metric_counts_each_breaker_of_a_connector(breaker, provider):
    before = shown()
    fail(breaker, provider)
    opened = shown()
    other = CircuitBreaker("tests", probe=provider.probe)
    other.start = lambda work: work()
    beside = shown()
    other.open("refused")
    both = shown()
    provider.is_up = True
    provider.now += 1
    breaker.allows_calls()

    assert [opened - before, beside - before, both - before, shown() - before] == [1, 1, 2, 1]


def shown():
    return BREAKERS_OPEN.labels("tests")._value.get()


def test_probes_in_a_thread_of_its_own(provider):
    """A probe that hangs doesn't delay a request."""
    breaker = CircuitBreaker("tests", probe=provider.probe)
    breaker.clock = provider
    started = []
    breaker.start = started.append
    breaker.open("refused")
    provider.now += 1

    assert not breaker.allows_calls()

    assert (provider.probes, len(started)) == (0, 1)
