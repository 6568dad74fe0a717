from typing import Any

from django.core.management.base import BaseCommand

from kit.db import clock
from payments.services.reporting import daily_totals


class Command(BaseCommand):
    help = (
        "Count the days that are over, for the dashboard's charts and figures, which are right without it and slow at "
        "a million transactions. The schedule does this every five minutes. Example: manage.py roll_up_days"
    )

    def handle(self, **options: Any) -> None:
        counted = list(daily_totals.roll_up(now=clock.now()))
        self.stdout.write(f"Counted {len(counted)} days.")
