"""Scheduled work of the dashboard."""

from celery import shared_task
from django.utils import timezone

from dashboard.account import password_reset


@shared_task(name="dashboard.mail_password_resets")
def mail_password_resets() -> None:
    password_reset.mail_due(now=timezone.now())
