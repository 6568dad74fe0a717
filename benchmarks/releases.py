"""Releases of the service, each with its own installation, database, Redis and processes.

A release is used by HTTP and by what every release has: the commands `migrate`, `create_business`,
`configure_webhook` and `replay_webhooks`, gunicorn with the release's own configuration, and the Celery worker.
"""

import json
import os
import secrets
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import psycopg

from benchmarks.cpu_time import children_of, cpu_seconds
from benchmarks.stack import child_of
from kit.free_ports import free_port
from tests.clients import Credentials
from tests.faults.processes import Process, Redis
from tests.journeys.service import PROJECT, postgresql_database, wait_until_open

GUNICORN_FILES = ("config/runtime/gunicorn.py", "config/gunicorn.py")  # where releases have it
SETTINGS = {
    "ENVIRONMENT": "sandbox",  # whose rails answer within the process
    "WEB_WORKERS": "2",
    "WEB_THREADS": "4",
    "RATE_LIMIT_WRITES": "1000000",
    "RATE_LIMIT_READS": "1000000",
    "LOG_LEVEL": "WARNING",
    "LOG_REQUESTS": "False",  # as in production, and so is the next
    "REQUEST_LOG_READS": "False",
}
GENERATED = {"SECRET_KEY", "FIELD_ENCRYPTION_KEYS", "FINGERPRINT_KEY"}  # each release generates its own
OF_MAKE = {
    "MAKEFLAGS",
    "MFLAGS",
    "MAKELEVEL",
}  # variables of this `make` are unknown to other releases' Makefiles


def commit_named(name: str) -> str:
    """Return the full hash of a commit.

    :raises SystemExit: this repository has no such commit
    """
    found = _git("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}", check=False)
    if found.returncode:
        raise SystemExit(
            f"{name} is not a commit of this repository. Fetch it first; in a shallow clone: git fetch --unshallow"
        )
    return found.stdout.strip()


@contextmanager
def checked_out(commit: str) -> Iterator[Path]:
    """Check a commit out into a temporary worktree, and install it there with its own lock file."""
    with TemporaryDirectory(prefix="sluice-compare-") as parent:
        folder = Path(parent, commit[:8])
        _git("worktree", "add", "--detach", str(folder), commit)
        try:
            print(f"installing {commit[:8]} in {folder}", flush=True)
            environment = {name: value for name, value in os.environ.items() if name not in OF_MAKE}
            # Reuses the uv of this installation, if it has one.
            environment["PATH"] = f"{PROJECT / '.tools/uv/bin'}:{environment['PATH']}"
            subprocess.run(["make", "--silent", "install"], cwd=folder, env=environment, check=True)
            yield folder
        finally:
            _git("worktree", "remove", "--force", str(folder))


def _git(*arguments: str, check: bool = True) -> subprocess.CompletedProcess[str]:
    return subprocess.run(["git", *arguments], cwd=PROJECT, check=check, capture_output=True, text=True)


@dataclass
class Release:
    """A migrated release with its own database and Redis, and its web processes."""

    name: str
    folder: Path  # of its code
    data: Path  # of its generated keys and its logs
    environment: dict[str, str]
    port: int
    web: Process

    @property
    def database_url(self) -> str:
        return self.environment["DATABASE_URL"]

    def manage(self, *arguments: str) -> str:
        """Run a command, and return what it printed.

        :raises SystemExit: the command failed
        """
        return _manage(self.folder, self.environment, *arguments)

    @contextmanager
    def running(self, name: str, *arguments: str) -> Iterator[Process]:
        """Run a module with the release's Python, and stop it afterwards. Its log has the given name."""
        command = [_python(self.folder), "-m", *arguments]
        process = Process(name, command, self.data / f"{name}.log", cwd=self.folder, env=self.environment)
        with _running(process):
            yield process

    def create_business(self, name: str) -> Credentials:
        email = f"{secrets.token_hex(5)}@example.com"
        made = json.loads(self.manage("create_business", "--name", name, "--email", email, "--json"))
        return Credentials(made["api_key"], made["secret_key"])

    def cpu_of_web(self) -> dict[int, float]:
        """Return the CPU seconds that gunicorn's processes have used so far."""
        master = child_of(self.web).pid
        return cpu_seconds([master, *children_of(master)])

    def cpu_of_database(self) -> dict[int, float]:
        """Return the CPU seconds used so far by this database's backends and the server's WAL writer.

        Empty if the server is on another machine.
        """
        with psycopg.connect(self.database_url) as connection:
            found = connection.execute(
                "SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() "
                "AND (datname = current_database() OR backend_type = 'walwriter')"
            ).fetchall()
        return cpu_seconds(pid for (pid,) in found if _is_postgres(pid))


def _is_postgres(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip() == "postgres"
    except FileNotFoundError:
        return False


def _manage(folder: Path, environment: dict[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [_python(folder), "manage.py", *arguments],
        cwd=folder, env=environment, check=False, capture_output=True, text=True,
    )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"{folder}: manage.py {' '.join(arguments)} failed.\n{done.stdout}{done.stderr}")
    return done.stdout


def _python(folder: Path) -> str:
    return str(folder / ".venv" / "bin" / "python")


@contextmanager
def running_release(name: str, folder: Path) -> Iterator[Release]:
    """Start a release on new servers: a database on the server of DATABASE_URL, and a Redis."""
    configuration = next((file for file in GUNICORN_FILES if (folder / file).exists()), None)
    if configuration is None:
        raise SystemExit(f"{name} has no configuration of gunicorn: none of {', '.join(GUNICORN_FILES)}.")
    with ExitStack() as exits:
        data = Path(exits.enter_context(TemporaryDirectory(prefix="sluice-compare-")))
        redis = Redis(data)
        redis.start()
        exits.callback(redis.kill)
        port = free_port()
        environment = {key: value for key, value in os.environ.items() if key not in GENERATED}
        environment |= SETTINGS | {
            "DATABASE_URL": exits.enter_context(postgresql_database(os.environ["DATABASE_URL"])),
            "REDIS_URL": f"redis://127.0.0.1:{redis.port}/0",
            "SANDBOX_DATA": str(data),
            "WEB_BIND": f"127.0.0.1:{port}",
            "PUBLIC_URL": f"http://127.0.0.1:{port}",
        }
        _manage(folder, environment, "migrate", "-v0")
        command = [_python(folder), "-m", "gunicorn", "-c", configuration, "config.wsgi"]
        web = Process("web", command, data / "web.log", cwd=folder, env=environment)
        exits.enter_context(_running(web))
        _wait_until_ready(name, web, port)
        yield Release(name, folder, data, environment, port, web)


@contextmanager
def _running(process: Process) -> Iterator[None]:
    process.start()
    try:
        yield
    finally:
        try:
            process.stop(signal.SIGTERM, seconds=30)
        except subprocess.TimeoutExpired:
            process.kill()


def _wait_until_ready(name: str, web: Process, port: int) -> None:
    try:
        wait_until_open(port, child_of(web))
    except RuntimeError:
        raise SystemExit(f"{name} did not start:\n{web.log.read_text()}") from None
