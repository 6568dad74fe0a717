"""Scheduled work of the payments app. Each looks into the database for what is due."""

from celery import shared_task
from django.utils import timezone

from payments.services import days, expiry, requery


@shared_task(name="payments.expire_due")
def expire_due() -> None:
    now = timezone.now()
    for _ in expiry.expire(expiry.overdue(now=now), now=now):
        pass
    for _ in expiry.expire_sessions():
        pass


@shared_task(name="payments.requery_due")
def requery_due() -> None:
    now = timezone.now()
    for _ in requery.requery(requery.unanswered(due_at=now), now=now):
        pass


@shared_task(name="payments.roll_up_days")
def roll_up_days() -> None:
    for _ in days.roll_up(now=timezone.now()):
        pass
