"""Create the tables, and businesses with endpoints at one URL.

    python -m tests.with_django benchmarks.shops URL COUNT [HANGING]

The endpoints of the first HANGING businesses never respond.
"""

import sys

from django.core.management import call_command
from django.utils import timezone

from merchants.models import Business
from merchants.people.audit import Actor
from webhooks import services


def main() -> None:
    url, count, hanging = sys.argv[1], int(sys.argv[2]), int((*sys.argv[3:], "0")[0])
    call_command("migrate", verbosity=0)
    for number in range(count):
        services.configure(
            business=Business.objects.create(name=f"Shop {number:04}"),
            url=f"{url}/hang/{number}" if number < hanging else f"{url}/{number}",
            subscribed_events=["payment"],
            enabled=True,
            actor=Actor(name="benchmark"),
            now=timezone.now(),
        )


if __name__ == "__main__":
    main()
