from argparse import ArgumentParser
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import CommandError

from cash.models import BankAccount
from cash.services import imports
from cash.services.imports import Imported, Source
from cash.statement_files import FORMATS, PROVIDERS, InvalidAmount, InvalidFile, NotYet, amount_of
from kit.db import clock
from kit.money.money import money
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from merchants.people.audit import Actor
from payments.rules.settlement.business_days import last_business_day, read_day
from payments.services.reconciliation import breaks, provider_statements
from payments.services.reconciliation.ledger_lines import own_accounts

REFUSED = 2
ACTOR = Actor(name="import_statement")


class Command(DocumentCommand):
    help = (
        "Import the statements of one of our accounts: CSV by the account's mapping, MT940, CAMT.053, or a settlement of "
        "Paystack or Checkout.com. With --day, the provider is asked for the day's statement. A file is "
        "imported as a whole or refused as a whole. The same statement again changes nothing. Exits with 2 if it is "
        "refused. Example: manage.py import_statement --account gtbank --file january.sta"
    )
    # The checks import every page, and their memory adds to that of a large file. `migrate` runs them instead.
    requires_system_checks = ()

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--account", required=True, metavar="NAME", help="the bank account's name")
        source = parser.add_mutually_exclusive_group(required=True)
        source.add_argument("--file", type=Path, help="the statement")
        source.add_argument("--day", metavar="D", help="a day that the account's provider is asked about")
        parser.add_argument("--format", choices=FORMATS, default="", help="by default, the file shows it")
        parser.add_argument(
            "--opening", metavar="AMOUNT", help="of a CSV file without balances, such as 1500.00"
        )
        parser.add_argument("--closing", metavar="AMOUNT", help="of a CSV file without balances")
        parser.add_argument(
            "--after-gap", action="store_true", help="import it although a statement before it is missing"
        )
        parser.add_argument(
            "--dry-run", action="store_true", help="check the statement without changing anything"
        )
        super().add_arguments(parser)

    def handle(self, *, account: str, file: Path | None, day: str | None, json: bool, **options: Any) -> None:
        try:
            found = _at_provider(imports.find_account(account), options["format"])
            imported, matched = (
                _import(found, file, **options)
                if file
                else _fetch(found, day or "", dry_run=options["dry_run"])
            )
        except InvalidFile as refused:
            name = file.name if file else f"The statement of {day}"
            raise CommandError(f"{name} was not imported: {refused}", returncode=REFUSED) from None
        document = {
            "account": found.name,
            "matched": matched,
            "dry_run": options["dry_run"],
            "statements": [_shown(each, found) for each in imported],
        }
        self.show(document, as_json=json)

    def lines(self, document: Document) -> Iterable[str]:
        for one in document["statements"]:
            state = "new" if one["is_new"] else "imported before"
            gap = ", after a gap" if one["follows_gap"] else ""
            currency = one["currency"]
            yield (
                f"{one['first_day']} to {one['last_day']}  {counted(one['lines'], 'line'):>12}"
                f"  opening {money(one['opening'], currency)}  closing {money(one['closing'], currency)}  {state}{gap}"
            )
        new = sum(one["is_new"] for one in document["statements"])
        verb = "Would import" if document["dry_run"] else "Imported"
        yield f"{verb} {counted(new, 'statement')} of {document['account']}."
        if not document["dry_run"]:
            yield f"Matched {counted(document['matched'], 'line')}."


def _import(account: BankAccount, file: Path, **options: Any) -> tuple[list[Imported], int]:
    balances = {name: _balance(account, name, options[name]) for name in ("opening", "closing")}
    try:
        with file.open("rb") as opened:
            source = Source(
                file=opened,
                name=file.name,
                format=options["format"],
                may_follow_gap=options["after_gap"],
                **balances,
            )
            if options["dry_run"]:
                return imports.import_file(account, source, actor=ACTOR, now=clock.now(), dry_run=True), 0
            return breaks.import_file(account, source, actor=ACTOR, now=clock.now())
    except (OSError, ValueError) as error:
        if isinstance(error, InvalidFile):
            raise
        raise InvalidFile(
            f"it cannot be read: {getattr(error, 'strerror', None) or 'invalid name'}."
        ) from None


def _at_provider(account: BankAccount, form: str) -> BankAccount:
    """Return the account itself, or our account at the provider whose format is given for the bank account it pays into."""
    if form not in PROVIDERS or not account.is_at_bank:
        return account
    found = [each for each in own_accounts(account.currency) if form in each.receives]
    return found[0] if found else account


def _fetch(account: BankAccount, day: str, *, dry_run: bool) -> tuple[list[Imported], int]:
    wanted, now = read_day(day), clock.now()
    if wanted is None:
        raise InvalidFile("--day must be a day, such as 2026-01-31.")
    if not settings.SANDBOX and wanted > last_business_day(now):  # simulators may be ahead
        raise InvalidFile("the day isn't over in Lagos yet.")
    if not provider_statements.offers_statements(account):
        raise InvalidFile(
            f"{account.name} isn't at a provider whose statements can be requested, or the provider isn't configured."
        )
    try:
        return provider_statements.import_day(account, wanted, actor=ACTOR, now=now, dry_run=dry_run)
    except NotYet:
        raise InvalidFile(provider_statements.NOT_YET) from None
    except provider_statements.NOT_ANSWERED:
        raise InvalidFile(provider_statements.UNAVAILABLE) from None


def _balance(account: BankAccount, name: str, text: str | None) -> int | None:
    try:
        return None if text is None else amount_of(text, account.currency)
    except InvalidAmount as wrong:
        raise InvalidFile(f"--{name}: {wrong}.") from None


def _shown(one: Imported, account: BankAccount) -> Document:
    parsed = one.parsed
    return {
        "first_day": parsed.first_day.isoformat(),
        "last_day": parsed.last_day.isoformat(),
        "currency": account.currency,
        "opening": parsed.opening,
        "closing": parsed.closing,
        "lines": one.lines_count,
        "is_new": one.is_new,
        "follows_gap": one.follows_gap,
    }
