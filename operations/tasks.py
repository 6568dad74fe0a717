"""Scheduled tasks of the project itself."""

from typing import Any

from celery import shared_task
from celery.signals import worker_ready
from django.conf import settings
from django.utils import timezone
from prometheus_client import start_http_server

from config.logging import tracing
from config.models import beat
from operations import metrics
from operations.retention import EVERYTHING


@shared_task(name="config.heartbeat")
def heartbeat() -> None:
    """Record that schedule, broker and worker are running."""
    beat(now=timezone.now())


@shared_task(name="config.purge")
def purge() -> None:
    """Purge data that is past its retention period."""
    now = timezone.now()
    for kept in EVERYTHING:
        for _ in kept.purge(now=now):
            pass  # iterating purges each batch


def show_metrics(**_: Any) -> None:
    """Expose this worker's metrics to Prometheus and trace its tasks, if configured."""
    tracing.start()
    host, _colon, port = settings.WORKER_METRICS_ADDRESS.rpartition(":")
    if port:
        start_http_server(int(port), addr=host or "127.0.0.1", registry=metrics.of_worker())


worker_ready.connect(show_metrics)
