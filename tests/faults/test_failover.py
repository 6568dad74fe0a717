"""The primary of PostgreSQL is lost, and the standby is promoted, under mixed load."""

import itertools
import json
import os
import shutil
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from statistics import median

import psycopg
import pytest

from tests import orders
from tests.clients import signed_headers
from tests.faults.guarantees import check_all, check_ledger
from tests.faults.mixed_load import running_mixed_load
from tests.faults.processes import HANGING, wait_until
from tests.faults.replication import running_pair
from tests.faults.supervisor import supervised

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

IN_SHORT = (pytest.mark.representative, pytest.mark.in_short)
TIMES = pytest.mark.parametrize("times", [pytest.param(1, marks=IN_SHORT), 10])


@pytest.fixture
def pair():
    with running_pair() as running:
        yield running


@pytest.fixture
def stack(pair, receiver, tmp_path):
    """The whole service, with the addresses of both nodes in its DATABASE_URL."""
    with supervised(tmp_path, server=pair, receiver_url=receiver.url) as running:
        running.ensure_running()
        yield running


def running_processes(stack):
    """Return the processes of the service, by id, with those that gunicorn started."""
    worker = stack.workers[0]
    parts = (stack.web, worker, stack.beat)
    return {part.running.pid for part in parts} | stack.web.children()


def paid_request(stack, mixed_load):
    """Pay, and return a function that repeats exactly this request."""
    shop, order = stack.shops[0], orders.card_payment(amount=20_000)
    headers = signed_headers(shop.credentials, "POST", "/api/payments", json.dumps(order).encode())
    mixed_load.orders.add(order["reference"])
    answer = shop.post("/api/payments", order, **headers)
    assert answer.status_code == 201
    mixed_load.record(answer.json(), order)
    return lambda: shop.post("/api/payments", order, **headers)


def finds_waiting_commits(stack):
    """Return whether the doctor reports that commits wait for the standby."""
    result = stack.manage("doctor", "--json")
    [standby] = [found for found in json.loads(result.stdout)["findings"] if found["check"] == "standby"]
    return standby["severity"] == "broken" and result.returncode != 0


def wait_for_answers(mixed_load):
    paid = len(mixed_load.last_answers)
    wait_until(lambda: len(mixed_load.last_answers) > paid + 20, what="payments")


@dataclass(frozen=True)
class Failover:
    """What callers saw of one failover, in seconds and calls."""

    promotion: float
    first_answer: float  # by the new primary
    gap: float  # the longest time without a successful answer
    refused: int  # with 503
    broken: int  # without an answer

    @classmethod
    def measure(cls, mixed_load, *, killed_at, promoted_at, until):
        calls = [call for call in mixed_load.calls if killed_at <= call.began_at + call.seconds < until]
        answered = [at for at in mixed_load.acknowledged_at() if killed_at - 5 < at < until]
        return cls(
            promotion=promoted_at - killed_at,
            first_answer=min(at for at in answered if at > promoted_at) - killed_at,
            gap=max(after - before for before, after in itertools.pairwise(answered)),
            refused=sum(call.status == 503 for call in calls),
            broken=sum(call.status == 0 for call in calls),
        )


def print_figures(failovers):
    for name in ("promotion", "first_answer", "gap", "refused", "broken"):
        values = [getattr(one, name) for one in failovers]
        print(f"{name}: median {median(values):.2f}, {min(values):.2f} to {max(values):.2f}")


