"""Yardstick (a): one Celery task for each delivery, with `requests` and the ORM.

Like in many services, the task reads the row, posts it, and writes the attempt and the row.
`python -m tests.with_django benchmarks.task_each` enqueues a task for each waiting delivery.
"""

import uuid

import requests
from celery import Celery
from django.utils import timezone

from webhooks.models import Attempt, Delivery, Endpoint
from webhooks.signing import sign

app = Celery("task_each")
app.config_from_object("django.conf:settings", namespace="CELERY")
app.conf.task_default_queue = "task_each"


@app.task(name="task_each.deliver")
def deliver(delivery_id: str) -> None:
    delivery = Delivery.objects.get(pk=uuid.UUID(delivery_id))
    endpoint = Endpoint.objects.first_of(delivery.business_id).get()
    body = delivery.body.encode()
    started_at = timezone.now()
    answer = requests.post(
        endpoint.url,
        data=body,
        headers={"Content-Type": "application/json", "X-Service-Signature": sign(endpoint.hash_key, body)},
        timeout=10,
    )
    Attempt.objects.create(
        delivery=delivery, number=1, started_at=started_at, total_ms=0, status=answer.status_code
    )
    delivery.state, delivery.delivered_at, delivery.next_attempt_at = "delivered", timezone.now(), None
    delivery.save(update_fields=["state", "delivered_at", "next_attempt_at"])


def main() -> None:
    with app.producer_or_acquire() as producer:
        for delivery_id in Delivery.objects.filter(state="waiting").values_list("pk", flat=True):
            app.send_task("task_each.deliver", [str(delivery_id)], producer=producer)


if __name__ == "__main__":
    main()
