import sys
from argparse import Action, ArgumentParser, Namespace
from collections.abc import Iterable
from datetime import date
from typing import Any

from django.core.management.base import CommandError

from cash.models import BankAccount, Break
from kit.api.fields.strict_fields import CURRENCIES
from kit.db import clock
from kit.money.money import money, signed_money
from kit.text.plurals import counted
from merchants.commands import Document, DocumentCommand
from merchants.people.audit import Actor
from payments.rules.settlement.business_days import read_day
from payments.services.reconciliation import breaks, provider_statements, report
from payments.services.reconciliation.provider_statements import Unread
from payments.services.reconciliation.report import AccountReport

EXAMPLE = "manage.py reconcile --from 2026-01-01 --to 2026-01-31 --account gtbank"
ACTOR = Actor(name="reconcile")
ENDED = ("--file", "--source", "--apply", "--by")


class Ended(Action):
    """An option of earlier releases, kept for `handle` to refuse: Django shows errors of a parser as a traceback."""

    def __call__(self, _parser: Any, namespace: Namespace, _values: Any, option: str | None = None) -> None:
        namespace.ended = option


class Command(DocumentCommand):
    help = (
        "Report what the statements of our bank accounts and the ledger say of a period: per account opening and closing "
        "balance, what was matched, and the breaks. It first matches what is new; with --connector, it first requests the "
        "statements of days that have none from the provider. Exits with 1 if there are breaks, gaps, days that couldn't "
        "be read or an account without a statement of the period, and with 2 if no bank account is asked about. "
        f"Example: {EXAMPLE}"
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--from", dest="first", metavar="D", help="the first day (required)")
        parser.add_argument("--to", dest="last", metavar="D", help="the last day (required)")
        parser.add_argument("--currency", metavar="C", default="", help="report this currency only")
        parser.add_argument("--account", metavar="NAME", default="", help="report this bank account only")
        parser.add_argument(
            "--connector", metavar="NAME", default="", help="report the accounts of this connector"
        )
        for option in ENDED:
            parser.add_argument(
                option,
                action=Ended,
                dest="ended",
                nargs="?",
                help="ended; import_statement reads statements",
            )
        super().add_arguments(parser)

    def handle(
        self,
        *,
        first: str | None,
        last: str | None,
        currency: str,
        account: str,
        connector: str,
        json: bool,
        ended: str | None,
        **_: Any,
    ) -> None:
        if ended:
            raise CommandError(
                f"{ended} has ended. Import the statement with manage.py import_statement --account NAME --file F, then "
                f"report it with --from D --to D [--currency C] [--account NAME] [--connector NAME].\nExample: {EXAMPLE}",
                returncode=2,
            )
        first_day, last_day = _day("--from", first), _day("--to", last)
        if first_day > last_day:
            raise CommandError(f"--from must not be after --to.\nExample: {EXAMPLE}", returncode=2)
        if currency and currency not in CURRENCIES:
            raise CommandError("--currency must be a code of ISO 4217, such as NGN.", returncode=2)
        found = report.accounts(name=account, currency=currency, connector=connector)
        if not found:
            raise CommandError(
                "No bank account matches, so nothing was compared. Add it in the administration.",
                returncode=2,
            )
        unread = {each.pk: _fetch(each, first_day, last_day) for each in found if connector}
        for each in found:
            breaks.update(each, now=clock.now())
        reports = [report.of_period(each, first_day, last_day) for each in found]
        document = {"first_day": first_day.isoformat(), "last_day": last_day.isoformat()}
        shown = [_shown(each, unread.get(each.account.pk)) for each in reports]
        self.show(document | {"accounts": shown}, as_json=json)
        if any(unread.values()) or not all(each.is_clean for each in reports):
            sys.exit(1)

    def lines(self, document: Document) -> Iterable[str]:
        for one in document["accounts"]:
            currency = one["currency"]
            yield (
                f"{one['account']}  {currency}  opening {_balance(one['opening'], currency)}  "
                f"closing {_balance(one['closing'], currency)}  {one['matched']:,} matched, "
                f"{money(one['matched_amount'], currency)}  {counted(len(one['breaks']), 'break')}"
            )
            if one["has_no_statement"]:
                yield "    no statement: none of the period was imported, nor a later one"
            for each in one["unread"]:
                yield f"    not read from {each['day']}: {each['reason']}"
            for each in one["gaps"]:
                yield f"    gap: a statement is missing between {each['after']} and {each['before']}"
            for each in one["breaks"]:
                yield (
                    f"    {each['kind_in_words'].lower()}: {each['reference'] or 'no reference'}  {each['since']}"
                    f"  bank {money(each['bank'], currency)}  ledger {money(each['ledger'], currency)}"
                    f"  {signed_money(each['difference'], currency)}"
                )


def _day(option: str, text: str | None) -> date:
    day = read_day(text or "")
    if day is None:
        raise CommandError(f"{option} must be a day, such as 2026-01-31.\nExample: {EXAMPLE}", returncode=2)
    return day


def _balance(balance: int | None, currency: str) -> str:
    return "unknown" if balance is None else money(balance, currency)


def _fetch(account: BankAccount, first: date, last: date) -> Unread | None:
    """Import what the account's provider reports of days without a statement, if it can be asked."""
    if not provider_statements.offers_statements(account):
        return None
    return provider_statements.import_missing(account, first, last, actor=ACTOR, now=clock.now())


def _shown(one: AccountReport, unread: Unread | None) -> Document:
    return {
        "account": one.account.name,
        "currency": one.account.currency,
        "opening": one.opening,
        "closing": one.closing,
        "matched": one.matched,
        "matched_amount": one.matched_amount,
        "has_no_statement": one.has_no_statement,
        "unread": [{"day": unread.day.isoformat(), "reason": unread.reason}] if unread else [],
        "breaks": [_break(each) for each in one.breaks],
        "gaps": [
            {"after": before.last_day.isoformat(), "before": after.first_day.isoformat()}
            for before, after in one.gaps
        ],
    }


def _break(each: Break) -> Document:
    return {
        "id": each.pk,
        "kind": each.kind,
        "kind_in_words": each.get_kind_display(),
        "reference": each.reference,
        "item_kind": each.item_kind,
        "item": str(each.item) if each.item else None,
        "since": each.since.isoformat(),
        "bank": each.bank_amount,
        "ledger": each.ledger_amount,
        "difference": each.difference,
    }
