from typing import Any

from django.core.management.base import BaseCommand

from kit.db import clock
from kit.plurals import counted
from payments.services.reporting import daily_totals


class Command(BaseCommand):
    help = (
        "Compute the daily totals of past days, which speed up the dashboard's charts and figures. The scheduler "
        "does this every five minutes. Example: manage.py roll_up_days"
    )

    def handle(self, **options: Any) -> None:
        days = list(daily_totals.roll_up(now=clock.now()))
        self.stdout.write(f"Counted {counted(len(days), 'day')}.")
