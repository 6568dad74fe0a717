"""The Celery application and its schedule.

Messages are only wake-up signals. Every task queries the database for due work, so losing all messages costs
nothing but time. What is looked for every second runs without messages, in threads of each worker.
"""

import os
from typing import NamedTuple

from celery import Celery
from django.conf import settings
from kombu import Queue

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# The system checks import the whole API, a third of a worker's memory. `migrate` runs them instead.
os.environ.setdefault("CELERY_SKIP_CHECKS", "True")

app = Celery("sluice")
app.config_from_object("django.conf:settings", namespace="CELERY")
# A worker started without `-Q` consumes both. Not a setting: a process that only sends webhooks doesn't load kombu.
app.conf.task_queues = [Queue("sluice"), Queue("requery")]
app.autodiscover_tasks()
app.steps["worker"].add("config.runtime.background:Background")  # by name: the models are not loaded yet


class Job(NamedTuple):
    """A task that the workers of a queue run every so many seconds."""

    task: str
    seconds: float
    queue: str = "sluice"


# Each worker calls them in threads of their own. A message each would cost ten times as much: 6 % of a core, in an idle installation.
FREQUENT = [
    Job("payments.expire_due", 1),
    Job("payments.update_settled_payments", 1),
    Job("payments.end_waits_of_payouts", 5),
    Job("disputes.expire_due", 1),
    Job("connectors.process_events", 1),
    Job("payout_batches.check_due", 1),
    Job("payout_batches.send_due", 1),
    Job("dashboard.mail_password_resets", 1),
    Job("dashboard.index_search", 2),
    Job("payments.requery_due", 1, "requery"),
    Job("payments.ask_servers", 1, "requery"),
    Job("payments.look_at_watches", 1, "requery"),
    Job("payments.notify_account_provider", 1, "requery"),
    Job("disputes.query_cases", 1, "requery"),
    Job("disputes.send_answers", 1, "requery"),
]
if settings.SANDBOX:
    FREQUENT += [Job("webhooks.run_exams", 1)] * 2  # two exams at the same time
# Beat sends a message for each of these. It expires when the next one is sent.
OCCASIONAL = [
    Job("config.heartbeat", 5),
    Job("dashboard.mail_outages", 60),
    Job("payments.match_statements", 600),
    Job("payments.import_provider_statements", 3600),
    Job("payments.return_reserves", 60),
    Job("payments.pay_settlements", 60),
    Job("payments.issue_fee_invoices", 3600),
    Job("dashboard.mail_disputes", 30),
    Job("dashboard.mail_approvals", 30),
    Job("dashboard.mail_fallen_rates", 600),
    Job("payments.roll_up_days", 300),
    Job("webhooks.drop_long_held", 3600),
    Job("payments.erase_card_number_hashes", 60),
    Job("merchants.purge_nonces", 300),
    Job("config.purge", 3600),
]
app.conf.beat_schedule = {
    job.task: {"task": job.task, "schedule": job.seconds, "options": {"expires": job.seconds}}
    for job in OCCASIONAL
}
