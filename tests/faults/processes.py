"""Programs that a test may kill, stop and restart."""

import os
import signal
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import redis

from kit.free_ports import free_port
from tests.journeys.service import wait_until_open

WAIT_LIMIT = 180.0  # seconds after which a wait fails; not a limit on speed
HANGING = 1_800  # the same for a whole test


def wait_until(condition: Callable[[], Any], *, seconds: float = WAIT_LIMIT, what: str = "it") -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, f"timed out after {seconds} seconds, waiting for {what}"
        time.sleep(0.02)  # leave CPU time to the awaited process


class Process:
    """A program with all its children, in their own process group."""

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
        """Kill it with all its children."""
        if self.running is not None and self.running.poll() is None:
            self.send(signal.SIGKILL)
            self.running.wait(timeout=WAIT_LIMIT)

    def children(self) -> set[int]:
        """Return its child processes."""
        assert self.running is not None
        found = Path(f"/proc/{self.running.pid}/task/{self.running.pid}/children").read_text()
        return {int(one) for one in found.split()}

    def stop(self, number: int = signal.SIGTERM, *, seconds: float = WAIT_LIMIT) -> None:
        """Terminate it and wait."""
        assert self.running is not None
        self.running.send_signal(number)
        self.running.wait(timeout=seconds)


class Redis(Process):
    def __init__(self, folder: Path) -> None:
        self.port = free_port()
        self._client = redis.Redis(port=self.port, socket_timeout=10)
        options = ["--bind", "127.0.0.1", "--port", str(self.port), "--save", "", "--appendonly", "no"]
        super().__init__("redis", ["redis-server", *options, "--dir", str(folder)], folder / "redis.log")

    def start(self) -> None:
        super().start()
        assert self.running is not None
        wait_until_open(self.port, self.running)

    def flush(self) -> None:
        self._client.flushall()

    def commands(self) -> list[str]:
        """Return the last command of each connection; none while the server is down."""
        try:
            return [one["cmd"] for one in self._client.client_list()]
        except redis.RedisError:
            return []
