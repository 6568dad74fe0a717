"""Import statements: all of a file, or none."""

import hashlib
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from itertools import islice, pairwise
from typing import BinaryIO

from django.db import transaction
from django.db.models import QuerySet

from cash import statement_files
from cash.models import IN_ORDER, LONGEST_TEXT, BankAccount, Statement, StatementLine
from cash.statement_files import InvalidFile, Parsed, ParsedLine
from kit.money.money import money
from ledger.models import Entry
from ledger.services import Booking, Kind
from merchants.people import audit
from merchants.people.audit import Actor

SHOWN = 10  # lines that are shown of a statement
TOGETHER = 2_000  # lines in one statement of SQL
ONE_DAY = timedelta(days=1)
EARLIEST, AHEAD = date(1990, 1, 1), timedelta(days=31)  # some banks date a month's statement to its end


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A file with what its importer says about it. Balances are minor units, of a CSV file without balances."""

    file: BinaryIO
    name: str
    format: str = ""  # empty: the file shows it
    opening: int | None = None
    closing: int | None = None
    may_follow_gap: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Imported:
    """A statement of the file, and whether it is new."""

    parsed: Parsed
    is_new: bool
    follows_gap: bool
    lines_count: int  # `parsed` keeps only the first lines of a stored one
    opening: Booking | None = None  # of the account's first statement, for the caller to book


def find_account(name: str) -> BankAccount:
    """Return the bank account with a name.

    :raises InvalidFile: there is none
    """
    account = BankAccount.objects.filter(name=name).first()
    if account is None:
        known = ", ".join(BankAccount.objects.order_by("name").values_list("name", flat=True)) or "none"
        raise InvalidFile(f"There is no bank account {name}. Known: {known}.")
    return account


@transaction.atomic
def import_file(
    account: BankAccount, source: Source, *, actor: Actor, now: datetime, dry_run: bool = False
) -> list[Imported]:
    """Store the statements of a file, and return them. With `dry_run`, only check them. The caller books what they open.

    :raises InvalidFile: the file is refused as a whole
    """
    account = BankAccount.objects.select_for_update().get(pk=account.pk)
    kind = source.format or statement_files.guess_format(source.file)
    found = statement_files.read(
        source.file, account, kind=kind, opening=source.opening, closing=source.closing
    )
    digest = "" if dry_run else _digest(source.file)
    stored = list(account.statements.order_by(*IN_ORDER))
    imported = []
    for parsed in found:
        _check(parsed, account)
        _require_storable(parsed, now=now)
        same = next((each for each in stored if _is_same(parsed, each)), None)
        is_new = same is None
        if same is not None and not account.is_at_bank:
            _require_same_lines(parsed, same)
        gap = is_new and _follows_gap(parsed, stored, account)
        if gap and not source.may_follow_gap:
            raise InvalidFile(f"{_gap(parsed, stored, account)} --after-gap imports it all the same.")
        opening, kept = None, parsed
        if is_new:
            row = _row(parsed, account, kind=kind, name=source.name, digest=digest, actor=actor, now=now)
            if not dry_run:
                _store(row, parsed, actor=actor, now=now)
                opening = None if stored else _opening(row, now=now)
                kept = replace(parsed, lines=parsed.lines[:SHOWN])
            stored = sorted([*stored, row], key=_place)
        imported.append(
            Imported(
                parsed=kept,
                is_new=is_new,
                follows_gap=gap,
                lines_count=len(parsed.lines),
                opening=opening,
            )
        )
    return imported


def gaps(account: BankAccount) -> list[tuple[Statement, Statement]]:
    """Return the statements that don't begin with the closing balance of the one before, after that one."""
    stored = list(account.statements.order_by(*IN_ORDER))
    return [(before, after) for before, after in pairwise(stored) if before.closing != after.opening]


def last_statement(account: BankAccount) -> Statement | None:
    return account.statements.order_by(*IN_ORDER).last()


def lines_of(account: BankAccount) -> QuerySet[StatementLine]:
    return StatementLine.objects.filter(statement__account=account)


def _place(each: Statement) -> tuple[date, date, int]:
    return each.last_day, each.first_day, each.pk or 2**63


def _digest(file: BinaryIO) -> str:
    file.seek(0)
    return hashlib.sha256(file.read()).hexdigest()


def _check(parsed: Parsed, account: BankAccount) -> None:
    place, currency = parsed.place, account.currency
    if parsed.account and not _names(parsed.account, account.number):
        raise InvalidFile(f"{place}: it is of account {parsed.account[:40]}, not of {account.number}.")
    if parsed.currency and parsed.currency != currency:
        raise InvalidFile(
            f"{place}: its currency is {parsed.currency[:10]}, but {account.name} is in {currency}."
        )
    for name, balance in (("opening", parsed.opening), ("closing", parsed.closing)):
        if abs(balance) > statement_files.LARGEST:
            raise InvalidFile(f"{place}: its {name} balance is too large.")
    end = parsed.opening + sum(line.amount for line in parsed.lines)
    if end != parsed.closing:
        last = parsed.lines[-1].place if parsed.lines else place
        raise InvalidFile(
            f"{last}: the opening balance and all lines are {money(end, currency)}, but the closing balance is "
            f"{money(parsed.closing, currency)}."
        )


