"""Take numbers from the pool, each in its own transaction: `python -m benchmarks.take_numbers COUNT`.

Prints the duration of each in milliseconds as JSON, without the commit.
"""

import json
import sys
import time

import django
from django.db import transaction
from django.utils import timezone


def main() -> None:
    django.setup()
    from virtual_accounts.models import VirtualAccount  # noqa: PLC0415  (models need the settings)
    from virtual_accounts.services import number_pool  # noqa: PLC0415

    account = VirtualAccount.objects.filter(type=VirtualAccount.Type.DYNAMIC)[0]
    took: list[float] = []
    for _ in range(int(sys.argv[1])):
        with transaction.atomic():
            started = time.perf_counter()
            number_pool.take(account.pk, now=timezone.now())
            took.append((time.perf_counter() - started) * 1000)
    print(json.dumps(took))


if __name__ == "__main__":
    main()
