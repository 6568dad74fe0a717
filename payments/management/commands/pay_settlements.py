from argparse import ArgumentParser
from collections.abc import Iterable
from typing import Any

from kit.db import clock
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from payments.services.settlement.payouts import payout_endings, settlement_accounts, settlement_payouts


class Command(DocumentCommand):
    help = (
        "Apply changes of settlement accounts whose wait is over, follow up on the outcomes of settlement payouts, and "
        "make those that are due. The scheduler does this every minute. Run it manually if no worker runs. "
        "Example: manage.py pay_settlements --dry-run"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        super().add_arguments(parser)
        parser.add_argument("--dry-run", action="store_true", help="count without changing anything")

    def handle(self, *, dry_run: bool, json: bool, **options: Any) -> None:
        now = clock.now()
        if dry_run:
            counts = {
                "accounts": len(settlement_accounts.due(now=now)),
                "ended": payout_endings.due(now=now).count(),
                "payouts": len(settlement_payouts.due(now=now)),
            }
        else:
            counts = {
                "accounts": settlement_accounts.apply_due(now=now),
                "ended": payout_endings.end_due(now=now),
                "payouts": settlement_payouts.pay_due(),
            }
        self.show({"dry_run": dry_run} | counts, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        made = "Would make up to" if document["dry_run"] else "Made"
        yield f"{made} {counted(document['payouts'], 'settlement payout')}."
        if document["accounts"]:
            changed = "Would change" if document["dry_run"] else "Changed"
            yield f"{changed} {counted(document['accounts'], 'settlement account')}."
