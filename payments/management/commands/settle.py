from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Iterable
from datetime import date
from typing import Any

from django.conf import settings
from django.core.management import CommandError

from kit.db import clock
from kit.money.money import money
from kit.terminal.progress import show_progress
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from payments.models import SettlementBatch
from payments.rules.settlement import business_days
from payments.services.settlement.batches import batches


def day(text: str) -> date:
    read = business_days.read_day(text)
    if read is None:
        raise ArgumentTypeError(f"{text!r} is not a day, such as 2026-01-31")
    return read


class Command(DocumentCommand):
    help = (
        "Put every successful payment up to the end of a business day (Africa/Lagos) that has no batch yet "
        "into settlement batches, for staff to approve and release. Run it once a day. If it is interrupted, run it "
        "again to continue. Example: manage.py settle --date 2026-01-31 --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--date", type=day, metavar="D", help="the last business day to settle (default: yesterday)"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would be settled without changing anything"
        )
        parser.add_argument(
            "--unfinished", action="store_true", help="also settle a day that is not over (sandbox only)"
        )
        super().add_arguments(parser)

    def handle(
        self, *, date: date | None, dry_run: bool, unfinished: bool, json: bool, **options: Any
    ) -> None:
        now = clock.now()
        until = date or business_days.last_business_day(now)
        if until > business_days.last_business_day(now):
            _require_unfinished(until, is_asked_for=unfinished)
        work = batches.due(until=until)
        found = [_found(one) for one in work] if dry_run else self._settle(work)
        self.show({"date": until.isoformat(), "dry_run": dry_run, "batches": found}, as_json=json)

    def _settle(self, work: list[batches.Due]) -> list[Document]:
        steps = show_progress(
            batches.settle(work, actor="settle", now=clock.now()),
            total=sum(one.payments for one in work),
            stream=self.stderr,
            size=lambda step: step.payments,
        )
        made = {step.batch.pk: step.batch for step in steps}
        return [_shown(batch) for batch in made.values()]

    def lines(self, document: Document) -> Iterable[str]:
        verb = "Would settle" if document["dry_run"] else "Settled"
        for one in document["batches"]:
            yield (
                f"{one['day']}  {one['currency']}  business {one['business']}  {counted(one['payments'], 'payment'):>16}"
                f"  gross {_figure(one, 'gross')}  fees {_figure(one, 'fees')}"
                + (f"  taxes {_figure(one, 'taxes')}" if one["taxes"] else "")
                + (
                    ""
                    if document["dry_run"]
                    else f"  refunds {_figure(one, 'refunds')}  net {_figure(one, 'net')}  {one['state']}"
                )
            )
        payments = sum(one["payments"] for one in document["batches"])
        yield (
            f"{verb} {counted(payments, 'payment')} up to the end of {document['date']} "
            f"in {counted(len(document['batches']), 'batch', 'batches')}."
        )


def _require_unfinished(day: date, *, is_asked_for: bool) -> None:
    """Refuse a day that is not over: its later payments would join a batch that staff may have approved."""
    ends_at = business_days.begins_at(business_days.day_after(day))
    said = f"The business day {day.isoformat()} ends at {ends_at:%Y-%m-%d %H:%M} (Africa/Lagos)."
    if not settings.SANDBOX:
        raise CommandError(f"{said} Settle it after that.", returncode=2)
    if not is_asked_for:
        raise CommandError(f"{said} To settle it in the sandbox before, add --unfinished.", returncode=2)


def _figure(one: Document, name: str) -> str:
    return money(one[name], one["currency"]).removeprefix(f"{one['currency']} ")


def _found(one: batches.Due) -> Document:
    return {
        "business": str(one.business_id),
        "currency": one.currency,
        "day": one.day.isoformat(),
        "payments": one.payments,
        "gross": one.gross,
        "fees": one.fees,
        "taxes": one.taxes,
    }


def _shown(batch: SettlementBatch) -> Document:
    return {
        "id": str(batch.pk),
        "business": str(batch.business_id),
        "currency": batch.currency,
        "day": batch.day.isoformat(),
        "number": batch.number,
        "state": batch.state,
        "payments": batch.payments_count,
        "gross": batch.gross,
        "fees": batch.fees,
        "taxes": batch.taxes,
        "refunds": batch.refunds,
        "brought_forward": batch.brought_forward,
        "net": batch.net,
        "carried_forward": batch.carried_forward,
    }
