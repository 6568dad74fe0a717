"""A commit succeeds and its confirmation is lost: the retry repeats nothing."""

import json
import random
import time
from collections import Counter
from contextlib import contextmanager
from urllib.parse import urlsplit, urlunsplit

import pytest

from tests import orders
from tests.clients import HttpClient
from tests.faults.guarantees import check_all
from tests.faults.mixed_load import MixedLoad, running_mixed_load
from tests.faults.processes import HANGING
from tests.faults.proxy import Http, PostgreSQLWire, proxied

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

PAYMENTS = "/api/payments"


def refund(mixed_load, shop):
    paid = mixed_load.order(shop, orders.card_payment(amount=30_000), "success")
    return f"{PAYMENTS}/{paid['reference']}/refunds", {
        "reference": orders.new_reference("rf"),
        "amount": 4_000,
    }


# Requests by kind: target, and a body whose reference makes retries safe.
KINDS = {
    "card payment": lambda *_: (PAYMENTS, orders.card_payment(amount=20_000)),
    "challenged payment": lambda *_: (
        PAYMENTS,
        orders.card_payment(amount=50_000, source=orders.card_source(pan=orders.CHALLENGED_CARD)),
    ),
    "payout": lambda *_: (PAYMENTS, orders.payout(amount=60_000)),
    "payment by transfer": lambda mixed_load, shop: (
        PAYMENTS,
        orders.transfer_payment(mixed_load.account_of(shop), amount=70_000),
    ),
    "refund": refund,
    "virtual account": lambda *_: ("/api/virtual-accounts", orders.dynamic_account()),
}


def record_answer(mixed_load, target, body, answer):
    """Record a response, to be compared with the database at the end."""
    if target.endswith("/refunds"):
        mixed_load.refunds[body["reference"]] = answer["id"]
    elif target == PAYMENTS:
        mixed_load.orders.add(body["reference"])
        mixed_load.record(answer, body)


def finish_all(mixed_load, placed):
    """Act as the payers of payments that await them."""
    for shop, body in placed:
        if body["reference"] not in mixed_load.orders:
            continue
        found = mixed_load.wait_for_outcome(
            shop, body, until=lambda payment: payment.keys() & PAYER_ACTIONS.keys()
        )
        for awaited in found.keys() & PAYER_ACTIONS.keys():
            PAYER_ACTIONS[awaited](mixed_load, shop, found)
        mixed_load.wait_for_outcome(shop, body)


def transfer(mixed_load, shop, payment):
    if payment["status"] == "pending":
        number = payment["virtual_account_details"]["account_number"]
        notice = {"account_number": number, "amount": payment["amount"]}
        assert mixed_load.send(shop, "POST", "/api/virtual-accounts/simulate", notice).ok


PAYER_ACTIONS = {
    "redirect_link": lambda mixed_load, _, payment: mixed_load.enter_code(payment["redirect_link"]),
    "virtual_account_details": transfer,
}


@pytest.fixture
def mixed_load(stack):
    mixed_load = MixedLoad(stack.shops, rate=1000)
    mixed_load.open_accounts()
    return mixed_load


@contextmanager
def web_through(stack, proxy):
    """Connect the web processes to their database through a proxy."""
    stack.web.kill()
    here = stack.web.options["env"]
    address = urlsplit(stack.database)
    through = address._replace(
        netloc=f"postgres@127.0.0.1:{proxy.port}", query="sslmode=disable&gssencmode=disable"
    )
    stack.web.options["env"] = here | {"DATABASE_URL": urlunsplit(through)}
    try:
        stack.ensure_running()
        yield
    finally:
        stack.web.kill()
        stack.web.options["env"] = here


@pytest.fixture
def database_proxy(stack):
    with proxied(urlsplit(stack.database).port, PostgreSQLWire) as proxy, web_through(stack, proxy):
        yield proxy


IN_SHORT = (pytest.mark.representative, pytest.mark.in_short)
TIMES = pytest.mark.parametrize("times", [pytest.param(12, marks=IN_SHORT), 100])


class TestLostResponse:
    @TIMES
    def test_is_repeated_with_the_first_id(self, stack, receiver, mixed_load, times):
        placed = []
        with proxied(urlsplit(stack.base_url).port, Http) as proxy:
            for number in range(times):
                shop = stack.shops[number % len(stack.shops)]
                target, body = list(KINDS.values())[number % len(KINDS)](mixed_load, shop)
                through_proxy = HttpClient(f"http://127.0.0.1:{proxy.port}", shop.credentials)
                with proxy.dropping_a_response():
                    assert mixed_load.send_once(through_proxy, "POST", target, body) is None
                first = json.loads(proxy.dropped[0].partition(b"\r\n\r\n")[2])

                again = mixed_load.send_once(shop, "POST", target, body)

                assert again.status_code == 200
                assert again.headers["Idempotent-Replayed"] == "true"
                assert again.json()["id"] == first["id"]
                record_answer(mixed_load, target, body, again.json())
                placed.append((shop, body))

        finish_all(mixed_load, placed)
        sent = check_all(stack, receiver, mixed_load)
        print(f"{times} responses dropped: {len(mixed_load.orders)} orders, events by arrivals {dict(sent)}")


class TestLostCommitConfirmation:
    @TIMES
    def test_is_performed_once_however_often_it_is_requested(
        self, stack, receiver, mixed_load, database_proxy, times
    ):
        lost_in, placed = Counter(), []
        for number in range(times):
            shop = stack.shops[number % len(stack.shops)]
            kind = list(KINDS)[number % len(KINDS)]
            target, body = KINDS[kind](mixed_load, shop)
            with database_proxy.dropping_a_response(after=number // len(KINDS) % 4):
                answer = mixed_load.send_once(shop, "POST", target, body)
            if (
                answer.status_code == 503
            ):  # otherwise it has fewer commits, or the dropped one was the request log's
                lost_in[kind] += 1
            first = stored_id(stack, body["reference"])

            again = mixed_load.send(shop, "POST", target, body).json()

            assert first in (None, again["id"])
            record_answer(mixed_load, target, body, again)
            placed.append((shop, body))

        finish_all(mixed_load, placed)
        sent = check_all(stack, receiver, mixed_load)
        print(f"{times} times, returned 503: {dict(lost_in)}; events by arrivals {dict(sent)}")
        assert sum(lost_in.values()) > times / 2


def stored_id(stack, reference):
    """Return the id of the row with the reference, if any."""
    found = stack.query(
        "SELECT id::text FROM payments_transaction WHERE reference = %(it)s "
        "UNION SELECT id::text FROM payments_cardoperation WHERE reference = %(it)s "
        "UNION SELECT id::text FROM virtual_accounts_virtualaccount WHERE reference = %(it)s",
        it=reference,
    )
    return found[0][0] if found else None


class TestDatabaseConnections:
    def test_cut_twenty_times_under_load_lose_and_duplicate_nothing(self, stack, receiver, database_proxy):
        moments = random.Random(1)
        database_proxy.latency = 0.005
        with running_mixed_load(stack.shops) as mixed_load:
            for _ in range(20):
                time.sleep(moments.uniform(0.2, 1))
                database_proxy.cut()

        sent = check_all(stack, receiver, mixed_load)
        print(f"{mixed_load.summary()}; events by arrivals {dict(sent)}")
