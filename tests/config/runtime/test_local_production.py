"""`make run-production` runs all processes of production on this machine, and stops them all."""

import json
import re
import shutil
import signal
import stat
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest
import requests
from cryptography import x509
from cryptography.hazmat.primitives.serialization import load_pem_private_key

from config.runtime import local_production
from kit.free_ports import free_port
from tests.journeys.service import PROJECT


def is_running(pid):
    """Return whether a process is running. A zombie is not."""
    state = Path(f"/proc/{pid}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def printed_until(text, process):
    """Return what a process prints up to the line with a text."""
    printed = ""
    while text not in printed:
        line = process.stdout.readline()
        assert line, f"it has ended: {printed}"
        printed += line
    return printed


class TestCertificate:
    def test_is_for_this_host_and_its_own_key(self, tmp_path):
        certificate_file, key_file = local_production._certificate(tmp_path)

        certificate = x509.load_pem_x509_certificate(certificate_file.read_bytes())
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
        assert names.get_values_for_type(x509.DNSName) == ["localhost"]
        assert [str(each) for each in names.get_values_for_type(x509.IPAddress)] == ["127.0.0.1"]
        key = load_pem_private_key(key_file.read_bytes(), password=None)
        assert key.public_key() == certificate.public_key()
        assert stat.S_IMODE(key_file.stat().st_mode) == 0o600


class TestProcesses:
    def test_print_their_log_if_they_do_not_start(self, tmp_path):
        with ExitStack() as stack:
            command = [sys.executable, "-c", "raise SystemExit('no room for me')"]
            process = local_production._start("redis", command, tmp_path, stack)

            with pytest.raises(SystemExit, match="no room for me"):
                local_production._wait_for(free_port(), process, tmp_path / "redis.log")

    def test_are_killed_if_they_do_not_stop(self, tmp_path, monkeypatch):
        monkeypatch.setattr(local_production, "GRACE", 0.1)
        deaf = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); print(1, flush=True); signal.pause()"
        process = subprocess.Popen(
            [sys.executable, "-c", deaf], stdout=subprocess.PIPE, start_new_session=True
        )
        with process:
            assert process.stdout.readline() == b"1\n"

            local_production._end(process, signal.SIGTERM)

            assert process.returncode == -signal.SIGKILL


@pytest.mark.journey
@pytest.mark.skipif(
    not (
        shutil.which("redis-server")
        and (shutil.which("initdb") or any(Path("/usr/lib/postgresql").glob("*")))
    ),
    reason="PostgreSQL or Redis is not installed.",
)
@pytest.mark.long
class TestRunProduction:
    def test_serves_over_tls_and_cleans_up(self):
        port = free_port()
        command = [sys.executable, "-m", "config.runtime.local_production", "--port", str(port)]
        process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
        try:
            greeting = printed_until("manage.py doctor", process)
            [certificate] = re.findall(r"certificate +(\S+)", greeting)
            ready = requests.get(f"https://localhost:{port}/readyz", verify=certificate, timeout=30)
            [beside] = re.findall(r"^\. .+ manage\.py doctor$", greeting, re.MULTILINE)
            listed = subprocess.run(
                ["sh", "-c", beside.replace("doctor", "list_businesses").replace(".venv/bin/python", sys.executable)],
                cwd=PROJECT, capture_output=True, text=True, check=False,
            )  # fmt: skip
            mode = stat.S_IMODE((Path(certificate).parent / "settings.sh").stat().st_mode)
        finally:
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=120)

        assert (ready.status_code, ready.json()["database"], ready.json()["broker"]) == (200, "ok", "ok")
        assert (listed.returncode, "Demo Business" in listed.stdout, mode) == (0, True, 0o600), listed.stderr
        assert rest.endswith("Stopped.\n")
        [running] = re.findall(r"processes +(.+)", greeting)
        pids = dict(each.split() for each in running.split(", "))
        assert set(pids) == {"postgres", "redis", "web", "worker", "requery", "beat"}
        assert not any(is_running(pid) for pid in pids.values())
        assert not Path(certificate).parent.exists()

    def test_takes_payments_in_production_with_simulated_providers(self):
        command = [
            sys.executable,
            "-m",
            "config.runtime.local_production",
            "--simulators",
            "--port",
            str(free_port()),
        ]
        process = subprocess.Popen(command, cwd=PROJECT, stdout=subprocess.PIPE, text=True)
        try:
            shown = printed_until("/control", process)
            [settings] = re.findall(r"^\. \S+settings\.sh$", shown, re.MULTILINE)
            [call] = re.findall(r"^call\(\) .+$", shown, re.MULTILINE)
            by_card, payout = (
                partial(self.run, settings, call.replace(".venv/bin/python", sys.executable), line)
                for line in re.findall(r"^call /.+$", shown, re.MULTILINE)
            )
            paid, paid_out = by_card(), payout()
        finally:
            process.send_signal(signal.SIGINT)
            rest, _ = process.communicate(timeout=120)

        assert "ENVIRONMENT   production" in shown
        assert (paid["status"], paid["gateway_code"]) == ("success", "10000")
        assert paid_out["status"] in {"success", "pending"}  # Paystack decides later
        assert rest.endswith("Stopped.\n")

    @staticmethod
    def run(*lines, **names):
        script = "\n".join(lines)
        for name, value in names.items():
            script = script.replace(f'"{name}"', f'"{value}"')
        done = subprocess.run(["sh", "-c", script], cwd=PROJECT, capture_output=True, text=True, check=False)
        return json.loads(done.stdout)
