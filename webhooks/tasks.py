"""Celery tasks of the webhooks app. Each calls one function."""

from celery import shared_task

from kit.db import clock
from webhooks.endpoints import held_deliveries
from webhooks.exams import exam_runner


@shared_task(name="webhooks.drop_long_held")
def drop_long_held() -> None:
    held_deliveries.drop_long_held(now=clock.now())


@shared_task(name="webhooks.run_exams")
def run_exams() -> None:
    """Run the exams that wait."""
    exam_runner.run_waiting()
