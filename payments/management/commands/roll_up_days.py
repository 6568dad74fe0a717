from collections.abc import Iterable
from typing import Any

from kit.db import clock
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from payments.services.reporting import daily_totals


class Command(DocumentCommand):
    help = (
        "Compute the daily totals of past days, which speed up the dashboard's charts and figures. The scheduler "
        "does this every five minutes. Example: manage.py roll_up_days"
    )

    def handle(self, *, json: bool, **options: Any) -> None:
        days = list(daily_totals.roll_up(now=clock.now()))
        self.show({"days": len(days)}, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        yield f"Counted {counted(document['days'], 'day')}."
