"""A PostgreSQL server for one test, which may be killed, restarted, and run out of disk space."""

import os
import shutil
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg

from kit.free_ports import free_port
from tests.faults.processes import Process, wait_until


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, if it is installed."""
    found = shutil.which("initdb") or max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)
    return Path(found).resolve().parent if found else None


class PostgreSQL(Process):
    """A cluster and its postmaster."""

    def __init__(self, folder: Path, *, data: Path, wal: Path | None = None, name: str = "") -> None:
        self.port = free_port()
        self.data, self.wal = data, wal
        self._folder = folder
        programs = find_programs()
        assert programs is not None, "PostgreSQL is not installed"
        self._programs = programs
        self._as_user: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL does not run as root
            for place in (folder, data.parent):
                shutil.chown(place, "postgres")
            self._as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        self.url = f"postgres://postgres@127.0.0.1:{self.port}/postgres"
        command = [str(programs / "postgres"), "-D", str(data), "-p", str(self.port), "-k", str(folder)]
        command += ["-h", "127.0.0.1"]
        command += [f"--cluster_name={name}"]
        super().__init__("postgres", command, folder / "postgres.log", cwd=folder, **self._as_user)

    def initialise(self, *options: str) -> None:
        """Create an empty cluster."""
        if self.wal:
            options += ("--waldir", str(self.wal))
        options += ("-U", "postgres", "-A", "trust", "-E", "UTF8", "--locale=C")
        self.run_program("initdb", "-D", str(self.data), *options)

    def run_program(self, name: str, *arguments: str) -> None:
        """Run one of PostgreSQL's programs as the user who runs the server."""
        command = [str(self._programs / name), *arguments]
        result = subprocess.run(
            command,
            check=False,
            capture_output=True,
            text=True,
            cwd=self._folder,
            timeout=60,
            **self._as_user,
        )
        assert result.returncode == 0, result.stdout + result.stderr

    def execute(self, statement: str, *values: Any) -> list[Any]:
        """Execute a statement outside a transaction, and return its rows."""
        with psycopg.connect(self.url, autocommit=True) as connection:
            cursor = connection.execute(statement, values or None)
            return cursor.fetchall() if cursor.description else []

    def start(self) -> None:
        """Start it, with retries while processes of the previous postmaster are still ending."""
        super().start()
        wait_until(self._has_started, what="PostgreSQL")

    def _has_started(self) -> bool:
        assert self.running is not None
        if self.running.poll() is not None:
            super().start()
        return self._answers()

    def _answers(self) -> bool:
        try:
            psycopg.connect(self.url, connect_timeout=2).close()
        except psycopg.OperationalError:
            return False
        return True

    def crash(self) -> None:
        """Kill the postmaster and all its processes with SIGKILL, as if the machine had lost power.

        They have their own sessions, so killing the postmaster's process group does not kill them.
        """
        assert self.running is not None
        self.running.send_signal(signal.SIGSTOP)  # it starts no more processes
        for pid in self.children():
            os.kill(pid, signal.SIGKILL)
        self.kill()

    def end(self) -> None:
        """Shut it down immediately, with all its backends."""
        if self.running is not None and self.running.poll() is None:
            self.stop(signal.SIGQUIT)


@contextmanager
def running_postgresql(data: Path | None = None, *, has_log_elsewhere: bool = False) -> Iterator[PostgreSQL]:
    """Run a server in the given folder or a temporary one, with its write-ahead log there or elsewhere."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-faults-"))
    try:
        wal = folder / "wal" if has_log_elsewhere else None
        server = PostgreSQL(folder, data=data or folder / "data", wal=wal)
        server.initialise()
        server.start()
        try:
            yield server
        finally:
            server.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
