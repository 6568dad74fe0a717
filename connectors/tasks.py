"""Scheduled tasks of the connectors."""

from celery import shared_task

from connectors.services import event_processing


@shared_task(name="connectors.process_events")
def process_events() -> None:
    event_processing.process_due()
