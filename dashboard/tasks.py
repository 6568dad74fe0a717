"""Scheduled work of the dashboard."""

from celery import shared_task
from django.utils import timezone

from dashboard.account.sign_in import password_reset
from dashboard.disputes import mail as dispute_mail
from dashboard.payouts import approval_mail
from dashboard.search import indexer
from dashboard.success_rates import fall_mail
from dashboard.webhooks.endpoints import outage_mail
from kit.db import clock


@shared_task(name="dashboard.mail_password_resets")
def mail_password_resets() -> None:
    password_reset.mail_due(now=timezone.now())


@shared_task(name="dashboard.mail_outages")
def mail_outages() -> None:
    outage_mail.mail_due(now=clock.now())


@shared_task(name="dashboard.mail_disputes")
def mail_disputes() -> None:
    dispute_mail.mail_due(now=clock.now())


@shared_task(name="dashboard.mail_approvals")
def mail_approvals() -> None:
    approval_mail.mail_due(now=clock.now())


@shared_task(name="dashboard.mail_fallen_rates")
def mail_fallen_rates() -> None:
    fall_mail.check(now=clock.now())


@shared_task(name="dashboard.index_search")
def index_search() -> None:
    for _ in indexer.run(now=clock.now()):
        pass
