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
from tests.faults.processes import HANGING
from tests.faults.promises import check_all
from tests.faults.proxy import Http, PostgreSQLWire, proxied
from tests.faults.trade import Trade, trading

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

PAYMENTS = "/api/payments"


def refund(trade, shop):
    paid = trade.order(shop, orders.card_payment(amount=30_000), "success")
    return f"{PAYMENTS}/{paid['reference']}/refunds", {
        "reference": orders.new_reference("rf"),
        "amount": 4_000,
    }


# What is ordered, by kind: where, and the body whose reference makes it safe to be repeated.
KINDS = {
    "card payment": lambda *_: (PAYMENTS, orders.card_payment(amount=20_000)),
    "challenged payment": lambda *_: (
        PAYMENTS,
        orders.card_payment(amount=50_000, source=orders.card_source(pan=orders.CHALLENGED_CARD)),
    ),
    "payout": lambda *_: (PAYMENTS, orders.payout(amount=60_000)),
    "payment by transfer": lambda trade, shop: (
        PAYMENTS,
        orders.transfer_payment(trade.account_of(shop), amount=70_000),
    ),
    "refund": refund,
    "virtual account": lambda *_: ("/api/virtual-accounts", orders.dynamic_account()),
}


def note(trade, target, body, answer):
    """Keep what was answered, to be held against what is there at the end."""
    if target.endswith("/refunds"):
        trade.refunds[body["reference"]] = answer["id"]
    elif target == PAYMENTS:
        trade.orders.add(body["reference"])
        trade.remember(answer, body)


def bring_to_an_end(trade, placed):
    """Do what the payers have to do, as soon as there is something to do."""
    for shop, body in placed:
        if body["reference"] not in trade.orders:
            continue
        found = trade.follow(shop, body, until=lambda payment: payment.keys() & PAYERS_TURN.keys())
        for turn in found.keys() & PAYERS_TURN.keys():
            PAYERS_TURN[turn](trade, shop, found)
        trade.follow(shop, body)


def transfer(trade, shop, payment):
    if payment["status"] == "pending":
        number = payment["virtual_account_details"]["account_number"]
        told = {"account_number": number, "amount": payment["amount"]}
        assert trade.ask(shop, "POST", "/api/virtual-accounts/simulate", told).ok


PAYERS_TURN = {
    "redirect_link": lambda trade, _, payment: trade.enter_code(payment["redirect_link"]),
    "virtual_account_details": transfer,
}


@pytest.fixture
def trade(stack):
    trade = Trade(stack.shops, rate=1000)
    trade.open_accounts()
    return trade


@contextmanager
def web_behind(stack, proxy):
    """Let the web processes reach their database through a proxy alone."""
    stack.web.kill()
    here = stack.web.options["env"]
    address = urlsplit(stack.database)
    through = address._replace(
        netloc=f"postgres@127.0.0.1:{proxy.port}", query="sslmode=disable&gssencmode=disable"
    )
    stack.web.options["env"] = here | {"DATABASE_URL": urlunsplit(through)}
    try:
        stack.have()
        yield
    finally:
        stack.web.kill()
        stack.web.options["env"] = here


@pytest.fixture
def database_proxy(stack):
    with proxied(urlsplit(stack.database).port, PostgreSQLWire) as proxy, web_behind(stack, proxy):
        yield proxy


IN_SHORT = (pytest.mark.telling, pytest.mark.in_short)
TIMES = pytest.mark.parametrize("times", [pytest.param(12, marks=IN_SHORT), 100])


class TestAnswerThatTheMerchantNeverHears:
    @TIMES
    def test_is_repeated_with_the_first_id(self, stack, listener, trade, times):
        placed = []
        with proxied(urlsplit(stack.base_url).port, Http) as proxy:
            for number in range(times):
                shop = stack.shops[number % len(stack.shops)]
                target, body = list(KINDS.values())[number % len(KINDS)](trade, shop)
                through_proxy = HttpClient(f"http://127.0.0.1:{proxy.port}", shop.credentials)
                with proxy.swallowing():
                    assert trade.exchange(through_proxy, "POST", target, body) is None
                first = json.loads(proxy.swallowed[0].partition(b"\r\n\r\n")[2])

                again = trade.exchange(shop, "POST", target, body)

                assert again.status_code == 200
                assert again.headers["Idempotent-Replayed"] == "true"
                assert again.json()["id"] == first["id"]
                note(trade, target, body, again.json())
                placed.append((shop, body))

        bring_to_an_end(trade, placed)
        sent = check_all(stack, listener, trade)
        print(f"{times} answers swallowed: {len(trade.orders)} orders, events by arrivals {dict(sent)}")


class TestCommitWhoseAnswerIsLost:
    @TIMES
    def test_is_performed_once_however_often_it_is_requested(
        self, stack, listener, trade, database_proxy, times
    ):
        lost_in, placed = Counter(), []
        for number in range(times):
            shop = stack.shops[number % len(stack.shops)]
            kind = list(KINDS)[number % len(KINDS)]
            target, body = KINDS[kind](trade, shop)
            with database_proxy.swallowing(after=number // len(KINDS) % 4):
                answer = trade.exchange(shop, "POST", target, body)
            if answer.status_code == 503:  # otherwise it has fewer commits, or the request log's was taken
                lost_in[kind] += 1
            first = known_id(stack, body["reference"])

            again = trade.ask(shop, "POST", target, body).json()

            assert first in (None, again["id"])
            note(trade, target, body, again)
            placed.append((shop, body))

        bring_to_an_end(trade, placed)
        sent = check_all(stack, listener, trade)
        print(f"{times} times, answered 503: {dict(lost_in)}; events by arrivals {dict(sent)}")
        assert sum(lost_in.values()) > times / 2


def known_id(stack, reference):
    """Return the id under which the reference is stored by now."""
    found = stack.query(
        "SELECT id::text FROM payments_transaction WHERE reference = %(it)s "
        "UNION SELECT id::text FROM payments_cardoperation WHERE reference = %(it)s "
        "UNION SELECT id::text FROM virtual_accounts_virtualaccount WHERE reference = %(it)s",
        it=reference,
    )
    return found[0][0] if found else None


class TestConnectionsToTheDatabase:
    def test_cut_twenty_times_under_load_lose_and_duplicate_nothing(self, stack, listener, database_proxy):
        moments = random.Random(1)
        database_proxy.latency = 0.005
        with trading(stack.shops) as trade:
            for _ in range(20):
                time.sleep(moments.uniform(0.2, 1))
                database_proxy.cut()

        sent = check_all(stack, listener, trade)
        print(f"{trade.summary()}; events by arrivals {dict(sent)}")