class TestSynchronousStandby:
    @TIMES
    def test_replaces_the_primary_without_loss_or_restart(self, pair, stack, receiver, times):
        pair.make_synchronous()
        before, moments = running_processes(stack), []
        with running_mixed_load(stack.shops) as mixed_load:
            for _ in range(times):
                time.sleep(2)
                repeat = paid_request(stack, mixed_load)
                killed_at = time.time()
                pair.fail_over()
                promoted_at = time.time()
                wait_for_answers(mixed_load)
                assert repeat().json()["code"] == "nonce_reused"
                moments.append((killed_at, promoted_at, time.time()))
                pair.rejoin()
                pair.make_synchronous()
                wait_for_answers(mixed_load)

        sent = check_all(stack, receiver, mixed_load)
        assert running_processes(stack) == before
        print(f"{times} failovers; {mixed_load.summary()}; events by arrivals {dict(sent)}")
        print_figures(
            [
                Failover.measure(mixed_load, killed_at=killed, promoted_at=promoted, until=until)
                for killed, promoted, until in moments
            ]
        )

    @pytest.mark.skipif(os.getuid() != 0 or not shutil.which("iptables"), reason="needs a packet filter")
    def test_replaces_a_host_that_disappears(self, pair, stack, receiver):
        """No connection to it is closed: keepalives, the retransmission of data and new connections time out."""
        pair.make_synchronous()
        before = running_processes(stack)
        with running_mixed_load(stack.shops) as mixed_load:
            with pair.primary.unreachable():
                killed_at = time.time()
                pair.fail_over()
                promoted_at = time.time()
                wait_for_answers(mixed_load)
                until = time.time()
            pair.rejoin()
            pair.make_synchronous()
            wait_for_answers(mixed_load)

        check_all(stack, receiver, mixed_load)
        assert running_processes(stack) == before
        print(mixed_load.summary())
        print_figures(
            [Failover.measure(mixed_load, killed_at=killed_at, promoted_at=promoted_at, until=until)]
        )


class TestLossOfTheStandby:
    def test_stops_commits_until_they_wait_for_it_no_longer(self, pair, stack, receiver):
        pair.make_synchronous()
        with running_mixed_load(stack.shops) as mixed_load:
            pair.standby.crash()
            wait_until(pair.primary.waits_for_standby, what="a commit")
            wait_until(lambda: finds_waiting_commits(stack), what="the doctor to find it")
            pair.primary.set_synchronous_standby("")
            wait_for_answers(mixed_load)
            pair.standby.start()
            pair.make_synchronous()
            wait_for_answers(mixed_load)

        check_all(stack, receiver, mixed_load)
        print(mixed_load.summary())


class TestReturningPrimary:
    def test_confirms_no_commit_and_joins_as_a_standby(self, pair):
        pair.make_synchronous()
        pair.primary.execute("CREATE TABLE kept AS SELECT 'before the failover' AS line")
        pair.fail_over()
        returned = pair.standby
        returned.start()  # as it was, still a primary

        with ThreadPoolExecutor() as pool:
            commit = pool.submit(returned.execute, "INSERT INTO kept VALUES ('never confirmed')")
            wait_until(returned.waits_for_standby, what="the commit")
            returned.crash()
            with pytest.raises(psycopg.OperationalError):
                commit.result()

        pair.primary.execute("INSERT INTO kept VALUES ('after the failover')")
        pair.rejoin()
        pair.make_synchronous()
        for node in (pair.primary, pair.standby):
            assert node.execute("SELECT line FROM kept") == [
                ("before the failover",),
                ("after the failover",),
            ]


class TestAsynchronousStandby:
    def test_that_lags_lacks_acknowledged_payments(self, pair, stack, receiver):
        """The reason for a synchronous one. What the standby has is consistent."""
        with running_mixed_load(stack.shops) as mixed_load:
            pair.primary.stop_sending()
            wait_for_answers(mixed_load)
            acknowledged = list(mixed_load.last_answers.values())
            pair.fail_over()
            wait_until(lambda: stack.is_ready(stack.base_url), what="web")

        stored = {key for (key,) in stack.query("SELECT id::text FROM payments_transaction")}
        missing = {answer["id"] for answer in acknowledged} - stored
        notified = {arrival.transaction for arrival in receiver.arrivals}
        print(f"of {len(acknowledged)} acknowledged transactions, {len(missing)} are missing;")
        print(f"merchants were notified of {len(notified & missing)} of those")
        assert missing
        check_ledger(stack)
