from argparse import ArgumentParser
from collections.abc import Iterable
from datetime import date
from typing import Any

from django.core.management.base import CommandError

from kit.db import clock
from kit.money.money import money
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from merchants.models import Business
from payments.models import FeeInvoice, InvalidState
from payments.rules.settlement.business_days import read_day
from payments.services.reporting import fee_invoices
from payments.services.reporting.fee_invoices import AMOUNTS, Draft

EXAMPLE = "manage.py fee_invoices --month 2026-10 --dry-run"


class Command(DocumentCommand):
    help = (
        "Issue the invoices of a month's fees: one for each business and currency, numbered without gaps. The scheduler "
        "does this an hour after the month has ended in Lagos. Invoices that were issued before are shown and stay as they "
        f"are. Example: {EXAMPLE}"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--month", metavar="M", help="such as 2026-10; without it, the last complete month"
        )
        parser.add_argument("--dry-run", action="store_true", help="compute without issuing anything")
        super().add_arguments(parser)

    def handle(self, *, month: str | None, dry_run: bool, json: bool, **_: Any) -> None:
        now = clock.now()
        first = fee_invoices.last_month(now=now) if month is None else _month(month)
        try:
            issued = 0 if dry_run else len(fee_invoices.issue(first, now=now))
        except InvalidState as refused:
            raise CommandError(str(refused.detail)) from None
        known = FeeInvoice.objects.filter(month=first).select_related("business").order_by("number")
        shown = [_issued(each) for each in known]
        if dry_run and not shown:
            shown = [_draft(each) for each in fee_invoices.drafts(first)]
        document = {"month": f"{first:%Y-%m}", "dry_run": dry_run, "issued": issued, "invoices": shown}
        self.show(document, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        for one in document["invoices"]:
            currency = one["currency"]
            yield (
                f"{one['number'] or 'not issued'}  {one['business']}  net {money(one['net'], currency)}  "
                f"tax {money(one['tax'], currency)}  "
                + (f"stamp duty {money(one['stamp_duty'], currency)}  " if one["stamp_duty"] else "")
                + f"gross {money(one['gross'], currency)}"
            )
        if document["dry_run"]:
            waiting = sum(1 for one in document["invoices"] if one["number"] is None)
            yield f"Would issue {counted(waiting, 'invoice')} for {document['month']}."
        else:
            yield f"Issued {counted(document['issued'], 'invoice')} for {document['month']}."


def _issued(invoice: FeeInvoice) -> dict[str, Any]:
    return {"number": invoice.reference, "business": invoice.buyer_name, "currency": invoice.currency} | {
        name: getattr(invoice, name) for name in (*AMOUNTS, "gross")
    }


def _draft(draft: Draft) -> dict[str, Any]:
    name = Business.objects.values_list("name", flat=True).get(pk=draft.business_id)
    amounts = {each: draft.total(each) for each in (*AMOUNTS, "gross")}
    return {"number": None, "business": name, "currency": draft.currency} | amounts


def _month(text: str) -> date:
    day = read_day(f"{text}-01")
    if day is None:
        raise CommandError(f"--month must be a month, such as 2026-10.\nExample: {EXAMPLE}", returncode=2)
    return day
