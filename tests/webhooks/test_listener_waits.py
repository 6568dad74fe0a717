"""Waiting polls: how many threads of a process wait, and when a wait ends."""

import pytest

from webhooks.listeners.listener_waits import LOOK_EVERY, Wait, Waits

LISTENER, OTHER = 1, 2


class Clock:
    """A clock that only sleeping advances. `at` maps the number of a sleep to what happens during it."""

    def __init__(self, at=None):
        self.time, self.sleeps, self._at = 0.0, 0, at or {}

    def sleep(self, seconds):
        self.time += seconds
        self.sleeps += 1
        self._at.get(self.sleeps, lambda: None)()

    def now(self):
        return self.time


def wait(waits, clock, *, is_there=lambda: False, listener=LISTENER, seconds=10):
    return waits.until(is_there, listener=listener, seconds=seconds, sleep=clock.sleep, now=clock.now)


def test_ends_with_the_first_look_that_finds_something():
    clock = Clock()

    assert wait(Waits(), clock, is_there=lambda: clock.sleeps == 3) is Wait.FOUND
    assert clock.time == 3 * LOOK_EVERY


@pytest.mark.parametrize(("seconds", "looks"), [(0, 0), (1, 4), (10, 40)])
def test_ends_after_the_time_with_a_look_every_quarter_of_a_second(seconds, looks):
    clock = Clock()

    assert wait(Waits(), clock, seconds=seconds) is Wait.TIMED_OUT
    assert (clock.sleeps, clock.time) == (looks, seconds)


def test_ends_with_the_next_look_once_the_process_is_stopped():
    waits = Waits()
    clock = Clock({2: waits.stop})

    assert wait(waits, clock) is Wait.TURNED_AWAY
    assert clock.time <= 0.5
    assert wait(waits, clock) is Wait.TURNED_AWAY
    assert clock.sleeps == 2


@pytest.mark.parametrize(("threads", "most"), [(1, 1), (4, 1), (8, 2), (16, 4)])
def test_a_quarter_of_the_threads_may_wait_and_at_least_one(threads, most):
    waits = Waits(threads=threads)
    ended = []

    def begin(number):
        """Begin the next wait while this one sleeps."""
        clock = Clock({1: lambda: begin(number + 1)} if number <= most else {})
        ended.append((number, wait(waits, clock, listener=number, seconds=1)))

    begin(1)

    assert sorted(ended) == [
        *((number, Wait.TIMED_OUT) for number in range(1, most + 1)),
        (most + 1, Wait.TURNED_AWAY),
    ]
    assert wait(waits, Clock()) is Wait.TIMED_OUT


def test_what_is_there_needs_no_place():
    waits = Waits(threads=1)
    found = []
    clock = Clock({1: lambda: found.append(wait(waits, Clock(), listener=OTHER, is_there=lambda: True))})

    wait(waits, clock)

    assert found == [Wait.FOUND]


def test_a_newer_wait_of_the_same_listener_ends_the_older_one():
    waits = Waits(threads=8)
    newer = []
    clock = Clock({1: lambda: newer.append(wait(waits, Clock({1: lambda: None}), seconds=1))})

    assert wait(waits, clock) is Wait.TURNED_AWAY
    assert (newer, clock.sleeps) == ([Wait.TIMED_OUT], 1)


def test_frees_its_place_if_a_look_fails():
    waits = Waits(threads=1)

    def fails_once_it_waits():
        if clock.sleeps:
            raise ConnectionError
        return False

    clock = Clock()
    with pytest.raises(ConnectionError):
        wait(waits, clock, is_there=fails_once_it_waits)

    assert wait(waits, Clock()) is Wait.TIMED_OUT
