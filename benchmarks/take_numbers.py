"""Take numbers from the pool, each in its own transaction.

    python -m tests.with_django benchmarks.take_numbers COUNT

Prints the duration of each in milliseconds as JSON, without the commit.
"""

import json
import sys
import time

from django.db import transaction
from django.utils import timezone

from virtual_accounts.models import VirtualAccount
from virtual_accounts.services import number_pool


def main() -> None:
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
