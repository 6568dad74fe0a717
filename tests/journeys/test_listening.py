"""`sluice listen` under load, while the tool is killed, the service restarted and the connection cut."""

import http.client
import json
import os
import random
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from http import HTTPStatus
from pathlib import Path
from time import sleep

import pytest
from sluice import Sluice, SluiceError, webhooks

from kit.free_ports import free_port
from tests import orders
from tests.faults.processes import Process, wait_until
from tests.journeys.service import PROJECT, postgresql_database
from tests.receiver import Receiver, running_receiver

pytestmark = [pytest.mark.journey, pytest.mark.long]

THREADS, PAYMENTS = 8, 200
SECONDS = 300.0  # after which a wait fails; not a limit on speed


class CuttingProxy:
    """Passes connections on to a port, until it cuts all of them."""

    def __init__(self, port: int) -> None:
        self._upstream = port
        self._open: set[socket.socket] = set()
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port: int = self._server.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def cut(self) -> None:
        for each in list(self._open):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._server.close()
        self.cut()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._server.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        try:
            upstream = socket.create_connection(("127.0.0.1", self._upstream))
        except OSError:  # the service restarts
            client.close()
            return
        self._open |= {client, upstream}
        threading.Thread(target=self._pump, args=(upstream, client), daemon=True).start()
        self._pump(client, upstream)

    def _pump(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65_536):
                target.sendall(data)
        for each in (source, target):
            self._open.discard(each)
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


class Restarted:
    """A sandbox that can be restarted, with its folder and credentials."""

    def __init__(self, folder: Path, environment: dict[str, str]) -> None:
        self.folder, self.port, self.environment = folder, free_port(), environment
        command = [sys.executable, "manage.py", "sandbox", "--port", str(self.port), "--data", str(folder)]
        self.process = Process("sandbox", command, folder / "service.log", cwd=PROJECT, env=environment)

    def start(self) -> None:
        self.process.start()
        wait_until(self._is_ready, seconds=SECONDS, what="the sandbox")

    def _is_ready(self) -> bool:
        with suppress(OSError), closing(http.client.HTTPConnection("127.0.0.1", self.port)) as connection:
            connection.request("GET", "/livez")
            return connection.getresponse().status == HTTPStatus.OK
        return False

    def restart(self) -> None:
        self.process.stop()
        self.start()


@contextmanager
def sandbox(folder: Path) -> Iterator[Restarted]:
    """Run a sandbox, on PostgreSQL if DATABASE_URL names such a database."""
    environment = os.environ | {
        "SANDBOX_DATA": str(folder),
        "SANDBOX_CURRENT": str(folder / "current"),
        "RATE_LIMIT_WRITES": "1000000",
        "RATE_LIMIT_READS": "1000000",
    }
    for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "FINGERPRINT_KEY"):
        environment.pop(name, None)
    with ExitStack() as exits:
        if environment.get("DATABASE_URL"):
            environment["DATABASE_URL"] = exits.enter_context(
                postgresql_database(environment["DATABASE_URL"])
            )
        made = Restarted(folder, environment)
        exits.callback(made.process.kill)
        made.start()
        yield made


@pytest.fixture
def running(tmp_path):
    with sandbox(tmp_path) as started:
        yield started


def pay(client: Sluice, number: int) -> None:
    """Make a payment, whatever happens to the service. Every fifth is declined."""
    order = orders.card_payment(amount=10_051 if number % 5 == 0 else 50_000, reference=f"listen-{number}")
    wait_until(lambda: is_made(client, order), seconds=SECONDS, what=order["reference"])


def is_made(client: Sluice, order: dict) -> bool:
    with suppress(SluiceError):
        client.payments.create(order)
        return True
    sleep(0.1)
    return False


