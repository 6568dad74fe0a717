from argparse import ArgumentParser
from collections.abc import Iterable
from dataclasses import asdict
from datetime import date
from typing import Any

from django.core.management.base import CommandError

from kit.money.money import money
from merchants.commands import Document, DocumentCommand
from payments.rules.settlement.business_days import read_day
from payments.services.reporting import tax_report

EXAMPLE = "manage.py tax_report --from 2026-01-01 --to 2026-01-31"


class Command(DocumentCommand):
    help = (
        "Report the taxes on fees of a period, per currency: what was payable before it, what transactions were charged, "
        f"what was remitted, and what is payable after it. Days end at midnight in Lagos. Example: {EXAMPLE}"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--from", dest="first", metavar="D", help="the first day (required)")
        parser.add_argument("--to", dest="last", metavar="D", help="the last day (required)")
        super().add_arguments(parser)

    def handle(self, *, first: str | None, last: str | None, json: bool, **_: Any) -> None:
        first_day, last_day = _day("--from", first), _day("--to", last)
        if first_day > last_day:
            raise CommandError(f"--from must not be after --to.\nExample: {EXAMPLE}", returncode=2)
        taxes = [
            asdict(each) | {"charged": each.charged, "closing": each.closing}
            for each in tax_report.of_period(first_day, last_day)
        ]
        document = {"first_day": first_day.isoformat(), "last_day": last_day.isoformat(), "taxes": taxes}
        self.show(document, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        for one in document["taxes"]:
            currency = one["currency"]
            yield (
                f"{currency}  payable before {money(one['opening'], currency)}  "
                f"charged {money(one['charged'], currency)} on fees of {money(one['taxed_fees'], currency)}  "
                + (f"of it stamp duty {money(one['stamp_duty'], currency)}  " if one["stamp_duty"] else "")
                + f"remitted {money(one['remitted'], currency)}  payable after {money(one['closing'], currency)}"
            )
        if not document["taxes"]:
            yield "No taxes were charged up to the end of this period."


def _day(option: str, text: str | None) -> date:
    day = read_day(text or "")
    if day is None:
        raise CommandError(f"{option} must be a day, such as 2026-01-31.\nExample: {EXAMPLE}", returncode=2)
    return day
