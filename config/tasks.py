"""Scheduled work of the project itself."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.utils import timezone
from prometheus_client import start_http_server

from config import tracing
from config.models import beat
from config.operations import metrics
from config.operations.retention import EVERYTHING


@shared_task(name="config.heartbeat")
def heartbeat() -> None:
    """Write that schedule, broker and worker live."""
    beat(now=timezone.now())


@shared_task(name="config.purge")
def purge() -> None:
    """Let go of what is past its days."""
    now = timezone.now()
    for kept in EVERYTHING:
        for _ in kept.forget(now):
            pass  # each piece goes as it is counted


def show_metrics(**_: Any) -> None:
    """Let Prometheus read what this worker counts, where the settings say so; and trace its tasks."""
    tracing.start()
    host, _colon, port = settings.WORKER_METRICS_ADDRESS.rpartition(":")
    if port:
        start_http_server(int(port), addr=host or "127.0.0.1", registry=metrics.counted())


worker_ready.connect(show_metrics)