def misfortunes(service: Restarted, tool: Process, proxy: CuttingProxy, ended: threading.Event) -> None:
    """Kill the tool, restart the service and cut connections in a random order, until told to end."""

    def replace() -> None:
        tool.kill()
        tool.start()

    chance = random.Random(20)
    happen: list[Callable[[], None]] = [proxy.cut, replace, service.restart]
    while True:
        for each in chance.sample(happen, len(happen)):
            ended.wait(chance.uniform(0.3, 1.5))
            each()
        if ended.is_set():
            return


def test_forwards_every_event_at_least_once_with_its_bytes(running):
    keys = json.loads((running.folder / "credentials.json").read_text())
    with ExitStack() as exits:
        client = exits.enter_context(Sluice.from_sandbox(running.folder, retries=0))
        endpoint, laptop = (exits.enter_context(running_receiver()) for _ in range(2))
        subscribe(running, keys["business"], endpoint)
        proxy = CuttingProxy(running.port)
        exits.callback(proxy.close)
        tool = listening(running, keys, proxy, laptop)
        exits.callback(tool.kill)
        tool.start()
        wait_until(lambda: b"whk_listen_" in tool.log.read_bytes(), seconds=SECONDS, what="the tool")

        pay_during_misfortunes(client, running, tool, proxy)

        wait_until(lambda: len(found(client)) == PAYMENTS, seconds=SECONDS, what="all events")
        events = found(client)
        wait_until(
            lambda: keep_running(tool) and received(laptop).keys() >= events,
            seconds=SECONDS,
            what="all copies",
        )
        copies = received(laptop)
        assert copies.keys() == events
        assert all(bodies == {client.events.get(name).body.encode()} for name, bodies in copies.items())
        key = json.loads(tool.log.read_text().partition("\n")[0])["hash_key"]
        for request in laptop.received:
            webhooks.verify(request.body, request.headers["X-Service-Signature"], key)


def keep_running(tool: Process) -> bool:
    """Start the tool again if the service was away when it started: it ends then with 3."""
    if tool.running is None or tool.running.poll() is not None:
        tool.start()
    return True


def subscribe(service: Restarted, business: str, endpoint: Receiver) -> None:
    """Have the service deliver the business's events to an endpoint too."""
    words = ["configure_webhook", "--business", business, "--url", endpoint.url, "--events", "payment"]
    command = [sys.executable, "manage.py", *words]
    subprocess.run(command, cwd=PROJECT, env=service.environment, check=True, capture_output=True)


def pay_during_misfortunes(client: Sluice, service: Restarted, tool: Process, proxy: CuttingProxy) -> None:
    ended = threading.Event()
    with ThreadPoolExecutor(THREADS + 1) as pool:
        trouble = pool.submit(misfortunes, service, tool, proxy, ended)
        for each in [pool.submit(pay, client, number) for number in range(PAYMENTS)]:
            each.result()
        ended.set()
        trouble.result()


def listening(service: Restarted, keys: dict[str, str], proxy: CuttingProxy, laptop: Receiver) -> Process:
    """Return the tool, which reaches the service through the proxy."""
    environment = os.environ | {
        "SLUICE_BASE_URL": f"http://127.0.0.1:{proxy.port}",
        "SLUICE_API_KEY": keys["api_key"],
        "SLUICE_SECRET_KEY": keys["secret_key"],
    }
    command = [
        sys.executable,
        "-m",
        "sluice",
        "listen",
        "--forward-to",
        laptop.url,
        "--name",
        "laptop",
        "--json",
    ]
    return Process("listen", command, service.folder / "listen.log", env=environment)


def found(client: Sluice) -> set[str]:
    """Return the ids of all events that the endpoint is subscribed to."""
    with suppress(SluiceError):
        return {event.event_id for event in client.events.list(limit=100)}
    return set()


def received(laptop: Receiver) -> dict[str, set[bytes]]:
    """Return the bodies that arrived, by the id of their event."""
    bodies: dict[str, set[bytes]] = {}
    for request in list(laptop.received):
        bodies.setdefault(request.headers["X-Service-Idempotency-Key"], set()).add(request.body)
    return bodies
