"""Celery tasks of the webhooks app. Each calls one function."""

from celery import shared_task

from kit.db import clock
from webhooks import dispatcher, held_deliveries


@shared_task(name="webhooks.dispatcher")
def dispatch() -> None:
    """Send due deliveries. Requested after each event; polling finds what a lost request left."""
    dispatcher.dispatch_due(linger=dispatcher.LINGER, life=dispatcher.LIFE)


@shared_task(name="webhooks.drop_long_held")
def drop_long_held() -> None:
    held_deliveries.drop_long_held(now=clock.now())
