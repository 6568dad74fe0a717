"""The Celery application and its schedule.

The broker is a doorbell: every task looks into the database for what is due, so losing all messages
costs a second of latency and nothing else.
"""

import os

from celery import Celery

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
# A worker would run the start-up checks, and for them import the whole API: a third of its memory. `migrate` runs them.
os.environ.setdefault("CELERY_SKIP_CHECKS", "True")

app = Celery("sluice")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.autodiscover_tasks()
app.steps["worker"].add("webhooks.worker:Poller")  # by name: it needs the models, which are not loaded yet
app.conf.beat_schedule = {
    "say that we live": {"task": "config.heartbeat", "schedule": 5.0, "options": {"expires": 5}},
    # Those of every second expire: a worker that was busy or stopped needs to run each once, not to catch up.
    "expire what is due": {"task": "payments.expire_due", "schedule": 1.0, "options": {"expires": 5}},
    "ask about unknown outcomes": {
        "task": "payments.requery_due",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "notify the account provider": {
        "task": "payments.notify_account_provider",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "mail links to new passwords": {
        "task": "dashboard.mail_password_resets",
        "schedule": 1.0,
        "options": {"expires": 5},
    },
    "count days that are over": {"task": "payments.roll_up_days", "schedule": 300.0},
    "drop what was held for too long": {"task": "webhooks.drop_long_held", "schedule": 3600.0},
    "erase hashes of card numbers": {"task": "payments.erase_card_number_hashes", "schedule": 60.0},
    "purge old nonces": {"task": "merchants.purge_nonces", "schedule": 300.0},
    "purge what is past its days": {"task": "config.purge", "schedule": 3600.0},
}
