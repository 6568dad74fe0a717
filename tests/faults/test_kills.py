"""Processes are killed at random moments under mixed load."""

import random
import time
from bisect import bisect
from collections import defaultdict

import pytest

from tests.faults.guarantees import check_all
from tests.faults.latency import assert_duration
from tests.faults.mixed_load import running_mixed_load
from tests.faults.processes import HANGING
from tests.faults.short_leases import LEASE

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

SEED = 20261121
ANSWERING = {"web", "postgres"}  # needed to answer requests
DELIVERING = {"web", "postgres", "worker"}  # needed to deliver webhooks


def processes_of(stack):
    (worker, _) = stack.workers
    return {
        "web": stack.web,
        "worker": worker,
        "beat": stack.beat,
        "redis": stack.redis,
        "postgres": stack.server,
    }


def kill_at_random(stack, *, times):
    """Kill each process this many times, and restart only the killed one, as a supervisor would."""
    moments = random.Random(SEED)
    names = list(processes_of(stack)) * times
    moments.shuffle(names)
    parts, kills = processes_of(stack), []
    for name in names:
        time.sleep(moments.uniform(0.5, 2))
        ended = [other for other, part in parts.items() if part.running.poll() is not None]
        assert ended == [], "ended unexpectedly"
        parts[name].kill()
        time.sleep(moments.uniform(0, 0.5))
        parts[name].start()
        kills.append((time.time(), name))
    return kills


def recoveries(kills, signs, *, of):
    """Return, by process, the seconds from each restart to the next sign of life.

    Restarts with another kill before that sign are omitted. The time of a web process includes loading the service;
    that of PostgreSQL begins when it accepts connections.
    """
    relevant = [(at, name) for at, name in kills if name in of]
    ends = [at for at, _ in relevant[1:]] + [float("inf")]
    found = defaultdict(list)
    for (at, name), next_kill in zip(relevant, ends, strict=True):
        sign = [*signs, float("inf")][bisect(signs, at + 0.1)]  # requests in flight are no sign
        if sign < next_kill:
            found[name].append(sign - at)
    return found


def seconds_to_start(stack):
    """Return how long the web processes take to start on this machine."""
    stack.web.kill()
    began = time.monotonic()
    stack.web.start()
    stack.wait_until_ready()
    return time.monotonic() - began


def kill_under_load(stack, receiver, *, times):
    with running_mixed_load(stack.shops, seed=SEED) as mixed_load:
        kills = kill_at_random(stack, times=times)
        stack.wait_until_ready()
        time.sleep(1)
    sent = check_all(stack, receiver, mixed_load)
    print(f"{len(kills)} kills; {mixed_load.summary()}")
    print(
        f"{len(mixed_load.orders)} orders, {len(mixed_load.refunds)} refunds, events by arrivals {dict(sent)}"
    )
    return kills, mixed_load


class TestKills:
    @pytest.mark.representative
    @pytest.mark.in_short
    def test_of_every_process_lose_and_duplicate_nothing(self, stack, receiver):
        kill_under_load(stack, receiver, times=1)

    def test_of_every_process_are_recovered_from_twenty_times(self, stack, receiver):
        undisturbed = seconds_to_start(stack)
        kills, mixed_load = kill_under_load(stack, receiver, times=20)

        arrivals = sorted(arrival.at for arrival in receiver.arrivals)
        for what, signs, of in (
            ("answered", mixed_load.acknowledged_at(), ANSWERING),
            ("delivered", arrivals, DELIVERING),
        ):
            for name, seconds in recoveries(kills, signs, of=of).items():
                longest = f"{what} again after {name} at most ({len(seconds)} kills)"
                assert_duration(longest, max(seconds), undisturbed=undisturbed, by_design=LEASE)
