"""The service with real processes, real HTTP and a real database. Nothing is mocked."""

import json
import os
import secrets
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import requests

from kit.free_ports import free_port
from tests import database_copies
from tests.clients import Credentials, HttpClient

PROJECT = Path(__file__).resolve().parents[2]


@dataclass
class Service:
    """A running service, with the data and credentials that a merchant's developer has."""

    base_url: str
    credentials: Credentials
    business: str
    email: str  # the owner's, with the password to sign in
    password: str
    folder: Path
    environment: dict[str, str]
    pid: int  # of the process that started the others

    @property
    def client(self) -> HttpClient:
        return HttpClient(self.base_url, self.credentials)

    @property
    def log(self) -> str:
        return (self.folder / "service.log").read_text()

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a manage.py command with the service's database."""
        return subprocess.run(
            [sys.executable, "manage.py", *arguments],
            cwd=PROJECT,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def open_business(self, name: str) -> HttpClient:
        made = self.command(
            "create_business",
            *("--name", name, "--allow-duplicate"),
            *("--email", f"{secrets.token_hex(5)}@example.com", "--json"),
        )
        assert made.returncode == 0, made.stderr
        document = json.loads(made.stdout)
        return HttpClient(self.base_url, Credentials(document["api_key"], document["secret_key"]))


@contextmanager
def start_service(folder: Path, *arguments: str, **extra_environment: str) -> Iterator[Service]:
    """Start the service in its own folder, on PostgreSQL if DATABASE_URL names such a database.

    There it has two web processes of `WEB_THREADS` threads, or four. `arguments` are those of the sandbox's command.
    """
    port = free_port()
    environment = os.environ | {
        "SANDBOX_DATA": str(folder),
        "PUBLIC_URL": f"http://127.0.0.1:{port}",
        # Journeys make calls as fast as possible; rate limits have their own tests.
        "RATE_LIMIT_WRITES": "1000000",
        "RATE_LIMIT_READS": "1000000",
        **extra_environment,
    }
    for name in ("SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "FINGERPRINT_KEY"):
        environment.pop(name, None)  # use those of this folder
    if environment.get("DATABASE_URL"):
        server = environment["DATABASE_URL"]
        template = database_copies.postgresql_template(environment, lambda name: url_of(server, name))
        with postgresql_database(server, template=template) as url:
            environment["DATABASE_URL"] = url
            with _gunicorn(folder, port, environment) as running:
                yield running
    else:
        with _sandbox(folder, port, environment, arguments) as running:
            yield running


@contextmanager
def _sandbox(
    folder: Path, port: int, environment: dict[str, str], arguments: tuple[str, ...]
) -> Iterator[Service]:
    if not (database := folder / "db.sqlite3").exists():
        database_copies.copy_to(database)
    command = [sys.executable, "manage.py", "sandbox", "--port", str(port), "--data", str(folder), *arguments]
    with _process(command, folder, port, environment) as pid:
        yield _service(json.loads((folder / "credentials.json").read_text()), folder, environment, pid)


@contextmanager
def _gunicorn(folder: Path, port: int, environment: dict[str, str]) -> Iterator[Service]:
    manage = [sys.executable, "manage.py"]
    create = [*manage, "create_business", "--name", "Ada Books", "--email", "ada@example.com", "--json"]
    made = subprocess.run(create, cwd=PROJECT, env=environment, check=True, capture_output=True, text=True)
    command = [sys.executable, "-m", "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi"]
    with _process(command, folder, port, environment | {"WEB_BIND": f"127.0.0.1:{port}"}) as pid:
        yield _service(json.loads(made.stdout), folder, environment, pid)


@contextmanager
def _process(command: list[str], folder: Path, port: int, environment: dict[str, str]) -> Iterator[int]:
    with (folder / "service.log").open("ab") as log:
        process = subprocess.Popen(
            command, cwd=PROJECT, env=environment, stdout=log, stderr=log, start_new_session=True
        )
    try:
        _wait_until_ready(f"http://127.0.0.1:{port}", process, folder / "service.log")
        yield process.pid
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(timeout=15)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            raise


@contextmanager
def postgresql_database(url: str, *, template: str = "template1") -> Iterator[str]:
    """Create a database for one service on the server of DATABASE_URL."""
    name = f"sluice_journey_{secrets.token_hex(4)}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    try:
        yield url_of(url, name)
    finally:
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


def url_of(server: str, name: str) -> str:
    """Return the URL of a database on the server of another URL."""
    return urlunsplit(urlsplit(server)._replace(path=f"/{name}"))


def _service(document: dict[str, str], folder: Path, environment: dict[str, str], pid: int) -> Service:
    return Service(
        base_url=document["base_url"],
        credentials=Credentials(document["api_key"], document["secret_key"]),
        business=document["business"],
        email=document["email"],
        password=document["password"],
        folder=folder,
        environment=environment,
        pid=pid,
    )


def _wait_until_ready(base_url: str, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + 180  # a new database takes half a minute of CPU
    while time.monotonic() < deadline:
        if process.poll() is not None:
            break
        try:
            if requests.get(f"{base_url}/readyz", timeout=1).ok:
                return
        except requests.RequestException:
            time.sleep(0.05)
    raise RuntimeError(f"The service did not start:\n{log.read_text()}")


def wait_until_open(port: int, process: subprocess.Popen[bytes]) -> None:
    """Wait until a process listens on the port."""
    for _ in range(200):
        if process.poll() is not None:
            break
        try:
            socket.create_connection(("127.0.0.1", port)).close()
        except ConnectionRefusedError:
            time.sleep(0.05)
        else:
            return
    raise RuntimeError("No process listens on the port.")
