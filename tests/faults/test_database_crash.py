"""PostgreSQL crashes right after responses. Nonces are committed without waiting for the disk: see decision 0010."""

import json
import signal
import threading
from dataclasses import dataclass
from itertools import cycle

import psycopg
import pytest
import requests

from tests import orders
from tests.clients import HttpClient, signed_headers
from tests.faults.guarantees import check_ledger
from tests.faults.postgresql import running_postgresql
from tests.faults.processes import HANGING, wait_until
from tests.faults.supervisor import supervised

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

WRITERS = 4
PAYMENTS = "/api/payments"


@dataclass(frozen=True)
class Sent:
    """A signed request exactly as it was sent, and the response to it."""

    shop: HttpClient
    method: str
    target: str
    body: bytes
    headers: dict[str, str]
    found_at: str  # the URL of what it created or looked up
    answer: dict[str, str]

    def replay(self):
        return send_until_available(self.shop, self.method, self.target, self.body, self.headers)

    def look_up(self):
        """Return what the request created, as it is now."""
        headers = signed_headers(self.shop.credentials, "GET", self.found_at)
        answer = send_until_available(self.shop, "GET", self.found_at, b"", headers)
        assert answer.ok, answer.text
        return answer.json()


def send_until_available(shop, method, target, body, headers):
    """Send a request until the response isn't 503: each connection's first one after a restart is."""
    found = []

    def is_answered():
        found[:] = [transmit(shop, method, target, body, headers)]
        return found[0].status_code != 503

    wait_until(is_answered, what=f"{method} {target}")
    return found[0]


def transmit(shop, method, target, body, headers):
    return requests.request(method, shop.base_url + target, data=body, headers=headers, timeout=10)


class Writer(threading.Thread):
    """Sends one signed write after the other, with a lookup after each, until the database is down."""

    def __init__(self, shop):
        super().__init__()
        self.shop = shop
        self.writes: list[Sent] = []
        self.lookups: list[Sent] = []
        self.unexpected: list[str] = []

    def run(self):
        for kind in cycle(KINDS):
            target, body, found_at = kind(self)
            if not self.send(self.writes, "POST", target, body, found_at=found_at):
                return
            if not self.send(self.lookups, "GET", found_at, found_at=found_at):
                return

    def send(self, sent, method, target, body=None, *, found_at):
        """Send a request and note it. Return False if the database didn't answer."""
        raw = b"" if body is None else json.dumps(body).encode()
        headers = signed_headers(self.shop.credentials, method, target, raw)
        headers["Content-Type"] = "application/json"
        answer = transmit(self.shop, method, target, raw, headers)
        if answer.ok:
            sent.append(Sent(self.shop, method, target, raw, headers, found_at, answer.json()))
        elif answer.status_code != 503:
            self.unexpected.append(answer.text)
        return answer.ok


def card_payment(_writer):
    body = orders.card_payment()
    return PAYMENTS, body, f"{PAYMENTS}/{body['reference']}"


def payout(_writer):
    body = orders.payout(amount=500)
    return PAYMENTS, body, f"{PAYMENTS}/{body['reference']}"


def refund(writer):
    """Refund the writer's last payment."""
    body = {"reference": orders.new_reference("rf"), "amount": 100}
    return f"{writer.writes[-1].found_at}/refunds", body, f"/api/refunds/{body['reference']}"


def virtual_account(_writer):
    body = orders.dynamic_account()
    return "/api/virtual-accounts", body, f"/api/virtual-accounts/{body['reference']}"


KINDS = (card_payment, refund, payout, virtual_account)  # in this order


@pytest.fixture
def stack(receiver, tmp_path):
    """A service whose PostgreSQL writes an asynchronous commit with the next synchronous one, or after ten seconds."""
    with running_postgresql() as server:
        with psycopg.connect(server.url, autocommit=True) as connection:
            connection.execute("ALTER SYSTEM SET wal_writer_delay = '10s'")
            connection.execute("SELECT pg_reload_conf()")
        with supervised(tmp_path, server=server, receiver_url=receiver.url) as running:
            running.ensure_running(workers=0, beat=False)
            yield running


def kill_postmaster(server):
    server.kill()


def stop_immediately(server):
    server.stop(signal.SIGQUIT)


def write_until_crash(stack, crash, *, answers):
    """Send writes, crash the database as soon as there are this many answers, and return the writers."""
    writers = [Writer(shop) for shop in stack.shops[:WRITERS]]
    for writer in writers:
        writer.start()
    wait_until(lambda: sum(len(writer.writes) for writer in writers) >= answers, what="answers")
    crash(stack.server)
    for writer in writers:
        writer.join()
    stack.server.start()
    return writers


def check_is_stored(sent):
    found = sent.look_up()
    assert found["id"] == sent.answer["id"]
    if sent.answer.get("status") in {"success", "failed"}:
        assert found["status"] == sent.answer["status"]


class TestCrash:
    @pytest.mark.parametrize(
        "rounds", [pytest.param(2, marks=(pytest.mark.representative, pytest.mark.in_short)), 10]
    )
    def test_loses_no_acknowledged_write_and_accepts_no_replay_of_one(self, stack, rounds):
        acknowledged, lookups, lost = 0, 0, 0
        for number in range(rounds):
            crash = (kill_postmaster, stop_immediately)[number % 2]

            writers = write_until_crash(stack, crash, answers=20 + 7 * number)

            for writer in writers:
                assert writer.unexpected == []
                for sent in writer.writes:
                    replayed = sent.replay()
                    assert (replayed.status_code, replayed.json()["code"]) == (401, "nonce_reused"), sent
                    check_is_stored(sent)
                lost += sum(sent.replay().ok for sent in writer.lookups[-1:])
                acknowledged += len(writer.writes)
                lookups += len(writer.lookups)
        check_ledger(stack)
        print(
            f"{rounds} crashes: {acknowledged} writes and {lookups} lookups; {lost} lookups could be repeated"
        )
