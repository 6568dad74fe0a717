"""Run the simulators and our own commands as separate processes."""

import json
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar

import requests
from django.conf import settings

from kit.free_ports import free_port
from tests.databases import database_url

RAIL_SETTINGS = (
    "CARD_ACQUIRER", "ACQUIRER_HOST", "ACQUIRER_PORT", "ACQUIRER_TLS", "ACQUIRER_TIMEOUT", "ACQUIRER_TERMINAL_ID",
    "ACQUIRER_MERCHANT_ID", "ACQUIRER_INSTITUTION_ID", "PAYOUT_BANK", "BANK_URL", "BANK_CLIENT_ID", "BANK_SECRET_KEY",
)  # fmt: skip


@dataclass
class AcquirerProcess:
    """`manage.py acquirer_simulator`, and its control port."""

    port: int
    control_port: int

    def order(self, **order: Any) -> dict[str, Any]:
        with socket.create_connection(("127.0.0.1", self.control_port), timeout=10) as connection:
            connection.sendall(json.dumps(order).encode() + b"\n")
            said: dict[str, Any] = json.loads(connection.makefile().readline())
        assert "error" not in said, said
        return said

    def position(self, rrn: str) -> dict[str, int]:
        """Return the amounts of an authorisation or purchase in the acquirer's books."""
        found: dict[str, int] = self.order(books=True)["books"][rrn]
        return found


@dataclass
class BankProcess:
    """`manage.py bank_simulator`."""

    url: str
    key: ClassVar = "shared-key-of-a-test"

    def order(self, **order: Any) -> dict[str, Any]:
        answer = requests.post(f"{self.url}/control", json=order, timeout=10)
        assert answer.status_code == 200, answer.text
        said: dict[str, Any] = answer.json()
        return said


def environment(**more: str) -> dict[str, str]:
    """Return the environment variables of a process that uses this test's database and rails."""
    rails = {name: str(getattr(settings, name)) for name in RAIL_SETTINGS}
    return os.environ | rails | {"DATABASE_URL": database_url()} | more


def command(*arguments: str, prefix: tuple[str, ...] = (), **more: str) -> "subprocess.CompletedProcess[str]":
    """Run one of our commands until it exits."""
    return subprocess.run(
        [*prefix, sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=environment(**more),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextmanager
def acquirer_process() -> Iterator[AcquirerProcess]:
    made = AcquirerProcess(free_port(), free_port())
    ports = ("--port", str(made.port), "--control-port", str(made.control_port))
    with _serving("acquirer_simulator", *ports):
        yield made


@contextmanager
def bank_process(*arguments: str, **more: str) -> Iterator[BankProcess]:
    port = free_port()
    keys = {"BANK_CLIENT_ID": "sluice", "BANK_SECRET_KEY": BankProcess.key}
    with _serving("bank_simulator", "--port", str(port), *arguments, **keys, **more):
        yield BankProcess(f"http://127.0.0.1:{port}")


@contextmanager
def _serving(*arguments: str, **more: str) -> Iterator[None]:
    serving = subprocess.Popen(
        [sys.executable, "manage.py", *arguments],
        cwd=settings.BASE_DIR,
        env=environment(**more),
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert serving.stdout is not None
        assert "listens on" in serving.stdout.readline()
        yield
    finally:
        serving.terminate()
        serving.wait(timeout=20)


def until(condition: Any, *, seconds: float = 20) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)
