"""The acquirer and bank simulators in threads of the test process, and connectors to them."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from typing import Any

from django.core.exceptions import ImproperlyConfigured

from kit.connectors import connectors
from payments import rails
from payments.rails.protocol import CardAcquirer, PayoutBank
from payments.simulators.acquirer import AcquirerSimulator
from payments.simulators.bank import BankSimulator
from payments.simulators.fault_injection import Fault
from tests.serving import simulator_serving

ISO8583 = "iso8583"
HTTP_BANK = "http"


def made_acquirer() -> Any:
    """Return this process's connector to the acquirer."""
    return connectors.make(rails.ACQUIRERS[ISO8583], protocol=CardAcquirer)


def made_bank() -> Any:
    """Return this process's connector to the bank."""
    return connectors.make(rails.BANKS[HTTP_BANK], protocol=PayoutBank)


class RunningAcquirer:
    """An acquirer simulator and its event loop."""

    def __init__(self) -> None:
        self.simulator = AcquirerSimulator()
        self.books = self.simulator.books
        self._loop = asyncio.new_event_loop()
        self._ready = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def _run(self) -> None:
        self._serving = self._loop.create_task(self.simulator.serve(when_ready=self._ready.set))
        with suppress(asyncio.CancelledError):
            self._loop.run_until_complete(self._serving)
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.run_until_complete(asyncio.sleep(0.01))
        self._loop.close()

    def start(self) -> None:
        self._thread.start()
        assert self._ready.wait(5)

    def stop(self) -> None:
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._serving.cancel)
            self._thread.join(5)

    @property
    def port(self) -> int:
        return self.simulator.port

    def plan(self, *words: str) -> None:
        self.simulator.plan.extend(Fault.read(word) for word in words)

    def do(self, **order: object) -> None:
        """Run an order on the simulator's event loop."""
        done = threading.Event()

        def carry_out() -> None:
            self.simulator.carry_out(order)
            done.set()

        self._loop.call_soon_threadsafe(carry_out)
        assert done.wait(5)


@contextmanager
def acquirer_running() -> Iterator[RunningAcquirer]:
    acquirer = RunningAcquirer()
    acquirer.start()
    try:
        yield acquirer
    finally:
        acquirer.stop()


@contextmanager
def acquirer_connected(settings, acquirer: RunningAcquirer, *, timeout: float = 8) -> Iterator[None]:
    """Route card payments to a running simulator."""
    _drop_connectors()
    settings.CARD_ACQUIRER = ISO8583
    settings.ACQUIRER_HOST, settings.ACQUIRER_PORT, settings.ACQUIRER_TLS = "127.0.0.1", acquirer.port, False
    settings.ACQUIRER_TIMEOUT, settings.ACQUIRER_ECHO_INTERVAL = timeout, 60
    settings.ACQUIRER_TERMINAL_ID, settings.ACQUIRER_MERCHANT_ID = "SLUICE01", "SLUICE000000001"
    settings.ACQUIRER_INSTITUTION_ID = "00000000566"
    try:
        yield
    finally:
        _drop_connectors()


def _drop_connectors() -> None:
    """Make connectors anew at their next use. The acquirer's link would otherwise reconnect for ever."""
    with suppress(ImproperlyConfigured):  # a test removed a setting, so no connection was opened
        made_acquirer().link.close()
    connectors._made.cache_clear()


@contextmanager
def short_acquirer_timeout(seconds: float = 0.3) -> Iterator[None]:
    """Shorten the time-out for the acquirer's answers in a test that expects none. Other tests keep a
    long one.
    """
    link = made_acquirer().link
    assert link.is_up(within=5)
    usual = link._settings
    link._settings = link._thread._settings = replace(usual, timeout=seconds)
    try:
        yield
    finally:
        link._settings = link._thread._settings = usual


@contextmanager
def bank_running(settings, *, timeout: float = 8) -> Iterator[BankSimulator]:
    """Run a bank and route payouts to it."""
    simulator = BankSimulator(client_id="sluice", key="shared-key-of-a-test")
    with simulator_serving(simulator) as bank, connected_bank(settings, bank, timeout=timeout):
        yield bank


@contextmanager
def connected_bank(settings, bank, *, timeout: float = 8) -> Iterator[None]:
    """Route payouts to a running bank, in a thread or a process."""
    settings.PAYOUT_BANK = HTTP_BANK
    settings.BANK_URL, settings.BANK_CLIENT_ID, settings.BANK_SECRET_KEY = bank.url, "sluice", bank.key
    settings.BANK_TIMEOUT = timeout
    connectors._made.cache_clear()
    try:
        yield
    finally:
        connectors._made.cache_clear()


@contextmanager
def short_bank_timeout(seconds: float = 0.3) -> Iterator[None]:
    """Shorten the time-out for the bank's answers in a test that expects none."""
    caller = made_bank()._caller
    usual = caller._peer
    caller._peer = replace(usual, timeout=seconds)
    try:
        yield
    finally:
        caller._peer = usual


def plan(bank: BankSimulator, *words: str) -> None:
    """Set the bank's faults for its next calls."""
    bank.plan.extend(Fault.read(word) for word in words)
