"""Scheduled tasks of the payments app. Each queries the database for due work."""

from celery import shared_task

from kit.db import clock
from payments.services import expiry, return_matching
from payments.services.rails import requery, watch_looks
from payments.services.replays import idempotency
from payments.services.reporting import daily_totals
from payments.services.settlement import batch_transitions
from payments.services.transfers import account_provider_messages


@shared_task(name="payments.expire_due")
def expire_due() -> None:
    now = clock.now()
    for _ in expiry.expire(expiry.overdue(now=now)):
        pass
    if expiry.overdue_sessions(now=now):
        for _ in expiry.expire_sessions():
            pass


@shared_task(name="payments.requery_due")
def requery_due() -> None:
    for _ in requery.requery_due():
        pass
    return_matching.match_ended()


@shared_task(name="payments.look_at_watches")
def look_at_watches() -> None:
    watch_looks.look_due()


@shared_task(name="payments.notify_account_provider")
def notify_account_provider() -> None:
    account_provider_messages.send_due()


@shared_task(name="payments.update_settled_payments")
def update_settled_payments() -> None:
    batch_transitions.update_due()


@shared_task(name="payments.roll_up_days")
def roll_up_days() -> None:
    for _ in daily_totals.roll_up(now=clock.now()):
        pass


@shared_task(name="payments.erase_card_number_hashes")
def erase_card_number_hashes() -> None:
    for _ in idempotency.erase_card_number_hashes(now=clock.now()):
        pass
