import json
from typing import Any

from django.core.management.base import CommandError, CommandParser

from kit.money.money import money
from kit.terminal.terminal import TerminalCommand
from kit.text.plurals import counted
from merchants.commands import chosen_business
from payments.services.links.link_recounts import Recount, recount


class Command(TerminalCommand):
    help = (
        "Recount the held and paid uses of payment links from their payments. Run it at the end of an upgrade during "
        "which processes of a release without payment links finished payments: until then, links only hold too many "
        "uses. Example: manage.py recount_links --dry-run"
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--business", metavar="ID_OR_NAME", help="recount the links of one business only")
        parser.add_argument(
            "--dry-run", action="store_true", help="show what would change, and change nothing"
        )
        parser.add_argument("--json", action="store_true", help="write one JSON object per link that differs")

    def handle(self, **options: Any) -> None:
        business = chosen_business(options["business"]) if options["business"] else None
        wrong = over_limit = 0
        for found in recount(business=business, is_dry_run=options["dry_run"]):
            wrong += not found.is_over_limit
            over_limit += found.is_over_limit
            self.stdout.write(json.dumps(_plain(found)) if options["json"] else _sentence(found))
        if not options["json"]:
            verb = "would be recounted" if options["dry_run"] else "recounted"
            self.stdout.write(f"{counted(wrong, 'link')} {verb}.")
        if over_limit:
            raise CommandError(
                f"{counted(over_limit, 'link')} not changed: more payments than `max_uses`. Raise it, then run this again."
            )


def _plain(found: Recount) -> dict[str, Any]:
    link = found.link
    return {
        "id": str(link.pk),
        "reference": link.reference,
        "before": {"uses_held": link.uses_held, "uses_paid": link.uses_paid, "amount_paid": link.amount_paid},
        "after": {"uses_held": found.held, "uses_paid": found.paid, "amount_paid": found.amount},
        "is_over_limit": found.is_over_limit,
    }


def _sentence(found: Recount) -> str:
    link = found.link
    return (
        f"{link.reference}: held {link.uses_held} -> {found.held}, paid {link.uses_paid} -> {found.paid}, "
        f"{money(link.amount_paid, link.currency)} -> {money(found.amount, link.currency)}"
    )
