"""Yardstick (b): django-webhook from the package index, with its own task, models and settings.

    python -m tests.with_django benchmarks.package_each URL COUNT

creates its tables and one webhook, and enqueues COUNT of its tasks with a body as large as ours.
"""

import json
import sys

from celery import Celery
from django.core.management import call_command
from django_webhook.models import Webhook, WebhookSecret

from benchmarks.backlog import DATA

app = Celery("package_each")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_default_queue = "package_each"
app.conf.include = ["django_webhook.tasks"]


def main() -> None:
    call_command("migrate", verbosity=0)
    url, count = sys.argv[1], int(sys.argv[2])
    webhook, is_new = Webhook.objects.get_or_create(url=f"{url}/package")
    if is_new:
        WebhookSecret.objects.create(webhook=webhook, token="whk_sandbox_0123456789")
    topic = {"topic": "merchants.Business/create", "object_type": "merchants.Business"}
    payload = json.dumps({"object": DATA, "webhook_uuid": str(webhook.uuid), **topic})
    with app.producer_or_acquire() as producer:
        for _ in range(count):
            app.send_task(
                "django_webhook.tasks.fire_webhook", (webhook.pk, payload), topic, producer=producer
            )


if __name__ == "__main__":
    main()
