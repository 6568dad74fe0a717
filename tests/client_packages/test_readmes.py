"""The receivers in the clients' READMEs are complete: pasted, they refuse forged requests and go on."""

import os
import re
import socket
import subprocess
import sys
import time
from contextlib import contextmanager
from datetime import UTC, datetime
from uuid import uuid4

import pytest
import requests
from sluice import testing

from config.environment.env import PROJECT
from webhooks.signing import standard_headers

KEY = "whk_test"


def receiver_in(readme, language):
    section = readme.read_text().partition("## Receive webhooks\n")[2]
    return re.search(rf"^```{language}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)[1]


@contextmanager
def running(*command, cwd):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    environment = os.environ | {"WEBHOOK_HASH_KEY": KEY}
    process = subprocess.Popen(
        [*command, str(port)],
        cwd=cwd,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        for _ in range(200):
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        yield f"http://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.communicate()


def assert_receives(address, process):
    body = testing.event("payment.success", reference="order-1")
    signed = {"X-Service-Signature": testing.sign(body, KEY)}
    standard = standard_headers([KEY], delivery_id=uuid4(), at=datetime.now(UTC), body=body)

    def statuses(*headers):
        return [requests.post(address, data=body, headers=each, timeout=10).status_code for each in headers]

    assert statuses({}, {"X-Service-Signature": "0" * 64}, signed, standard, {}) == [400, 400, 204, 204, 400]
    assert process.poll() is None
    process.terminate()
    assert process.stdout.read().split().count("order-1") == 1  # handled once


@pytest.mark.long
def test_the_python_receiver_survives_unsigned_requests(tmp_path):
    (tmp_path / "receiver.py").write_text(receiver_in(PROJECT / "clients/python/README.md", "python"))

    with running(sys.executable, "receiver.py", cwd=tmp_path) as (address, process):
        assert_receives(address, process)


@pytest.mark.clients
def test_the_node_receiver_survives_unsigned_requests(node_client, tmp_path):
    code = receiver_in(node_client / "README.md", "js")
    client = f'"{node_client}/build/src/index.js"'
    (tmp_path / "receiver.mjs").write_text(code.replace('"sluice-client"', client))

    with running("node", "receiver.mjs", cwd=tmp_path) as (address, process):
        assert_receives(address, process)
