import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from pathlib import Path

import pytest

from sluice import Sluice

PROJECT = Path(__file__, "../../../..").resolve()
CARD = {
    "type": "card",
    "pan": "4084084084084081",
    "name": "Ada Obi",
    "expiry_month": "12",
    "expiry_year": "2035",
    "cvv": "408",
}


@pytest.fixture
def card():
    return dict(CARD)


@pytest.fixture(scope="session")
def sandbox(tmp_path_factory):
    """The folder of a running sandbox, on SQLite whatever the other tests use."""
    folder = tmp_path_factory.mktemp("sandbox")
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    theirs = {"DATABASE_URL", "REDIS_URL", "SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "FINGERPRINT_KEY"}
    environment = {name: value for name, value in os.environ.items() if name not in theirs}
    process = subprocess.Popen(
        [sys.executable, "manage.py", "sandbox", "--port", str(port), "--data", str(folder)],
        cwd=PROJECT,
        env=environment | {"SANDBOX_CURRENT": str(folder / "current"), "RATE_LIMIT_WRITES": "1000000"},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        _await(f"http://127.0.0.1:{port}/livez", process)
        yield folder
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(timeout=30)


@pytest.fixture
def client(sandbox):
    with Sluice.from_sandbox(sandbox) as made:
        yield made


def _await(address, process):
    for _ in range(600):
        assert process.poll() is None, "The sandbox has ended."
        try:
            urllib.request.urlopen(address, timeout=5).close()  # noqa: S310  (our own address)
        except OSError:
            time.sleep(0.1)
        else:
            return
    pytest.fail("The sandbox does not answer.")
