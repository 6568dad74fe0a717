"""Scheduled tasks of the disputes app. Each queries the database for due work."""

from celery import shared_task

from disputes.services import clock
from disputes.services.rails import answers_sent, cases
from kit.db.clock import now as estimated_now


@shared_task(name="disputes.expire_due")
def expire_due() -> None:
    now = estimated_now()
    for _ in clock.expire(clock.overdue(now=now)):
        pass
    for _ in clock.remind(clock.to_remind(now=now)):
        pass


@shared_task(name="disputes.query_cases")
def query_cases() -> None:
    cases.query_due()


@shared_task(name="disputes.send_answers")
def send_answers() -> None:
    answers_sent.send_due()
