"""Deliveries per second of our workers, two yardsticks and the embedded process, and their memory."""

import argparse
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from benchmarks.figures import Figure
from benchmarks.stack import Process, Stack, peak_memory, running_sink, stack
from tests.journeys.service import start_service

SHOPS = 100
YARDSTICK_PROCESSES = 8
PACKAGE_SETTINGS = "benchmarks.django_webhook_settings"
YARDSTICK_SHARE = 10  # fraction of the backlog for yardsticks, which are much slower


def backlog(options: argparse.Namespace) -> Iterator[Figure]:
    """Measure ours and the yardsticks in turns, each with an existing backlog."""
    with stack() as running:
        running.run_with_django("benchmarks.shops", running.sink.url, str(SHOPS))
        ours, tasks, package = [], [], []
        for _ in range(options.rounds):
            ours.append(_ours(running, options))
            tasks.append(_tasks(running, options.backlog // YARDSTICK_SHARE))
            package.append(_package(running, options.backlog // YARDSTICK_SHARE))
    name = f"backlog of {options.backlog:,}, {options.workers} workers"
    yield Figure.of_rounds(name, ours, "/s", 8_000, at_least=True)
    yield Figure.of_rounds("(a) a Celery task each, requests, 8 processes", tasks, "/s")
    yield Figure.of_rounds("(b) django-webhook, 8 processes", package, "/s")
    yield Figure.of_ratios("ours, of (a)", ours, tasks, 10)
    yield Figure.of_ratios("ours, of (b)", ours, package, 20)


def _ours(running: Stack, options: argparse.Namespace) -> float:
    with running.workers(options.workers) as workers:
        for worker in workers:
            worker.send(signal.SIGSTOP)
        running.run_with_django("benchmarks.backlog", str(options.backlog))
        return _resume(running, workers, options.backlog)


def _tasks(running: Stack, count: int) -> float:
    with _yardstick(running, "task_each") as workers:
        running.run_with_django("benchmarks.backlog", str(count))
        running.run_with_django("benchmarks.task_each")
        return _resume(running, workers, count)


def _package(running: Stack, count: int) -> float:
    with _yardstick(running, "package_each", settings=PACKAGE_SETTINGS) as workers:
        running.run_with_django(
            "benchmarks.package_each", running.sink.url, str(count), DJANGO_SETTINGS_MODULE=PACKAGE_SETTINGS
        )
        return _resume(running, workers, count)


@contextmanager
def _yardstick(running: Stack, name: str, *, settings: str = "config.settings") -> Iterator[list[Process]]:
    """Run a yardstick's worker, and stop it afterwards. It doesn't poll for our deliveries."""
    with running.running(
        "tests.with_django", "celery", "-A", f"benchmarks.{name}", "worker", "--queues", name, "--pool", "prefork",
        "--concurrency", str(YARDSTICK_PROCESSES), "--hostname", f"{name}@localhost", DJANGO_SETTINGS_MODULE=settings,
    ) as workers:  # fmt: skip
        running.wait_for_workers(1)
        for worker in workers:
            worker.send(signal.SIGSTOP)
        yield workers


def _resume(running: Stack, workers: list[Process], count: int) -> float:
    running.sink.reset()
    for worker in workers:
        worker.send(signal.SIGCONT)
    running.sink.wait_for(count, seconds=60 + count / 50)
    return running.sink.rate()


def memory(options: argparse.Namespace) -> Iterator[Figure]:
    """Peak memory of each kind of sender after a backlog."""
    with stack() as running:
        running.run_with_django("benchmarks.shops", running.sink.url, str(SHOPS))
        for name, module in (
            ("the deliver_webhooks process", ("manage", "deliver_webhooks")),
            ("a Celery worker (threads)", None),
        ):
            with running.running(*module) if module else running.workers() as processes:
                running.sink.reset()
                running.run_with_django("benchmarks.backlog", str(options.backlog // 5))
                running.sink.wait_for(options.backlog // 5, seconds=120)
                yield Figure(f"memory of {name}", peak_memory(processes[0]), "MB", 80)


def embedded(options: argparse.Namespace) -> Iterator[Figure]:
    """The sandbox: web, worker and schedule in one process on SQLite."""
    count = options.backlog // 5
    quiet = {"LOG_LEVEL": "WARNING", "LOG_REQUESTS": "False"}
    with (
        running_sink() as sink,
        TemporaryDirectory() as folder,
        start_service(Path(folder), DATABASE_URL="", REDIS_URL="", **quiet) as service,
    ):
        environment = service.environment | {"DJANGO_SETTINGS_MODULE": "config.settings"}
        running = Stack(Path(folder), environment, sink)
        running.run_with_django("benchmarks.shops", sink.url, str(SHOPS))
        rates = []
        for _ in range(options.rounds):
            sink.reset()
            running.run_with_django("benchmarks.backlog", str(count))
            sink.wait_for(count, seconds=60 + count / 50)
            rates.append(sink.rate())
    yield Figure.of_rounds(f"embedded on SQLite, backlog of {count:,}", rates, "/s", 500, at_least=True)
