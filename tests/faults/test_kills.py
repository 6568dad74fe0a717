"""Under mixed requests everything is killed at random moments, again and again."""

import random
import time
from bisect import bisect
from collections import defaultdict

import pytest

from tests.faults.impatience import LEASE
from tests.faults.pace import judge
from tests.faults.processes import HANGING
from tests.faults.promises import check_all
from tests.faults.trade import trading

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

SEED = 20261121
ANSWERING = {"web", "postgres"}  # needed to answer requests
TELLING = {"web", "postgres", "worker"}  # needed to deliver webhooks


def parts_of(stack):
    (worker, _) = stack.workers
    return {
        "web": stack.web,
        "worker": worker,
        "beat": stack.beat,
        "redis": stack.redis,
        "postgres": stack.server,
    }


def kill_at_random(stack, *, times):
    """Kill each part so many times, and start what was killed, as a supervisor does, and nothing else."""
    moments = random.Random(SEED)
    names = list(parts_of(stack)) * times
    moments.shuffle(names)
    parts, kills = parts_of(stack), []
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
    """Return, by part, the seconds from each start after a kill to the next sign of life.

    Left out is where another kill came before it. A web process has to load the service within that time; of
    PostgreSQL it begins when that takes connections again.
    """
    relevant = [(at, name) for at, name in kills if name in of]
    ends = [at for at, _ in relevant[1:]] + [float("inf")]
    found = defaultdict(list)
    for (at, name), next_kill in zip(relevant, ends, strict=True):
        sign = [*signs, float("inf")][bisect(signs, at + 0.1)]  # what was on its way is no sign
        if sign < next_kill:
            found[name].append(sign - at)
    return found


def seconds_to_start(stack):
    """Return how long the web processes need to answer on this machine now."""
    stack.web.kill()
    began = time.monotonic()
    stack.web.start()
    stack.wait_until_ready()
    return time.monotonic() - began


def kill_under_load(stack, listener, *, times):
    with trading(stack.shops, seed=SEED) as trade:
        kills = kill_at_random(stack, times=times)
        stack.wait_until_ready()
        time.sleep(1)
    sent = check_all(stack, listener, trade)
    print(f"{len(kills)} kills; {trade.summary()}")
    print(f"{len(trade.orders)} orders, {len(trade.refunds)} refunds, events by arrivals {dict(sent)}")
    return kills, trade


class TestKills:
    @pytest.mark.telling
    @pytest.mark.in_short
    def test_of_every_process_lose_and_duplicate_nothing(self, stack, listener):
        kill_under_load(stack, listener, times=1)

    def test_of_every_process_are_recovered_from_twenty_times(self, stack, listener):
        undisturbed = seconds_to_start(stack)
        kills, trade = kill_under_load(stack, listener, times=20)

        arrivals = sorted(arrival.at for arrival in listener.arrivals)
        for what, signs, of in (
            ("answered", trade.acknowledged_at(), ANSWERING),
            ("told", arrivals, TELLING),
        ):
            for name, seconds in recoveries(kills, signs, of=of).items():
                longest = f"{what} again after {name} at most ({len(seconds)} kills)"
                judge(longest, max(seconds), undisturbed=undisturbed, by_design=LEASE)
