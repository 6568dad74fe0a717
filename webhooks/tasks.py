"""Scheduled work of the webhooks app. A task is a doorbell; the house is behind it."""

from celery import shared_task

from kit.db import clock
from webhooks import dispatcher as drains
from webhooks import held_deliveries


@shared_task(name="webhooks.dispatcher")
def drain() -> None:
    """Send what is due. Rung after each event; what no ring announced is found by the sweep."""
    drains.drain_once(linger=drains.LINGER, life=drains.LIFE)


@shared_task(name="webhooks.drop_long_held")
def drop_long_held() -> None:
    held_deliveries.drop_long_held(now=clock.now())
