"""Scheduled tasks of the payments app. Each queries the database for due work."""

import threading

from celery import shared_task

from kit.db import clock
from payments.services import expiry, idempotency, requery
from payments.services.reporting import daily_totals
from payments.services.settlement import batch_transitions
from payments.services.transfers import account_provider_messages


@shared_task(name="payments.expire_due")
def expire_due() -> None:
    for _ in expiry.expire(expiry.overdue(now=clock.database_now())):
        pass
    for _ in expiry.expire_sessions():
        pass


# A run takes a second if rails are slow. One run at a time leaves a process's other threads to other tasks.
_requery_run = threading.Lock()


@shared_task(name="payments.requery_due")
def requery_due() -> None:
    if not _requery_run.acquire(blocking=False):
        return
    try:
        for _ in requery.requery_due():
            pass
    finally:
        _requery_run.release()


_provider_run = threading.Lock()


@shared_task(name="payments.notify_account_provider")
def notify_account_provider() -> None:
    if not _provider_run.acquire(blocking=False):
        return
    try:
        account_provider_messages.send_due()
    finally:
        _provider_run.release()


# A run takes seconds after a decision about a large batch.
_settled_run = threading.Lock()


@shared_task(name="payments.update_settled_payments")
def update_settled_payments() -> None:
    if not _settled_run.acquire(blocking=False):
        return
    try:
        batch_transitions.update_due()
    finally:
        _settled_run.release()


@shared_task(name="payments.roll_up_days")
def roll_up_days() -> None:
    for _ in daily_totals.roll_up(now=clock.now()):
        pass


@shared_task(name="payments.erase_card_number_hashes")
def erase_card_number_hashes() -> None:
    for _ in idempotency.erase_card_number_hashes(now=clock.now()):
        pass