def _require_storable(parsed: Parsed, *, now: datetime) -> None:
    """Refuse what no database stores, and days that can't be right: a statement is kept for ever, and later ones follow it."""
    if parsed.first_day < EARLIEST:
        raise InvalidFile(f"{parsed.place}: it begins before {EARLIEST:%Y}.")
    if parsed.last_day > now.date() + AHEAD:
        raise InvalidFile(f"{parsed.place}: it ends in the future, on {parsed.last_day:%-d %b %Y}.")
    for line in parsed.lines:
        if "\0" in f"{line.reference}{line.kind}{line.counterparty}{line.text}":
            raise InvalidFile(f"{line.place}: it has a NUL character.")


def _names(named: str, number: str) -> bool:
    """Return whether a file's account is ours. Files add the bank's code in front, or the currency behind."""
    plain = "".join(letter for letter in named.upper() if letter.isalnum())
    return number in plain or (len(plain) >= 6 and plain in number)  # noqa: PLR2004


def _is_same(parsed: Parsed, stored: Statement) -> bool:
    return (parsed.last_day, parsed.closing) == (stored.last_day, stored.closing)


def _require_same_lines(parsed: Parsed, stored: Statement) -> None:
    """Refuse another statement of a day. Acquirers pay all out, so that different ones close with the same balance."""
    told = Counter((line.booked_on, line.amount, line.order) for line in parsed.lines)
    if told != Counter(stored.lines.values_list("booked_on", "amount", "order").iterator()):
        raise InvalidFile(
            f"{parsed.place}: the statement of {stored} was imported with other lines. A day has one statement, of all that "
            "was paid out on it."
        )


def _before(parsed: Parsed, stored: list[Statement]) -> Statement | None:
    """Return the statement before."""
    until = _earlier_until(parsed, stored)
    return next((each for each in reversed(stored) if each.last_day <= until), None)


def _earlier_until(parsed: Parsed, stored: list[Statement]) -> date:
    """Return the last day of earlier statements. It is the first day if the balance of the last one then goes on."""
    of_day = [each for each in stored if each.last_day == parsed.first_day]
    goes_on = of_day and of_day[-1].closing == parsed.opening
    return parsed.first_day if goes_on else parsed.first_day - ONE_DAY


def _later_from(parsed: Parsed, stored: list[Statement]) -> date:
    """Return the first day of later statements. It is the last day if the balance goes on in the first one then."""
    of_day = [each for each in stored if each.first_day == parsed.last_day]
    goes_on = of_day and of_day[0].opening == parsed.closing
    return parsed.last_day if goes_on else parsed.last_day + ONE_DAY


def _follows_gap(parsed: Parsed, stored: list[Statement], account: BankAccount) -> bool:
    """Return whether a statement is missing before.

    :raises InvalidFile: it overlaps with another statement, or is older than all
    """
    until, later_from = _earlier_until(parsed, stored), _later_from(parsed, stored)
    for each in stored:
        if each.last_day > until and each.first_day < later_from:
            raise InvalidFile(f"{parsed.place}: it overlaps with the statement of {each}.")
    before = _before(parsed, stored)
    if before is None and stored:
        raise InvalidFile(
            f"{parsed.place}: it ends before the first statement of {account.name}, which begins on "
            f"{stored[0].first_day:%-d %b %Y}."
        )
    return before is not None and before.closing != parsed.opening


def _gap(parsed: Parsed, stored: list[Statement], account: BankAccount) -> str:
    before = _before(parsed, stored)
    held = money(before.closing, account.currency) if before else ""
    return (
        f"{parsed.place}: it opens with {money(parsed.opening, account.currency)}, but the statement of {before} "
        f"before it closes with {held}. A statement is missing in between."
    )


def _row(
    parsed: Parsed, account: BankAccount, *, kind: str, name: str, digest: str, actor: Actor, now: datetime
) -> Statement:
    return Statement(
        account=account,
        format=Statement.Format.TOLD if kind in statement_files.PROVIDERS else kind,
        first_day=parsed.first_day,
        last_day=parsed.last_day,
        opening=parsed.opening,
        closing=parsed.closing,
        lines_count=len(parsed.lines),
        file_name=name[:255],
        file_hash=digest,
        imported_by=actor.name,
        imported_at=now,
    )


def _store(row: Statement, parsed: Parsed, *, actor: Actor, now: datetime) -> None:
    row.save()
    lines = _lines(row, parsed.lines)
    while together := list(islice(lines, TOGETHER)):
        StatementLine.objects.bulk_create(together)
    audit.record(
        action="statement.imported",
        actor=actor,
        business=None,
        target=row.account.name,
        after={
            "statement": str(row),
            "opening": row.opening,
            "closing": row.closing,
            "currency": row.account.currency,
            "lines": row.lines_count,
            "file": row.file_name,
        },
        now=now,
    )


def _lines(row: Statement, lines: Iterable[ParsedLine]) -> Iterator[StatementLine]:
    for number, line in enumerate(lines, 1):
        yield StatementLine(
            statement=row,
            number=number,
            booked_on=line.booked_on,
            amount=line.amount,
            order=line.order,
            reference=line.reference[:100],
            kind=line.kind[:40],
            counterparty=line.counterparty[:140],
            text=line.text[:LONGEST_TEXT],
        )


def _opening(row: Statement, *, now: datetime) -> Booking | None:
    """What the account held before its first statement. It settles what was booked before without a statement."""
    if not row.opening:
        return None
    kind, name = row.account.house_account
    before = Kind.BANK_CLEARING if row.account.is_at_bank else Kind.ACQUIRER_RECEIVABLE
    return Booking(
        kind=Entry.Kind.STATEMENT_OPENED,
        cause=row.account_id,
        business_id=None,
        currency=row.account.currency,
        legs={before: row.opening},
        named_legs={(Kind(kind), name): -row.opening},
        at=now,
    )
