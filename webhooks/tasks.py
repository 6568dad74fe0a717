"""Celery tasks of the webhooks app. Each calls one function."""

from celery import shared_task

from kit.db import clock
from webhooks import dispatcher, exam_runner, held_deliveries


@shared_task(name="webhooks.dispatcher")
def dispatch() -> None:
    """Send due deliveries. Requested after each event; polling finds what a lost request left."""
    dispatcher.dispatch_due(linger=dispatcher.LINGER, life=dispatcher.LIFE)


@shared_task(name="webhooks.drop_long_held")
def drop_long_held() -> None:
    held_deliveries.drop_long_held(now=clock.now())


@shared_task(name="webhooks.run_exams")
def run_exams() -> None:
    """Run the exams that wait. Requested when one is started; the schedule of a sandbox finds what was lost."""
    exam_runner.run_waiting()
