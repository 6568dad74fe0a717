"""Another session holds what every request needs: a table, a row, or all of the server's connections."""

import threading
import time
from collections import Counter
from contextlib import ExitStack, contextmanager

import psycopg
import pytest

from tests import orders
from tests.faults.pace import judge
from tests.faults.processes import HANGING, wait_until
from tests.faults.promises import check_all
from tests.faults.trade import Trade, trading

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

LIMIT = 5.0  # seconds, after which a call that needs what is locked is refused
BOUND = 3.0  # times as long
REFUSALS = 50  # more than all threads together could give if each waited out every lock


class Bystander:
    """A merchant who needs nothing of what is held, and asks five times a second."""

    def __init__(self, shop):
        self.trade = Trade([shop], rate=5)
        self._over = threading.Event()

    def watch(self):
        while not self._over.is_set():
            self.trade.exchange(self.trade.shops[0], "GET", "/api/banks")

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
    """Return how many calls there were, by status, and the longest of each."""
    numbers = Counter(call.status for call in calls)
    longest = {status: max(call.seconds for call in calls if call.status == status) for status in numbers}
    return ", ".join(
        f"{number} x {status} in {longest[status]:.1f} s at most" for status, number in numbers.items()
    )


def refused(trade):
    return sum(call.status == 503 for call in trade.calls)


def calls_while_held(stack, trade, table, *, refusals):
    """Lock a table until so many calls were refused; return what was asked meanwhile, and by a bystander."""
    bystander = Bystander(stack.shops[0])
    before, began_at = refused(trade), time.time()
    with stack.locked(f"LOCK TABLE {table}"), bystander.watching():
        wait_until(lambda: refused(trade) >= before + refusals, what="refusals")
    return [call for call in trade.calls if call.began_at >= began_at], bystander.trade.calls


class TestTableLockedByAnOperator:
    @pytest.mark.telling
    @pytest.mark.in_short
    def test_blocks_only_requests_that_need_it(self, stack, listener):
        with trading(stack.shops) as trade:
            calls, others = calls_while_held(stack, trade, "payments_transaction", refusals=REFUSALS)
            paid = len(trade.promises)
            wait_until(lambda: len(trade.promises) > paid + 20, what="payments")

        print(f"held: {described(calls)}; a bystander: {described(others)}")
        assert {call.status for call in others} == {200}
        check_all(stack, listener, trade)

    @pytest.mark.parametrize(
        "table", ["payments_transaction", "ledger_account", "webhooks_delivery", "virtual_accounts_session"]
    )
    def test_is_rejected_in_time(self, stack, listener, table):
        with trading(stack.shops) as trade:
            time.sleep(2)
            undisturbed = max(call.seconds for call in list(trade.calls))
            calls, others = calls_while_held(stack, trade, table, refusals=REFUSALS)
            paid = len(trade.promises)
            wait_until(lambda: len(trade.promises) > paid + 20, what="payments")
        print(f"{table} held: {described(calls)}; a bystander: {described(others)}")
        assert {call.status for call in others} == {200}
        longest = max(call.seconds for call in [*calls, *others])
        judge("the longest call", longest, undisturbed=undisturbed, by_design=LIMIT, bound=BOUND)
        check_all(stack, listener, trade)


class TestRowLockedByAnOperator:
    def test_blocks_only_requests_for_the_row(self, stack, listener):
        trade = Trade(stack.shops, rate=50)
        shop = stack.shops[0]
        paid = trade.order(shop, orders.card_payment(amount=30_000), "success")
        refund = {"reference": orders.new_reference("rf"), "amount": 4_000}
        target = f"/api/payments/{paid['reference']}/refunds"

        with stack.locked("SELECT 1 FROM payments_transaction WHERE id = %s FOR UPDATE", paid["id"]):
            refusal = trade.exchange(shop, "POST", target, refund)
            for _ in range(20):
                trade.order(shop, orders.card_payment(amount=20_000), "success")

        assert refusal.status_code == 503
        assert [call.status for call in trade.calls if call.status not in (200, 201)] == [503]
        trade.refunds[refund["reference"]] = trade.ask(shop, "POST", target, refund).json()["id"]
        check_all(stack, listener, trade)


def take_all_connections(stack, held):
    """Take every connection that the server has, also those that the service has now."""
    others = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND pid <> ALL(%s)"
    ours = [held.enter_context(psycopg.connect(stack.database, autocommit=True))]
    refused = 0
    while refused < 5:  # a connection that has ended is seen no more, and is free a moment later
        try:
            ours.append(held.enter_context(psycopg.connect(stack.database, autocommit=True)))
        except psycopg.OperationalError:
            pids = [one.info.backend_pid for one in ours]
            theirs = [pid for (pid,) in ours[0].execute(others, [pids])]
            ours[0].execute("SELECT pg_terminate_backend(pid) FROM unnest(%s::int[]) AS pid", [theirs])
            refused = 0 if theirs else refused + 1
            time.sleep(0.05)
        else:
            refused = 0


class TestConnectionsTakenByOthers:
    @pytest.mark.telling
    def test_are_reported_at_once_and_recovered(self, stack, listener):
        with trading(stack.shops) as trade, ExitStack() as held:
            take_all_connections(stack, held)
            before, began_at = refused(trade), time.time()
            wait_until(lambda: refused(trade) >= before + REFUSALS, what="refusals")
            calls = [call for call in trade.calls if call.began_at >= began_at]
            held.close()
            paid = len(trade.promises)
            wait_until(lambda: len(trade.promises) > paid + 20, what="payments")

        print(f"taken: {described(calls)}")
        assert {call.status for call in calls} == {503}
        check_all(stack, listener, trade)
