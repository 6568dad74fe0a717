"""Create the tables, and businesses with endpoints at one URL.

    python -m tests.with_django benchmarks.shops URL COUNT [HANGING [BESIDE]]

The endpoints of the first HANGING businesses never respond, nor do second endpoints, which the first BESIDE have.
"""

import sys

from django.core.management import call_command
from django.utils import timezone

from merchants.models import Business
from merchants.people.audit import Actor
from webhooks import services


def main() -> None:
    url = sys.argv[1]
    count, hanging, beside = (int(word) for word in (*sys.argv[2:], "0", "0")[:3])
    call_command("migrate", verbosity=0)
    for number in range(count):
        business = Business.objects.create(name=f"Shop {number:04}")
        add(business, f"{url}/hang/{number}" if number < hanging else f"{url}/{number}")
        if number < beside:
            add(business, f"{url}/hang/beside-{number}")


def add(business: Business, url: str) -> None:
    wanted = {"url": url, "subscribed_events": ["payment"]}
    services.create_endpoint(
        business=business, wanted=wanted, actor=Actor(name="benchmark"), now=timezone.now()
    )


if __name__ == "__main__":
    main()
