"""Another session locks a table or a row, or takes all connections of the server."""

import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from tests import orders
from tests.faults.guarantees import check_all
from tests.faults.latency import assert_duration
from tests.faults.mixed_load import MixedLoad, running_mixed_load
from tests.faults.processes import HANGING, wait_until

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

LIMIT = 5.0  # seconds after which a call that needs the lock is rejected
BOUND = 3.0  # times as long
REFUSALS = 50  # more than all threads could get if each waited for the full time limit


class Bystander:
    """A merchant who needs none of the locks, and sends five requests a second."""

    def __init__(self, shop):
        self.mixed_load = MixedLoad([shop], rate=5)
        self._over = threading.Event()

    def watch(self):
        while not self._over.is_set():
            self.mixed_load.send_once(self.mixed_load.shops[0], "GET", "/api/banks")

    @contextmanager
    def watching(self):
        thread = threading.Thread(target=self.watch)
        thread.start()
        try:
            yield
        finally:
            self._over.set()
            thread.join()


def described(calls):
    """Return the number of calls and the longest one, by status."""
    numbers = Counter(call.status for call in calls)
    longest = {status: max(call.seconds for call in calls if call.status == status) for status in numbers}
    return ", ".join(
        f"{number} x {status} in {longest[status]:.1f} s at most" for status, number in numbers.items()
    )


def refused(mixed_load):
    return sum(call.status == 503 for call in mixed_load.calls)


def calls_while_held(stack, mixed_load, table, *, refusals):
    """Lock a table until this many calls were rejected. Return the calls made during that time, and those of a bystander."""
    bystander = Bystander(stack.shops[0])
    before, began_at = refused(mixed_load), time.time()
    with stack.locked(f"LOCK TABLE {table}"), bystander.watching():
        wait_until(lambda: refused(mixed_load) >= before + refusals, what="refusals")
    return [call for call in mixed_load.calls if call.began_at >= began_at], bystander.mixed_load.calls


class TestLockedTable:
    @pytest.mark.representative
    @pytest.mark.in_short
    def test_blocks_only_requests_that_need_it(self, stack, receiver):
        with running_mixed_load(stack.shops) as mixed_load:
            calls, others = calls_while_held(stack, mixed_load, "payments_transaction", refusals=REFUSALS)
            paid = len(mixed_load.last_answers)
            wait_until(lambda: len(mixed_load.last_answers) > paid + 20, what="payments")

        print(f"held: {described(calls)}; a bystander: {described(others)}")
        assert {call.status for call in others} == {200}
        check_all(stack, receiver, mixed_load)

    @pytest.mark.parametrize(
        "table", ["payments_transaction", "ledger_account", "webhooks_delivery", "virtual_accounts_session"]
    )
    def test_is_rejected_in_time(self, stack, receiver, table):
        with running_mixed_load(stack.shops) as mixed_load:
            time.sleep(2)
            undisturbed = max(call.seconds for call in list(mixed_load.calls))
            calls, others = calls_while_held(stack, mixed_load, table, refusals=REFUSALS)
            paid = len(mixed_load.last_answers)
            wait_until(lambda: len(mixed_load.last_answers) > paid + 20, what="payments")
        print(f"{table} held: {described(calls)}; a bystander: {described(others)}")
        assert {call.status for call in others} == {200}
        longest = max(call.seconds for call in [*calls, *others])
        assert_duration("the longest call", longest, undisturbed=undisturbed, by_design=LIMIT, bound=BOUND)
        check_all(stack, receiver, mixed_load)


class TestLockedRow:
    def test_blocks_only_requests_for_the_row(self, stack, receiver):
        mixed_load = MixedLoad(stack.shops, rate=50)
        shop = stack.shops[0]
        paid = mixed_load.order(shop, orders.card_payment(amount=30_000), "success")
        refund = {"reference": orders.new_reference("rf"), "amount": 4_000}
        target = f"/api/payments/{paid['reference']}/refunds"

        with stack.locked("SELECT 1 FROM payments_transaction WHERE id = %s FOR UPDATE", paid["id"]):
            refusal = mixed_load.send_once(shop, "POST", target, refund)
            for _ in range(20):
                mixed_load.order(shop, orders.card_payment(amount=20_000), "success")

        assert refusal.status_code == 503
        assert [call.status for call in mixed_load.calls if call.status not in (200, 201)] == [503]
        mixed_load.refunds[refund["reference"]] = mixed_load.send(shop, "POST", target, refund).json()["id"]
        check_all(stack, receiver, mixed_load)


def take_all_connections(stack, held):
    """Take every connection of the server, including those of the service."""
    others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> ALL(%s)"
    ours = [held.enter_context(psycopg.connect(stack.database, autocommit=True))]
    refused = 0
    while refused < 5:  # a terminated connection becomes free with a delay
        try:
            ours.append(held.enter_context(psycopg.connect(stack.database, autocommit=True)))
        except psycopg.OperationalError:
            pids = [one.info.backend_pid for one in ours]
            theirs = [pid for (pid,) in ours[0].execute(others, [pids])]
            ours[0].execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [theirs])
            refused = 0 if theirs else refused + 1
            if refused:  # else take theirs at once, because the service connects again
                time.sleep(0.05)
        else:
            refused = 0


class TestExhaustedConnections:
    @pytest.mark.representative
    def test_are_reported_at_once_and_recovered(self, stack, receiver):
        with running_mixed_load(stack.shops) as mixed_load, ExitStack() as held:
            take_all_connections(stack, held)
            before, began_at = refused(mixed_load), time.time()
            wait_until(lambda: refused(mixed_load) >= before + REFUSALS, what="refusals")
            calls = [call for call in mixed_load.calls if call.began_at >= began_at]
            held.close()
            paid = len(mixed_load.last_answers)
            wait_until(lambda: len(mixed_load.last_answers) > paid + 20, what="payments")

        print(f"taken: {described(calls)}")
        assert {call.status for call in calls} == {503}
        check_all(stack, receiver, mixed_load)
