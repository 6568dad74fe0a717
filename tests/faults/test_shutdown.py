"""A process that is stopped or replaced under load finishes its requests: each gets a response."""

import itertools
import signal
import socket
import time
from contextlib import ExitStack

import pytest
import requests

from tests.clients import HttpClient
from tests.faults.guarantees import check_all, check_events, check_sent_once, wait_until_settled
from tests.faults.mixed_load import running_mixed_load
from tests.faults.payment_load import under_load
from tests.faults.processes import HANGING, WAIT_LIMIT, wait_until
from tests.journeys.nginx import needs_nginx, nginx

pytestmark = [pytest.mark.faults, pytest.mark.xdist_group("faults"), pytest.mark.timeout(HANGING)]

HELD = "SELECT id FROM webhooks_delivery WHERE lease_token IS NOT NULL"


def failed(mixed_load):
    """Return the calls without a successful response."""
    return [call for call in mixed_load.calls if call.status not in (200, 201)]


class Balanced(HttpClient):
    """Calls two hosts in turn, and the other one if the first refuses the connection, as a proxy does."""

    def __init__(self, base_urls, credentials):
        super().__init__(base_urls[0], credentials)
        self._hosts = [HttpClient(base_url, credentials) for base_url in base_urls]
        self._turns = itertools.count()

    def send(self, method, target, body=b"", *, headers=None):
        first = next(self._turns) % 2
        try:
            return self._hosts[first].send(method, target, body, headers=headers)
        except requests.ConnectionError as error:
            if "Connection refused" not in str(error):
                raise
        return self._hosts[1 - first].send(method, target, body, headers=headers)


class TestWeb:
    @pytest.mark.representative
    def test_that_is_reloaded_under_load_fails_no_request(self, stack, receiver):
        with running_mixed_load(stack.shops) as mixed_load:
            for _ in range(2):
                before = stack.web.children()
                stack.web.running.send_signal(signal.SIGHUP)
                wait_until(lambda: not before & stack.web.children(), what="new processes")  # noqa: B023
                wait_until(lambda: len(stack.web.children()) == len(before), what="all of them")  # noqa: B023

        assert failed(mixed_load) == []
        sent = check_all(stack, receiver, mixed_load)
        print(f"{mixed_load.summary()}; events by arrivals {dict(sent)}")

    @pytest.mark.representative
    @needs_nginx
    def test_that_is_restarted_behind_proxy_and_socket_fails_no_request(
        self, stack, receiver, tmp_path, monkeypatch
    ):
        """One host as in the guide: nginx in front, and a socket that systemd keeps open."""
        with ExitStack() as host:
            listening = host.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2048))
            place = f"127.0.0.1:{listening.getsockname()[1]}"
            front = host.enter_context(nginx(tmp_path, upstream=place))
            monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(front.certificate))
            web = stack.web_with_socket(listening)
            host.callback(web.kill)
            web.start()
            wait_until(lambda: stack.is_ready(f"http://{place}"), what="web behind its socket")
            with running_mixed_load(
                [HttpClient(front.base_url, shop.credentials) for shop in stack.shops]
            ) as mixed_load:
                for _ in range(2):
                    time.sleep(1)
                    web.stop()
                    web.start()
                    wait_until(lambda: stack.is_ready(f"http://{place}"), what="new processes")

            assert failed(mixed_load) == []
            sent = check_all(stack, receiver, mixed_load)
        print(f"{mixed_load.summary()}; events by arrivals {dict(sent)}")


class TestEverything:
    def test_that_is_restarted_in_turn_under_load_fails_no_request_and_sends_nothing_twice(
        self, stack, receiver
    ):
        stack.ensure_running(workers=2)
        other_web, other_url = stack.second_web()
        shops = [Balanced((stack.base_url, other_url), shop.credentials) for shop in stack.shops]
        try:
            other_web.start()
            wait_until(lambda: stack.is_ready(other_url), what="the other web")
            with running_mixed_load(shops) as mixed_load:
                for web, url in ((stack.web, stack.base_url), (other_web, other_url)):
                    time.sleep(1)
                    web.stop()
                    web.start()
                    wait_until(lambda: stack.is_ready(url), what="web")  # noqa: B023
                for part in (*stack.workers, stack.beat):
                    part.stop()
                    part.start()
                stack.wait_for_workers(2)
        finally:
            other_web.kill()

        assert failed(mixed_load) == []
        sent = check_all(stack, receiver, mixed_load)
        print(f"{mixed_load.summary()}; events by arrivals {dict(sent)}")
        check_sent_once(stack, receiver)


class TestWorker:
    def test_finishes_what_is_in_flight_and_sends_nothing_twice(self, stack, receiver):
        (worker, _) = stack.workers
        with under_load(stack.shops) as load:
            for _ in range(2):
                time.sleep(1)
                receiver.stop_responding()
                wait_until(lambda: len(receiver.unanswered) >= 3, what="requests")
                worker.running.send_signal(signal.SIGTERM)
                time.sleep(0.3)
                receiver.resume()
                worker.running.wait(timeout=WAIT_LIMIT)
                assert stack.query(HELD) == []  # no lease has to expire
                worker.start()
                stack.wait_for_workers(1)

        assert load.abandoned == []
        wait_until_settled(stack)
        receiver.wait_for(set(load.acknowledged))
        check_events(stack, receiver)
        check_sent_once(stack, receiver)
