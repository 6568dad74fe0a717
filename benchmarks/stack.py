"""Environment of webhook benchmarks: a separate database and Redis, a receiver, and our processes."""

import json
import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, cast

from benchmarks.cpu_time import cpu_seconds, used_between
from kit.free_ports import free_port
from tests.faults.processes import Process, Redis
from tests.journeys.service import PROJECT, postgresql_database, wait_until_open

DEFAULT_DATABASE = "postgres://postgres@127.0.0.1:5432/postgres"
WORKER = (
    "celery", "-A", "config", "worker", "--pool", "threads", "--concurrency", "2",
    "--without-mingle", "--without-gossip",
)  # fmt: skip


class Sink:
    """The receiver, in its own process."""

    def __init__(self, port: int) -> None:
        self.url = f"http://127.0.0.1:{port}"

    def reset(self) -> None:
        self._get("reset")

    def count(self) -> int:
        return int(self._get("stats")["count"])

    def rate(self) -> float:
        """Return the arrivals per second between the first one and the last one."""
        stats = self._get("stats")
        return float((stats["count"] - 1) / (stats["last_at"] - stats["first_at"]))

    def arrivals(self) -> dict[str, float]:
        return dict(self._get("arrivals"))

    def wait_for(self, count: int, *, seconds: float) -> None:
        wait_until(lambda: self.count() >= count, seconds=seconds, what=f"{count:,} deliveries")

    def _get(self, what: str) -> Any:
        with urllib.request.urlopen(f"{self.url}/{what}", timeout=60) as answer:  # noqa: S310  (our own sink)
            return json.load(answer)


class Stack:
    """Runs our commands and processes with a shared environment."""

    def __init__(self, folder: Path, environment: dict[str, str], sink: Sink) -> None:
        self.folder, self.environment, self.sink = folder, environment, sink

    def run(self, *module: str, **extra_environment: str) -> str:
        """Run one of our modules to its end, and return what it printed."""
        done = subprocess.run(
            [sys.executable, "-m", *module],
            cwd=PROJECT, env=self.environment | extra_environment, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return done.stdout

    def run_with_django(self, *module: str, **extra_environment: str) -> str:
        """Run one of our modules that imports models at its top."""
        return self.run("tests.with_django", *module, **extra_environment)

    @contextmanager
    def running(self, *module: str, count: int = 1, **extra_environment: str) -> Iterator[list[Process]]:
        """Run `count` processes of a module, and stop them gracefully."""
        environment = self.environment | extra_environment
        processes = [
            Process(
                f"{module[0]}-{number}",
                [sys.executable, "-m", *(part.replace("%n", str(number)) for part in module)],
                self.folder / f"{module[0]}-{number}.log",
                cwd=PROJECT,
                env=environment,
            )
            for number in range(count)
        ]
        try:
            for process in processes:
                process.start()
            yield processes
        finally:
            for process in processes:
                process.send(signal.SIGCONT)
                child_of(process).terminate()
            for process in processes:
                try:
                    child_of(process).wait(timeout=30)
                except subprocess.TimeoutExpired:
                    process.kill()

    @contextmanager
    def workers(self, count: int = 1) -> Iterator[list[Process]]:
        """Run our Celery workers, and wait until they are ready."""
        with self.running(*WORKER, "--hostname", "ours-%n@localhost", count=count) as processes:
            self.wait_for_workers(count)
            yield processes

    def wait_for_workers(self, count: int) -> None:
        wait_for_workers(self.environment["REDIS_URL"], count)


@contextmanager
def stack(**extra_environment: str) -> Iterator[Stack]:
    with ExitStack() as exits:
        folder = Path(exits.enter_context(TemporaryDirectory()))
        redis = Redis(folder)
        redis.start()
        exits.callback(redis.kill)
        url = exits.enter_context(postgresql_database(os.environ.get("DATABASE_URL", DEFAULT_DATABASE)))
        environment = os.environ | {
            "SANDBOX_DATA": str(folder),
            "DATABASE_URL": url,
            "REDIS_URL": f"redis://127.0.0.1:{redis.port}/0",
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "LOG_LEVEL": "WARNING",
            **extra_environment,
        }
        yield Stack(folder, environment, exits.enter_context(running_sink()))


@contextmanager
def running_sink() -> Iterator[Sink]:
    port = free_port()
    process = subprocess.Popen([sys.executable, str(PROJECT / "benchmarks" / "sink.py"), str(port)])
    try:
        wait_until_open(port, process)
        yield Sink(port)
    finally:
        process.terminate()
        process.wait()


def wait_for_workers(redis_url: str, count: int) -> None:
    """Wait until `count` Celery workers are waiting for messages."""

    def listening() -> int:
        command = ["redis-cli", "-u", redis_url, "CLIENT", "LIST"]
        found = subprocess.run(command, check=False, capture_output=True, text=True).stdout
        return sum("cmd=brpop" in line for line in found.splitlines())

    wait_until(lambda: listening() >= count, seconds=60, what="workers")


def wait_until(condition: Callable[[], Any], *, seconds: float, what: str) -> None:
    ends_at = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > ends_at:
            raise SystemExit(f"Timed out after {seconds:.0f} seconds waiting for {what}.")
        time.sleep(0.2)


def child_of(process: Process) -> "subprocess.Popen[bytes]":
    """Return the running program of a process that was started."""
    return cast("subprocess.Popen[bytes]", process.running)


def peak_memory(process: Process) -> float:
    """Return the peak memory of a process in MB."""
    return memory(child_of(process).pid, "VmHWM")


def memory(pid: int, what: str) -> float:
    """Return a memory figure of a process from the kernel, in MB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith(what)).split()[1]) / 1024


def cpu_share(pids: list[int], *, seconds: float) -> float:
    """Return the CPU use of processes over a period, in per cent of one core."""
    before = cpu_seconds(pids)
    time.sleep(seconds)
    return used_between(before, cpu_seconds(pids)) / seconds * 100
