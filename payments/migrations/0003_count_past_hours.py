"""Count the past days by hour before the new release serves, so that its first pages are as fast as later ones."""

from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import migrations, models
from django.db import transaction as database
from django.db.models import Case, Count, F, Sum, When

from kit.db import clock
from kit.time.time_ordered_ids import earliest_id

DAYS = 90
DAY, HOUR = timedelta(days=1), timedelta(hours=1)
KIND = ("request_type", "method", "status", "currency", "response_code")
VOLUME = Sum(Case(When(method="card", then=F("amount_captured")), default=F("amount")))
UNFINISHED = Case(When(status="pending", then=F("pk")), output_field=models.UUIDField())


def count_past_hours(apps: Any, _schema_editor: Any) -> None:
    """Count each past day that isn't counted yet, one hour per statement and one day per transaction."""
    if not apps.get_model("payments", "Transaction").objects.exists():
        return
    now = clock.now()
    for ago in range(DAYS, 0, -1):
        day = now.date() - ago * DAY
        is_over = day < (now - HOUR).date()  # including transactions inserted up to an hour after their id
        if is_over and not apps.get_model("payments", "CountedDay").objects.filter(day=day).exists():
            write(apps, day, totals_of(apps, day))


def totals_of(apps: Any, day: date) -> dict[Any, Any]:
    """Return the tallies of each business by their kind, and the ids of its unfinished transactions."""
    transactions = apps.get_model("payments", "Transaction").objects
    totals: dict[Any, Any] = {}
    for hour in range(24):
        begin = datetime.combine(day, time(hour), tzinfo=UTC)
        rows = (
            transactions.filter(id__gte=earliest_id(begin), id__lt=earliest_id(begin + HOUR))
            .annotate(unfinished=UNFINISHED)
            .values_list("business_id", "unfinished", *KIND)
            .annotate(count=Count("pk"), volume=VOLUME)
            .order_by()
        )
        for business, unfinished, *kind, count, volume in rows:
            tallies, waiting = totals.setdefault(business, ({}, []))
            if unfinished:
                waiting.append(str(unfinished))
                continue
            counts, volumes = tallies.setdefault(tuple(kind), ([0] * 24, [0] * 24))
            counts[hour], volumes[hour] = count, volume
    return totals


def write(apps: Any, day: date, totals: dict[Any, Any]) -> None:
    with database.atomic():
        apps.get_model("payments", "CountedDay").objects.create(day=day)
        hourly = apps.get_model("payments", "HourlyTotals")
        hourly.objects.bulk_create(
            (
                hourly(
                    business_id=business,
                    day_id=day,
                    tallies=[
                        {**dict(zip(KIND, kind, strict=True)), "counts": counts, "volumes": volumes}
                        for kind, (counts, volumes) in tallies.items()
                    ],
                    unfinished=waiting,
                )
                for business, (tallies, waiting) in totals.items()
            ),
            batch_size=500,
        )


class Migration(migrations.Migration):
    atomic = False
    dependencies = [
        ("payments", "0002_hourly_totals"),
    ]

    operations = [
        migrations.RunPython(count_past_hours, migrations.RunPython.noop, elidable=True),
    ]
