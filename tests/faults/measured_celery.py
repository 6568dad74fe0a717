"""The Celery application, with a line for each task: its name, when it was published, and when it started.

The file is the one that TASK_LOG names. `celery -A tests.faults.measured_celery` starts workers and beat with it.
"""

import os
import time
from pathlib import Path

from celery.signals import before_task_publish, task_prerun

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
    with _LOG.open("a") as file:
        file.write(f"{task.name} {published_at} {now}\n")
