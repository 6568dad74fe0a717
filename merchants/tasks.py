"""Scheduled tasks of the merchants app."""

from celery import shared_task
from django.utils import timezone

from merchants.api import nonces


@shared_task(name="merchants.purge_nonces")
def purge_nonces() -> None:
    for _ in nonces.purge_nonces(now=timezone.now()):
        pass  # each piece is deleted as it is counted
