"""Everything that Sluice consists of, as processes that a test may kill, stop and start again."""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import requests

from tests.clients import Credentials, HttpClient
from tests.journeys.service import PROJECT, free_port, postgresql_database, wait_until_open

SHOPS = 4
TIMEOUT = 1  # seconds for one exchange, so that leases of killed workers end soon


def wait_until(condition: Callable[[], Any], *, seconds: float, what: str = "it") -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"waited {seconds} seconds in vain for {what}"
        time.sleep(0.005)


class Process:
    """A program with all its children, in a group of their own."""

    def __init__(self, name: str, command: list[str], log: Path, **options: Any) -> None:
        self.name, self.command, self.log, self.options = name, command, log, options
        self.running: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        with self.log.open("ab") as log:
            self.running = subprocess.Popen(
                self.command, stdout=log, stderr=log, start_new_session=True, **self.options
            )

    def send(self, number: int) -> None:
        assert self.running is not None
        os.killpg(self.running.pid, number)

    def kill(self) -> None:
        """End it at once, with all its children."""
        if self.running is not None and self.running.poll() is None:
            self.send(signal.SIGKILL)
            self.running.wait(timeout=10)

    def stop(self, number: int = signal.SIGTERM, *, seconds: float = 20) -> None:
        """Ask it to end, and wait."""
        assert self.running is not None
        self.running.send_signal(number)
        self.running.wait(timeout=seconds)


class Redis(Process):
    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        super().__init__("redis", ["redis-server", *options, "--dir", str(folder)], folder / "redis.log")

    def start(self) -> None:
        super().start()
        assert self.running is not None
        wait_until_open(self.port, self.running)

    def flush(self) -> None:
        command = ["redis-cli", "-p", str(self.port), "FLUSHALL"]
        subprocess.run(command, check=True, capture_output=True, timeout=10)


class Supervisor:
    """Web, workers and beat over a database of their own and a Redis of their own."""

    def __init__(self, folder: Path, *, database: str, receiver_url: str) -> None:
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
            seed, cwd=PROJECT, env=self.environment, check=True, stdout=subprocess.PIPE, text=True, timeout=90
        )
        self.shops = [
            HttpClient(self.base_url, Credentials(one["api_key"], one["secret_key"]))
            for one in json.loads(made.stdout)
        ]
        self.web = self._process(
            "web", "gunicorn", "config.wsgi", "--bind", f"127.0.0.1:{port}",
            "--workers", "2", "--worker-class", "gthread", "--threads", "4", "--no-control-socket",
        )  # fmt: skip
        self.workers = [self._worker(number) for number in range(2)]
        self.beat = self._process(
            "beat", "celery", "-A", "config", "beat", "--schedule", str(folder / "beat"), "--pidfile", ""
        )

    def _worker(self, number: int) -> Process:
        return self._process(
            f"worker{number}", "celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "4",
            "--hostname", f"worker{number}@localhost", "--include", "tests.faults.impatience",
        )  # fmt: skip

    def patient_worker(self) -> Process:
        """Return a worker with the time limit and the leases of production."""
        return self._process(
            "patient", "celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "4",
            "--hostname", "patient@localhost", WEBHOOK_TIMEOUT="10",
        )  # fmt: skip

    def _process(self, name: str, *module: str, **environment: str) -> Process:
        command = [sys.executable, "-m", *module]
        log = self._folder / f"{name}.log"
        return Process(name, command, log, cwd=PROJECT, env=self.environment | environment)

    def have(self, *, workers: int = 1, beat: bool = True) -> None:
        """Let run what a test wants to run, and nothing else."""
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
        wait_until(self._answers, seconds=30, what="web")
        self.wait_for_workers(workers)

    def wait_for_workers(self, count: int) -> None:
        """Wait until workers listen to the queue: each has a connection that waits for a message."""
        ask = ["redis-cli", "-p", str(self.redis.port), "CLIENT", "LIST"]

        def listening() -> int:
            found = subprocess.run(ask, check=False, capture_output=True, text=True, timeout=10).stdout
            return sum("cmd=brpop" in line for line in found.splitlines())

        wait_until(lambda: listening() >= count, seconds=30, what="workers")

    def _answers(self) -> bool:
        try:
            return bool(requests.get(f"{self.base_url}/readyz", timeout=2).ok)
        except requests.RequestException:
            return False

    def end(self) -> None:
        for process in (self.beat, *self.workers, self.web, self.redis):
            process.kill()

    def query(self, statement: str, *values: Any) -> list[Any]:
        with psycopg.connect(self.database, autocommit=True) as connection:
            return connection.execute(statement, values).fetchall()

    @contextmanager
    def locked(self, statement: str, *values: Any) -> Iterator[None]:
        """Hold the locks of a statement: whoever needs them waits there, inside its own transaction."""
        with psycopg.connect(self.database) as connection:
            connection.execute(statement, values)
            yield
            connection.rollback()

    def wait_for_blocked(self, *, like: str) -> None:
        """Wait until somebody waits for a lock in a statement of this kind."""
        ask = "SELECT 1 FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database() AND query LIKE %s"
        wait_until(lambda: self.query(ask, like), seconds=10, what=f"a lock in {like}")

    def logs(self) -> str:
        return "\n".join(
            f"--- {path.name}\n{path.read_text(errors='replace')[-3000:]}"
            for path in self._folder.glob("*.log")
        )


class PostgreSQL(Process):
    """A database server of its own, to be stopped."""

    def __init__(self, folder: Path) -> None:
        port = free_port()
        found = shutil.which("initdb") or max(Path("/usr/lib/postgresql").glob("*/bin/initdb"))
        programs, data = Path(found).parent, folder / "data"
        as_user: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL does not run as root
            shutil.chown(folder, "postgres")
            as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        initdb = [
            programs / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "-A",
            "trust",
            "-E",
            "UTF8",
            "--locale=C",
        ]
        subprocess.run(initdb, check=True, stdout=subprocess.DEVNULL, cwd=folder, timeout=60, **as_user)
        self.url = f"postgres://postgres@127.0.0.1:{port}/postgres"
        command = [str(programs / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder)]
        super().__init__(
            "postgres", [*command, "-h", "127.0.0.1"], folder / "postgres.log", cwd=folder, **as_user
        )

    def start(self) -> None:
        super().start()
        wait_until(self._answers, seconds=30, what="PostgreSQL")

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True


@contextmanager
def running_postgresql() -> Iterator[PostgreSQL]:
    folder = Path(tempfile.mkdtemp(prefix="sluice-faults-"))
    try:
        server = PostgreSQL(folder)
        server.start()
        try:
            yield server
        finally:
            server.kill()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def supervised(folder: Path, *, server: str, receiver_url: str) -> Iterator[Supervisor]:
    """Own a whole service, on a database of its own at that server."""
    with postgresql_database(server) as database:
        supervisor = Supervisor(folder, database=database, receiver_url=receiver_url)
        try:
            yield supervisor
        finally:
            supervisor.end()
