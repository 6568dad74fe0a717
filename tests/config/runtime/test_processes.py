"""Several gunicorn processes share their counters, and each start resets them."""

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
import requests

from kit.free_ports import free_port
from tests.journeys.service import PROJECT
from tests.operations.test_metrics import count, read

pytestmark = [pytest.mark.journey, pytest.mark.long]


@pytest.fixture
def base_url(tmp_path):
    port = free_port()
    environment = os.environ | {
        "SANDBOX_DATA": str(tmp_path / "data"),
        "TMPDIR": str(tmp_path),
        "WEB_BIND": f"127.0.0.1:{port}",
        "WEB_WORKERS": "2",
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        "DATABASE_URL": "",
    }
    (tmp_path / "data").mkdir()
    subprocess.run([sys.executable, "manage.py", "migrate", "-v0"], cwd=PROJECT, env=environment, check=True)
    command = [sys.executable, "-m", "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi"]
    process = subprocess.Popen(command, cwd=PROJECT, env=environment)
    url = f"http://127.0.0.1:{port}"
    try:
        wait_until_it_answers(f"{url}/livez", process)
        yield url
    finally:
        process.terminate()
        process.wait(timeout=30)
    assert list(tmp_path.glob("sluice-metrics-*")) == []


def wait_until_it_answers(url, process):
    for _ in range(300):
        assert process.poll() is None
        try:
            if requests.get(url, timeout=2).ok:
                return
        except requests.RequestException:
            time.sleep(0.1)
    pytest.fail("gunicorn does not answer")


class TestProcesses:
    def test_share_their_metrics(self, base_url):
        def ask(_):
            return requests.get(f"{base_url}/docs/limits", timeout=10).status_code  # its own connection each

        with ThreadPoolExecutor(8) as callers:
            assert set(callers.map(ask, range(60))) == {200}

        labels = {"method": "GET", "route": "/docs/<str:slug>", "status": "200"}
        counted = {
            count(
                read(requests.get(f"{base_url}/metrics", timeout=10).text),
                "sluice_request_duration_seconds_count",
                **labels,
            )
            for _ in range(10)
        }
        assert counted == {60}
