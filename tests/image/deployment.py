"""The services of docker-compose.yml as containers of one image, in production, with PostgreSQL, Redis and an acquirer.

All of them share one network that has nothing else. The receiver of webhooks has a public address there, because
production sends webhooks to no other.
"""

import json
import secrets
import subprocess
import time
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.clients import Credentials, HttpClient
from tests.faults.postgresql import running_postgresql
from tests.faults.processes import Redis
from tests.image import compose
from tests.image.compose import HealthCheck
from tests.image.engine import Engine
from tests.image.namespaces import private_network
from tests.image.receiver import HOST, Receiver, running_receiver
from tests.simulators import ISO8583, acquirer_running

PUBLIC_ADDRESS = "93.184.216.34"
SERVICES = ("web", "worker", "requery", "beat")
# Containers of docker-compose.yml have an address each; here, the second worker needs another port.
METRICS = {"worker": "127.0.0.1:9101", "requery": "127.0.0.1:9102"}
AUTHORITY = "/run/authority.pem"
PROXY_HEADERS = {"Host": "pay.example.com", "X-Forwarded-Proto": "https", "X-Forwarded-For": "198.51.100.7"}


class Deployment:
    """Running containers, and what a merchant and an operator need of them."""

    def __init__(self, engine: Engine, image: str, settings: dict[str, str], receiver: Receiver) -> None:
        self.engine, self.image, self.receiver = engine, image, receiver
        self._settings = settings
        self.health: dict[str, str] = {}
        self.run("migrate", *compose.command("migrate"))
        owner = ("--name", "Ada Books", "--email", "ada@example.com", "--json")
        business = self.manage("create_business", *owner)
        hooks = ("--business", "Ada Books", "--url", receiver.url, "--events", "payment,payout", "--json")
        self.hash_key = self.manage("configure_webhook", *hooks)["hash_key"]
        self.client = HttpClient(
            "http://127.0.0.1:8000", Credentials(business["api_key"], business["secret_key"])
        )

    def run(self, service: str, *command: str) -> str:
        """Run a command in a container of its own, and return its output."""
        return self.engine.podman("run", "--rm", *self._options(service), self.image, *command, timeout=300)

    def manage(self, *arguments: str) -> dict[str, Any]:
        """Return the JSON output of a management command."""
        printed: dict[str, Any] = json.loads(self.run("web", "python", "manage.py", *arguments))
        return printed

    def start(self, service: str) -> None:
        """Start a container and wait until it is healthy."""
        options = ("--detach", "--name", service, *self._options(service))
        self.engine.podman("run", *options, self.image, *compose.command(service))
        self._wait_until_healthy(service)

    def restart(self, service: str) -> int:
        """Stop a container in its grace period, and start it again; return the exit code of its process."""
        self.engine.podman("stop", "--time", str(compose.grace_period(service)), service)
        code: int = self.engine.inspect(service, "container")["State"]["ExitCode"]
        self.engine.podman("start", service)
        self._wait_until_healthy(service)
        return code

    def execute(self, service: str, *command: str, user: str = "10001") -> str:
        """Run a command in a running container, and return its output."""
        return self.engine.podman("exec", "--user", user, service, *command)

    def health_check(self, service: str) -> HealthCheck | None:
        """Return the check of docker-compose.yml, or else the image's; None if it is disabled."""
        declared = compose.SERVICES[service].get("healthcheck")
        if declared is None:
            return HealthCheck.of_image(self.engine.inspect(self.image)["Healthcheck"])
        return None if declared.get("disable") else HealthCheck.of_service(declared)

    def _wait_until_healthy(self, service: str) -> None:
        """Wait for a check that succeeds in its time. Fail once an engine would call the container unhealthy.

        Podman needs systemd to run health checks, so they run here; more often in the start period, to measure it.
        """
        check, failures, started = self.health_check(service), 0, time.monotonic()
        if check is None:
            return
        while not self._is_healthy(service, check):
            is_starting = time.monotonic() - started < check.start_period
            failures += not is_starting
            assert failures < check.retries, f"{service} is unhealthy:\n{self.log(service)}"
            time.sleep(0.5 if is_starting else check.interval)
        seconds = time.monotonic() - started
        self.health[service] = f"healthy after {seconds:.1f} s (start period {check.start_period:.0f} s)"

    def _is_healthy(self, service: str, check: HealthCheck) -> bool:
        port = METRICS.get(service, "").rpartition(":")[2]
        command = [word.replace("9101", port) for word in check.command]
        try:
            self.engine.podman("exec", service, *command, timeout=check.timeout)
        except (AssertionError, subprocess.TimeoutExpired):
            return False
        return True

    def log(self, service: str) -> str:
        return self.engine.log(service)

    def _options(self, service: str) -> list[str]:
        metrics = {"WORKER_METRICS_ADDRESS": METRICS[service]} if service in METRICS else {}
        return [
            *compose.privileges(service),
            *(f"--env={name}={value}" for name, value in (self._settings | metrics).items()),
            f"--volume={self.receiver.authority}:{AUTHORITY}:ro",
            f"--add-host={HOST}:{PUBLIC_ADDRESS}",
            "--no-healthcheck",  # Podman would need systemd
        ]


@contextmanager
def deployed(engine: Engine, image: str, folder: Path) -> Iterator[Deployment]:
    """Run the whole service from an image."""
    redis = Redis(folder)
    with (
        private_network(PUBLIC_ADDRESS),
        running_receiver(PUBLIC_ADDRESS, folder) as receiver,
        running_postgresql() as postgresql,
        acquirer_running() as acquirer,
    ):
        redis.start()
        try:
            settings = {
                "SECRET_KEY": secrets.token_urlsafe(48),
                "FIELD_ENCRYPTION_KEYS": urlsafe_b64encode(secrets.token_bytes(32)).decode(),
                "FINGERPRINT_KEY": secrets.token_urlsafe(32),
                "PUBLIC_URL": f"https://{PROXY_HEADERS['Host']}",
                "DATABASE_URL": postgresql.url,
                "REDIS_URL": f"redis://127.0.0.1:{redis.port}/0",
                "CARD_ACQUIRER": ISO8583,
                "ACQUIRER_HOST": "127.0.0.1",
                "ACQUIRER_PORT": str(acquirer.port),
                "ACQUIRER_TLS": "False",
                "ACQUIRER_TIMEOUT": "1",
                "ACQUIRER_INSTITUTION_ID": "628051",
                "ACQUIRER_TERMINAL_ID": "SLUICE01",
                "ACQUIRER_MERCHANT_ID": "SLUICE000000001",
                "SSL_CERT_FILE": AUTHORITY,
            }
            deployment = Deployment(engine, image, settings, receiver)
            for service in SERVICES:
                deployment.start(service)
            yield deployment
        finally:
            engine.podman("rm", "--all", "--force", "--time", "5")
            redis.kill()
