"""Scheduled tasks of payout batches. Each queries the database for due work."""

from celery import shared_task

from payout_batches.services import checks, sending


@shared_task(name="payout_batches.check_due")
def check_due() -> None:
    checks.check_due()


@shared_task(name="payout_batches.send_due")
def send_due() -> None:
    sending.send_due()
