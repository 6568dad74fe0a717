"""Create the tables, and businesses with endpoints at one URL: `python -m benchmarks.shops URL COUNT [HANGING]`.

The endpoints of the first HANGING businesses never respond.
"""

import sys

import django
from django.core.management import call_command
from django.utils import timezone


def main() -> None:
    django.setup()
    from merchants.audit import Actor  # noqa: PLC0415  (models need the settings)
    from merchants.models import Business  # noqa: PLC0415
    from webhooks import services  # noqa: PLC0415

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
