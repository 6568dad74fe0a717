"""Payments per second of one business against eight: where the locks of its ledger accounts become the limit.

    .venv/bin/python benchmarks/hot_merchants.py            (needs PostgreSQL with pgbench)
    .venv/bin/python benchmarks/hot_merchants.py --rounds 3 --seconds 5 --delays 0 5

Each card payment locks three ledger accounts of its business from the entry's statement to the end of the commit. So
the payments of one business per second are at most 1 / (statement + commit). On one machine with two cores, the cores
are the limit. So commits are delayed: a synchronous standby on the same machine applies each one some milliseconds
late, and the commit waits for it (`synchronous_commit = remote_apply`). Delayed commits of different businesses overlap,
as they do with a standby in another building.

The same delays are measured over HTTP, and with the statements of a payment replayed by pgbench, which leaves out the
CPU time of the service. Rounds of one business and of eight alternate. Then one connection stores outcomes undisturbed:
the locks are held for no longer than that, and its inverse is the ceiling of one business.
"""

import argparse
import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path
from urllib.parse import urlsplit

import django

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.figures import Figure
from benchmarks.load import Measured, drive
from benchmarks.parts import Part, run_parts
from benchmarks.pgbench import pgbench_rate
from benchmarks.signed_payments import signed_payments
from tests.clients import Credentials
from tests.faults.replication import ReplicatedPair, running_pair
from tests.journeys.service import Service, start_service

MERCHANTS = 8
OUTCOMES = 100  # that are timed over one connection in each round
CONNECTIONS = 32  # as many threads serve them, and as many clients of pgbench replay them


def hot_merchants(options: argparse.Namespace) -> Iterator[Figure]:
    with ExitStack() as stack:
        pair = stack.enter_context(running_pair())
        os.environ["DATABASE_URL"] = pair.primary.url
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        service = stack.enter_context(
            start_service(
                folder,
                WEB_THREADS=str(CONNECTIONS // 2),
                LOG_REQUESTS="False",
                LOG_LEVEL="WARNING",
                REDIS_URL="",
            )
        )
        bench = Bench(service)
        for delay in options.delays:
            delay_commits(pair, delay)
            yield from bench.compare(options, f"commits + {delay} ms")


def delay_commits(pair: ReplicatedPair, milliseconds: int) -> None:
    """Let every commit wait until the standby has applied it, with this delay; for no standby if it is zero."""
    pair.standby.execute(f"ALTER SYSTEM SET recovery_min_apply_delay = '{milliseconds}ms'")
    pair.standby.execute("SELECT pg_reload_conf()")
    pair.primary.execute("ALTER SYSTEM SET synchronous_commit = remote_apply")
    if milliseconds:
        pair.make_synchronous()
    else:
        pair.primary.set_synchronous_standby("")


class Bench:
    """A service with eight businesses, and the statements of a payment."""

    def __init__(self, service: Service) -> None:
        self.url = service.environment["DATABASE_URL"]
        self.port = urlsplit(service.base_url).port or 0
        self.merchants = [
            service.credentials,
            *(service.open_business(f"Shop {number}").credentials for number in range(1, MERCHANTS)),
        ]
        self._pay(self.merchants, 400)
        os.environ |= service.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        django.setup()
        parts = import_module("benchmarks.payment_statements")  # imports models
        self.replay = parts.Replay(self.merchants)
        self.milliseconds_of_an_outcome = parts.milliseconds_of_an_outcome

    def compare(self, options: argparse.Namespace, conditions: str) -> Iterator[Figure]:
        """Measure one business and all of them in turns, over HTTP and then with pgbench."""
        one, all_of_them = [], []
        for _ in range(options.rounds):
            one.append(self._pay(self.merchants[:1], options.requests))
            all_of_them.append(self._pay(self.merchants, options.requests))
        yield from _figures(
            f"POST, {conditions}", [each.rate for each in one], [each.rate for each in all_of_them]
        )
        replayed: dict[int, list[float]] = {1: [], MERCHANTS: []}
        for _ in range(options.rounds):
            for count, rates in replayed.items():
                script = self.replay.script(count)
                rates.append(
                    pgbench_rate(
                        self.url, script, clients=CONNECTIONS, seconds=options.seconds, prepared=True
                    )
                )
        yield from _figures(f"statements, {conditions}", *replayed.values())
        alone = [self.milliseconds_of_an_outcome(self.merchants[0], OUTCOMES) for _ in range(options.rounds)]
        yield Figure.of_rounds(f"outcome stored alone, {conditions}", alone, "ms")

    def _pay(self, merchants: list[Credentials], count: int) -> Measured:
        requests = [payment.request for payment in signed_payments(merchants, count)]
        measured = drive(self.port, requests, connections=CONNECTIONS)
        if set(measured.statuses) != {201}:
            raise SystemExit(f"Payments were answered with {measured.statuses}")
        return measured


def _figures(name: str, one: list[float], all_of_them: list[float]) -> Iterator[Figure]:
    yield Figure.of_rounds(f"{name}: one business", one, "/s")
    yield Figure.of_rounds(f"{name}: {MERCHANTS} businesses", all_of_them, "/s")
    yield Figure.of_ratios(f"{name}: {MERCHANTS} of one", all_of_them, one)


PARTS: dict[str, Part] = {"hot_merchants": hot_merchants}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--rounds", type=int, default=3, help="rounds of each kind (default 3)")
    parser.add_argument("--requests", type=int, default=1_500, help="requests in a round (default 1500)")
    parser.add_argument("--seconds", type=int, default=5, help="of each replay (default 5)")
    parser.add_argument(
        "--delays", type=int, nargs="*", default=[0, 2, 5, 10], help="of commits, in ms (default 0 2 5 10)"
    )


if __name__ == "__main__":
    run_parts(__doc__, PARTS, add_arguments=add_arguments)
