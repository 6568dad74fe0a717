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
    """A task that the workers of a queue call every so many seconds, each in a thread of its own."""

    task: str
    seconds: float
    queue: str = "sluice"


# A message each would cost ten times as much: 6 % of a core, in an idle installation.
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
app.conf.beat_schedule = {
    "heartbeat": {"task": "config.heartbeat", "schedule": 5.0, "options": {"expires": 5}},
    "mail outages of endpoints": {
        "task": "dashboard.mail_outages",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "match statements": {"task": "payments.match_statements", "schedule": 600.0},
    "import statements of providers": {
        "task": "payments.import_provider_statements",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "return reserves": {
        "task": "payments.return_reserves",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "pay settlements": {
        "task": "payments.pay_settlements",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "issue invoices of fees": {
        "task": "payments.issue_fee_invoices",
        "schedule": 3600.0,
        "options": {"expires": 3600},
    },
    "mail news of disputes": {
        "task": "dashboard.mail_disputes",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "mail who can approve payouts": {
        "task": "dashboard.mail_approvals",
        "schedule": 30.0,
        "options": {"expires": 30},
    },
    "mail falls of success rates": {
        "task": "dashboard.mail_fallen_rates",
        "schedule": 600.0,
        "options": {"expires": 600},
    },
    "compute daily totals": {"task": "payments.roll_up_days", "schedule": 300.0},
    "skip deliveries held for too long": {"task": "webhooks.drop_long_held", "schedule": 3600.0},
    "erase hashes of card numbers": {"task": "payments.erase_card_number_hashes", "schedule": 60.0},
    "purge old nonces": {"task": "merchants.purge_nonces", "schedule": 300.0},
    "purge old data": {"task": "config.purge", "schedule": 3600.0},
}
