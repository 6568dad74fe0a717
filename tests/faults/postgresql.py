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

from tests.faults.processes import Process, wait_until
from tests.journeys.service import free_port


def find_programs() -> Path | None:
    """Return the folder of PostgreSQL's programs, if it is installed."""
    found = shutil.which("initdb") or max(Path("/usr/lib/postgresql").glob("*/bin/initdb"), default=None)
    return Path(found).parent if found else None


class PostgreSQL(Process):
    """A cluster and its postmaster. Backends have their own sessions, so killing the postmaster does not
    kill them.
    """

    def __init__(self, folder: Path, *, data: Path, wal: Path | None = None) -> None:
        port = free_port()
        programs = find_programs()
        assert programs is not None, "PostgreSQL is not installed"
        as_user: dict[str, Any] = {}
        if os.getuid() == 0:  # PostgreSQL does not run as root
            for place in (folder, data.parent):
                shutil.chown(place, "postgres")
            as_user = {"user": "postgres", "group": "postgres", "extra_groups": []}
        make = [str(programs / "initdb"), "-D", str(data), "-U", "postgres", "-A", "trust"]
        make += ["-E", "UTF8", "--locale=C", *(["--waldir", str(wal)] if wal else [])]
        subprocess.run(make, check=True, stdout=subprocess.DEVNULL, cwd=folder, timeout=60, **as_user)
        self.url = f"postgres://postgres@127.0.0.1:{port}/postgres"
        command = [str(programs / "postgres"), "-D", str(data), "-p", str(port), "-k", str(folder)]
        command += ["-h", "127.0.0.1"]
        super().__init__("postgres", command, folder / "postgres.log", cwd=folder, **as_user)

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

    def end(self) -> None:
        """Kill it with all its backends."""
        if self.running is not None and self.running.poll() is None:
            self.stop(signal.SIGQUIT)


@contextmanager
def running_postgresql(data: Path | None = None, *, has_log_elsewhere: bool = False) -> Iterator[PostgreSQL]:
    """Run a server in the given folder or a temporary one, with its write-ahead log there or elsewhere."""
    folder = Path(tempfile.mkdtemp(prefix="sluice-faults-"))
    try:
        wal = folder / "wal" if has_log_elsewhere else None
        server = PostgreSQL(folder, data=data or folder / "data", wal=wal)
        server.start()
        try:
            yield server
        finally:
            server.end()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
