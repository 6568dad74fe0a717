"""Publish events at a steady rate.

    python -m tests.with_django benchmarks.publish RATE SECONDS [FIRST]

Like a payment, it commits the row and then notifies the workers. Businesses take turns in random order, starting with
number FIRST. Prints the business and the commit time as JSON, by event id, of events of which an endpoint responds.
"""

import json
import random
import sys
import time
from itertools import cycle

from django.utils import timezone

from benchmarks.backlog import deliveries_to
from kit.db import prepared_statements
from merchants.models import Business
from webhooks.sending import wake_up


def main() -> None:
    rate, seconds, first = (float(word) for word in (*sys.argv[1:], "0")[:3])
    listening = Business.objects.exclude(webhook_endpoints=None)
    shops = list(listening.order_by("name")[int(first) :])
    random.Random(1).shuffle(shops)
    turns = cycle(shops)
    committed: dict[str, tuple[str, float]] = {}
    started = time.monotonic()
    for number in range(int(rate * seconds)):
        business = next(turns)
        for endpoint, delivery in deliveries_to(business, now=timezone.now()).items():
            prepared_statements.insert(delivery)
            if "/hang/" not in endpoint.url:
                committed[str(delivery.event_id)] = business.name, time.time()
        wake_up.notify()
        time.sleep(max(0, started + (number + 1) / rate - time.monotonic()))
    print(json.dumps(committed))


if __name__ == "__main__":
    main()
