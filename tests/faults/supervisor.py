"""All processes of Sluice, which a test may kill, stop and restart."""

import json
import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import requests

from kit.free_ports import free_port
from tests.clients import Credentials, HttpClient
from tests.faults.postgresql import PostgreSQL
from tests.faults.processes import WAIT_LIMIT, Process, Redis, wait_until
from tests.faults.short_leases import TIMEOUT
from tests.journeys.service import PROJECT, postgresql_database

SHOPS = 4
COMMAND_LIMIT = 120  # seconds


class Supervisor:
    """Web, workers and beat with their own PostgreSQL and Redis.

    `variables` are environment variables of these processes. The command that creates the tables does not get them.
    """

    def __init__(
        self, folder: Path, *, server: PostgreSQL, database: str, receiver_url: str, **variables: str
    ) -> None:
        self.server = server
        self.database = database
        self.redis = Redis(folder)
        port = free_port()
        self.base_url = f"http://127.0.0.1:{port}"
        self._folder = folder
        self.environment = os.environ | {
            "SANDBOX_DATA": str(folder),
            "DATABASE_URL": database,
            "REDIS_URL": f"redis://127.0.0.1:{self.redis.port}/0",
            "PUBLIC_URL": self.base_url,
            "RATE_LIMIT_WRITES": "1000000",
            "RATE_LIMIT_READS": "1000000",
            "LOG_REQUESTS": "False",
            "WEBHOOK_TIMEOUT": str(TIMEOUT),
            "WEBHOOK_RETRY_DELAYS": "0,1,1,1,2,2,2,2",
        }
        seed = [sys.executable, "-m", "tests.faults.seed", receiver_url, str(SHOPS)]
        made = subprocess.run(
            seed,
            cwd=PROJECT,
            env=self.environment,
            check=True,
            stdout=subprocess.PIPE,
            text=True,
            timeout=2 * WAIT_LIMIT,
        )
        self.environment |= variables
        self.shops = [
            HttpClient(self.base_url, Credentials(one["api_key"], one["secret_key"]))
            for one in json.loads(made.stdout)
        ]
        self.web = self._process(
            "web", "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi", WEB_BIND=f"127.0.0.1:{port}"
        )
        self.workers = [self._worker_with_short_leases(number) for number in range(2)]
        self.beat = self._process(
            "beat", "celery", "-A", "config", "beat", "--schedule", str(folder / "beat"), "--pidfile", ""
        )

    def _worker_with_short_leases(self, number: int) -> Process:
        return self._worker_named(f"worker{number}", "--include", "tests.faults.short_leases")

    def production_worker(self) -> Process:
        """Return a worker with the time limit and the leases of production."""
        return self._worker_named("patient", WEBHOOK_TIMEOUT="10")

    def _worker_named(self, name: str, *options: str, **environment: str) -> Process:
        return self._process(
            name, "celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "4",
            "--without-mingle", "--without-gossip", "--hostname", f"{name}@localhost", *options, **environment,
        )  # fmt: skip

    def second_web(self) -> tuple[Process, str]:
        """Return the web processes of a second host, and their URL."""
        address = f"127.0.0.1:{free_port()}"
        command = ("gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi")
        return self._process("web2", *command, WEB_BIND=address), f"http://{address}"

    def web_with_socket(self, listening_socket: socket.socket) -> Process:
        """Return web processes that inherit a listening socket, as from systemd."""
        handed = ("tests.faults.socket_activation", str(listening_socket.fileno()))
        web = self._process("web3", *handed, "gunicorn", "-c", "config/runtime/gunicorn.py", "config.wsgi")
        web.options["pass_fds"] = (listening_socket.fileno(),)
        return web

    def manage(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Run a command of manage.py, and return its exit code and what it printed."""
        command = [sys.executable, "manage.py", *arguments]
        return subprocess.run(
            command,
            cwd=PROJECT,
            env=self.environment,
            check=False,
            capture_output=True,
            text=True,
            timeout=COMMAND_LIMIT,
        )

    def _process(self, name: str, *module: str, **environment: str) -> Process:
        command = [sys.executable, "-m", *module]
        log = self._folder / f"{name}.log"
        return Process(name, command, log, cwd=PROJECT, env=self.environment | environment)

    def ensure_running(self, *, workers: int = 1, beat: bool = True) -> None:
        """Run the processes that a test needs, and no others."""
        wanted = {self.redis: True, self.web: True, self.beat: beat}
        wanted |= {worker: number < workers for number, worker in enumerate(self.workers)}
        for process, is_wanted in wanted.items():
            is_running = process.running is not None and process.running.poll() is None
            if is_wanted and not is_running:
                process.start()
            elif is_running and not is_wanted:
                process.kill()
        self.wait_until_ready(workers)

    def wait_until_ready(self, workers: int = 1) -> None:
        wait_until(lambda: self.is_ready(self.base_url), what="web")
        self.wait_for_workers(workers)

    def wait_for_workers(self, count: int) -> None:
        """Wait until workers consume the queue: each has a connection that waits for a message."""
        wait_until(lambda: self.redis.commands().count("brpop") >= count, what="workers")

    def is_ready(self, base_url: str) -> bool:
        try:
            return bool(requests.get(f"{base_url}/readyz", timeout=2).ok)
        except requests.RequestException:
            return False

    def stop(self) -> None:
        for process in (self.beat, *self.workers, self.web, self.redis):
            process.kill()

    def query(self, statement: str, *values: Any, **named: Any) -> list[Any]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            return connection.execute(statement, named or values).fetchall()

    @contextmanager
    def locked(self, statement: str, *values: Any) -> Iterator[None]:
        """Hold the locks of a statement, so that others wait for them inside their transactions."""
        with psycopg.connect(self.database) as connection:
            connection.execute(statement, values)
            yield
            connection.rollback()

    def wait_for_blocked(self, *, like: str) -> None:
        """Wait until a statement of this kind waits for a lock."""
        blocked = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE %s"
        wait_until(lambda: self.query(blocked, like), what=f"a lock in {like}")

    def logs(self) -> str:
        return "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}"
            for path in self._folder.glob("*.log")
        )


@contextmanager
def supervised(folder: Path, *, server: PostgreSQL, receiver_url: str) -> Iterator[Supervisor]:
    """Run the whole service with its own database on a server."""
    with postgresql_database(server.url) as database:
        supervisor = Supervisor(folder, server=server, database=database, receiver_url=receiver_url)
        try:
            yield supervisor
        finally:
            supervisor.stop()
