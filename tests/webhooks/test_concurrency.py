from uuid import UUID

import pytest

from webhooks.sending.concurrency import ALL_FREE, InFlight, Places, Share

ADA, BOB = UUID(int=1), UUID(int=2)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def in_flight(clock):
    return InFlight(clock=clock)


def begin(in_flight, count, *, is_first, business=ADA):
    started = len(in_flight._requests[business])
    for number in range(started, started + count):
        in_flight.begin(business, UUID(int=number), is_first=is_first)


def test_business_without_requests_has_the_usual_places(in_flight):
    assert in_flight.free() == {}
    assert Places(first_attempts=8, retries=6, total=8) == ALL_FREE


@pytest.mark.parametrize(
    ("first_attempts", "retries", "free"),
    [
        (0, 6, Places(2, 0, 2)),
        (2, 6, Places(0, 0, 0)),
        (5, 0, Places(3, 3, 3)),
        (1, 1, Places(6, 5, 6)),
        (8, 0, Places(0, 0, 0)),
    ],
)
def test_retries_never_take_the_last_two_places(in_flight, first_attempts, retries, free):
    begin(in_flight, first_attempts, is_first=True)
    begin(in_flight, retries, is_first=False)

    assert in_flight.free() == {ADA: free}


@pytest.mark.parametrize(
    ("first_attempts", "retries", "left"), [(1, 0, 1), (2, 0, 0), (8, 0, 0), (0, 6, 2), (1, 6, 1)]
)
def test_silent_endpoint_keeps_two_places_for_first_attempts(in_flight, clock, first_attempts, retries, left):
    begin(in_flight, first_attempts, is_first=True)
    begin(in_flight, retries, is_first=False)
    clock.now = 1.1

    assert in_flight.free() == {ADA: Places(left, 0, left)}


def test_endpoint_that_timed_out_gets_one_retry_at_a_time_until_it_answers(in_flight):
    in_flight.note_answer(ADA, timed_out=True)
    assert in_flight.free() == {ADA: Places(2, 1, 2)}

    begin(in_flight, 1, is_first=False)
    assert in_flight.free() == {ADA: Places(2, 0, 2)}

    in_flight.end(ADA, UUID(int=0))
    in_flight.note_answer(ADA, timed_out=False)
    assert in_flight.free() == {}


def test_businesses_are_counted_apart(in_flight, clock):
    begin(in_flight, 8, is_first=True)
    clock.now = 1.1
    begin(in_flight, 1, is_first=True, business=BOB)

    assert in_flight.free() == {ADA: Places(0, 0, 0), BOB: Places(7, 6, 7)}


class TestSeveralEndpoints:
    """The places of a business are its own, and a silent endpoint's share of them is that endpoint's."""

    def test_endpoints_share_the_places_of_their_business(self, in_flight):
        in_flight.begin(ADA, UUID(int=1), is_first=True, number=0, endpoints=2)
        in_flight.begin(ADA, UUID(int=2), is_first=False, number=1, endpoints=2)

        assert in_flight.free() == {ADA: Places(6, 5, 6)}
        assert in_flight.shares() == {
            (ADA, 0): Share(Places(7, 6, 7), is_busy=True),
            (ADA, 1): Share(Places(7, 5, 7), is_busy=True),
        }

    @pytest.mark.parametrize(("endpoints", "keeps"), [(2, 2), (4, 2), (5, 1), (10, 1)])
    def test_silent_endpoint_keeps_its_share_and_takes_nothing_from_others(
        self, in_flight, clock, endpoints, keeps
    ):
        in_flight.begin(ADA, UUID(int=1), is_first=True, number=0, endpoints=endpoints)
        clock.now = 1.5
        in_flight.begin(ADA, UUID(int=2), is_first=True, number=1, endpoints=endpoints)

        assert in_flight.free() == {ADA: Places(6, 6, 6)}
        assert in_flight.shares() == {
            (ADA, 0): Share(Places(keeps - 1, 0, keeps - 1), is_busy=True),
            (ADA, 1): Share(Places(7, 6, 7), is_busy=True),
        }

    def test_endpoint_that_timed_out_gets_one_retry_at_a_time(self, in_flight):
        in_flight.begin(ADA, UUID(int=1), is_first=False, number=1, endpoints=2)
        in_flight.end(ADA, UUID(int=1))
        in_flight.note_answer(ADA, timed_out=True, number=1)

        assert in_flight.free() == {}
        assert in_flight.shares() == {(ADA, 1): Share(Places(2, 1, 2), is_busy=False)}

    def test_last_enabled_endpoint_has_all_places_again(self, in_flight):
        in_flight.begin(ADA, UUID(int=1), is_first=True, number=0, endpoints=2)
        in_flight.begin(ADA, UUID(int=2), is_first=True, number=0, endpoints=1)

        assert in_flight.shares() == {}
        assert in_flight.free() == {ADA: Places(6, 6, 6)}
