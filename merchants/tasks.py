"""Scheduled work of the merchants app."""

from celery import shared_task
from django.utils import timezone

from merchants import authentication, request_log


@shared_task(name="merchants.purge_nonces")
def purge_nonces() -> None:
    authentication.forget_nonces(now=timezone.now())


@shared_task(name="merchants.purge_requests")
def purge_requests() -> None:
    for _ in request_log.forget_requests(now=timezone.now()):
        pass  # each piece is deleted as it is counted
