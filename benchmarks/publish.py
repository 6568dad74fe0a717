"""Publish events at a steady rate.

    python -m tests.with_django benchmarks.publish RATE SECONDS [FIRST]

Like a payment, it commits the row and then notifies the workers. Businesses take turns in random order, starting with
number FIRST. Prints the commit times as JSON, by event id, for events whose endpoint responds.
"""

import json
import random
import sys
import time
from itertools import cycle

from django.utils import timezone

from benchmarks.backlog import delivery_to
from kit.db import prepared_statements
from merchants.models import Business
from webhooks.sending import wake_up


def main() -> None:
    rate, seconds, first = (float(word) for word in (*sys.argv[1:], "0")[:3])
    listening = Business.objects.exclude(webhook_endpoint=None).select_related("webhook_endpoint")
    shops = list(listening.order_by("name")[int(first) :])
    random.Random(1).shuffle(shops)
    turns = cycle(shops)
    committed: dict[str, float] = {}
    started = time.monotonic()
    for number in range(int(rate * seconds)):
        business = next(turns)
        delivery = delivery_to(business, now=timezone.now())
        prepared_statements.insert(delivery)
        if "/hang/" not in business.webhook_endpoint.url:
            committed[str(delivery.pk)] = time.time()
        wake_up.notify()
        time.sleep(max(0, started + (number + 1) / rate - time.monotonic()))
    print(json.dumps(committed))


if __name__ == "__main__":
    main()
