"""The Celery application, with a line for each task: its name, when it was published, and when it started.

What a worker runs every second isn't published. The file is the one that TASK_LOG names. `celery -A
tests.faults.measured_celery` starts workers and beat with it.
"""

import os
import time
from pathlib import Path

from celery.signals import before_task_publish, task_prerun, worker_init

from config.celery import app

__all__ = ["app"]

_LOG = Path(os.environ.get("TASK_LOG", os.devnull))


@before_task_publish.connect
def _note_publication(headers=None, **_):
    headers["published_at"] = time.time()


@task_prerun.connect
def _note_start(task=None, **_):
    now = time.time()
    headers = task.request.headers or {}
    published_at = getattr(task.request, "published_at", None) or headers["published_at"]
    _note(task.name, published_at, now)


@worker_init.connect
def _note_repeated_work(**_):
    from config.runtime import background  # noqa: PLC0415  (the models are loaded now)

    repeat = background.repeat

    def noted_repeat(task, **options):
        def run():
            _note(task.name, time.time(), time.time())
            task()

        repeat(run, **options)

    background.repeat = noted_repeat


def _note(name, published_at, started_at):
    with _LOG.open("a") as file:
        file.write(f"{name} {published_at} {started_at}\n")
