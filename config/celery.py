"""The Celery application and its schedule.

Messages are only wake-up signals. Every task queries the database for due work, so losing all messages costs
a second of latency.
"""

import os

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
app.steps["worker"].add("webhooks.worker:Poller")  # by name, because the models are not loaded yet
app.conf.beat_schedule = {
    "heartbeat": {"task": "config.heartbeat", "schedule": 5.0, "options": {"expires": 5}},
    # Frequent tasks expire, because a worker that was busy or stopped needs to run each of them only once.
    "expire overdue transactions": {
        "task": "payments.expire_due",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "requery unknown outcomes": {
        "task": "payments.requery_due",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "notify the account provider": {
        "task": "payments.notify_account_provider",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "update the payments of settlement batches": {
        "task": "payments.update_settled_payments",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "mail password resets": {
        "task": "dashboard.mail_password_resets",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "index the search": {"task": "dashboard.index_search", "schedule": 2.0, "options": {"expires": 5}},
    "mail outages of endpoints": {
        "task": "dashboard.mail_outages",
        "schedule": 60.0,
        "options": {"expires": 60},
    },
    "compute daily totals": {"task": "payments.roll_up_days", "schedule": 300.0},
    "skip deliveries held for too long": {"task": "webhooks.drop_long_held", "schedule": 3600.0},
    "erase hashes of card numbers": {"task": "payments.erase_card_number_hashes", "schedule": 60.0},
    "purge old nonces": {"task": "merchants.purge_nonces", "schedule": 300.0},
    "purge old data": {"task": "config.purge", "schedule": 3600.0},
}
if settings.SANDBOX:
    app.conf.beat_schedule["run exams of receivers"] = {
        "task": "webhooks.run_exams",
        "schedule": 5.0,
        "options": {"expires": 5},
    }
