"""Payouts of a day as a statement, from the report "Financial Actions by Payout ID": payments, costs by kind, and what was paid out.

A file is such a report, or what `fetch` returns. Fees are decimals with up to eight places. Each kind is rounded once per
payout, and the rest is a cost of its own, so that the sum is what was paid out.

A payout below zero pays nothing out. The balance there is below zero until a later payout sets it off, or our bank's statement has a
debit, which staff match.
"""

import csv
import io
import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import ROUND_DOWN, ROUND_HALF_EVEN, Decimal, InvalidOperation
from typing import Any, BinaryIO, cast
from uuid import NAMESPACE_OID, UUID, uuid5

from cash.models import BankAccount
from cash.services.repeated_settlements import PAID_OUT, first_late_day, settlements_told
from cash.statement_files import InvalidFile, Parsed, ParsedLine, of_day
from connectors.checkout.api.client import NotFound
from connectors.checkout.api.references import id_of
from connectors.checkout.cards import CheckoutAcquirer
from kit.files import bounded_json
from kit.money.money import decimals_of
from kit.text.display_names import identifier_text
from payments.rails import configured_acquirer
from payments.rails.protocol import AnswerLost
from payments.services.rails.declared_accounts import same_as

Document = dict[str, Any]
Row = dict[str, str]

ACTIONS, PAYOUTS = "FinancialActionsByPayoutId", "Payouts"
LISTED, MOST_PAGES = 100, 50
LATE = timedelta(days=1)  # the day may be over by our clock when a report of it is made
_ID = re.compile(r"[A-Za-z0-9_-]{1,64}\Z", re.ASCII)
# The part of an action that is its own amount, not a cost. References are the payment's number, of refunds the action's.
PRINCIPAL = {
    "capture": "payment",
    "refund": "refund",
    "chargeback": "chargeback",
    "chargeback reversal": "chargeback reversal",
}
COSTS = ("interchange", "scheme", "chargeback")  # what else it charges is its own: a cost of the provider
NEEDED = frozenset({"payout id", "action id", "action type", "breakdown type", "holding currency amount"})


def fetch(account: BankAccount, day: date) -> bytes | None:
    """Return the payouts of a day, with those of the day before that may have been added since, or None without any.

    :raises AnswerLost: Checkout.com doesn't answer, and the other errors of its client
    """
    acquirer = cast("CheckoutAcquirer", configured_acquirer("checkout"))
    if acquirer.account not in same_as(acquirer.name, account.connector_account):
        raise AnswerLost
    found: dict[str, list[Row]] = {ACTIONS: [], PAYOUTS: []}
    for report in _reports(acquirer, first_late_day(account, day, longest=LATE), day):
        if (kind := report.get("type")) in found:
            # Reports that people ask for are listed beside the scheduled ones. A payout may be in both.
            told = {row.get("payout id") for row in found[kind]}
            for file in report.get("files") or []:
                rows = _rows(_downloaded(acquirer, report, file))
                found[kind] += [row for row in rows if row.get("payout id") not in told]
    if not found[ACTIONS]:
        return None
    return json.dumps({"day": day.isoformat(), "actions": found[ACTIONS], "payouts": found[PAYOUTS]}).encode()


def read(file: BinaryIO, account: BankAccount) -> list[Parsed]:
    """Return the statement of a file. What `fetch` returned may have none: payouts in other currencies, or told before.

    :raises InvalidFile: it can't be read
    """
    try:
        text = file.read().decode("utf-8-sig")
        if is_fetched := text.lstrip().startswith("{"):
            document = bounded_json.loads(text)
            day, actions = date.fromisoformat(document["day"]), document["actions"]
            told = {row["payout id"]: Decimal(row["payout amount"]) for row in document["payouts"]}
        else:
            actions, told = _rows(text), {}
            day = max(_day_of(row) for row in actions)
        lines, balance = [], account.closing_before(day)
        for payout, rows in _new(_by_payout(actions, account), account=account, day=day):
            of_payout = list(_lines(payout, rows, account, day, sent=told.get(payout), owed=min(balance, 0)))
            balance += sum(line.amount for line in of_payout)
            lines += of_payout
    except (ValueError, LookupError, TypeError, AttributeError, InvalidOperation, csv.Error) as wrong:
        if isinstance(wrong, InvalidFile):
            raise
        raise InvalidFile(f"This is not a report of Checkout.com ({type(wrong).__name__}).") from None
    if not lines and is_fetched:
        return []
    if not lines:
        raise InvalidFile(f"The file has no new payout in {account.currency}.")
    return [of_day(account, day, lines)]


def _reports(acquirer: CheckoutAcquirer, first: date, last: date) -> Iterator[Document]:
    """Yield the reports that were made on days in UTC."""
    after, before = (f"{each}T00:00:00Z" for each in (first, last + timedelta(days=1)))
    query = f"created_after={after}&created_before={before}&limit={LISTED}"
    token = ""
    for _ in range(MOST_PAGES):
        found = acquirer.client.get(
            f"/reports?{query}{token}", deadline=acquirer.client.deadline(of_query=True)
        )
        if not isinstance(found, dict) or not isinstance(found.get("data"), list):
            raise AnswerLost
        yield from found["data"]
        following = str((found.get("_links") or {}).get("next", {}).get("href", ""))
        if "pagination_token=" not in following:
            return
        token = f"&pagination_token={following.partition('pagination_token=')[2].partition('&')[0]}"


def _downloaded(acquirer: CheckoutAcquirer, report: Document, file: Document) -> str:
    ids = [identifier_text(each.get("id"), length=64) for each in (report, file)]
    if not all(map(_ID.match, ids)):
        raise AnswerLost
    path, deadline = f"/reports/{ids[0]}/files/{ids[1]}", acquirer.client.deadline(of_query=True)
    try:
        return acquirer.client.download(path, deadline=deadline)
    except NotFound:
        raise AnswerLost from None


def _rows(text: str) -> list[Row]:
    """Return the rows of a report, by the names of their columns in lowercase.

    :raises InvalidFile: columns are missing
    """
    reader = csv.reader(io.StringIO(text, newline=""))
    names = [name.strip().lower().replace("_", " ") for name in next(reader, [])]
    missing = sorted(NEEDED - set(names)) if "payout amount" not in names else []
    if missing:
        raise InvalidFile(f"line 1: columns are missing: {', '.join(missing)}.")
    return [dict(zip(names, cells, strict=False)) for cells in reader if cells]


def _by_payout(rows: Iterable[Row], account: BankAccount) -> list[tuple[str, list[Row]]]:
    """Return the rows of each payout in the account's currency."""
    found: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if row.get("holding currency", account.currency) == account.currency:
            found[row["payout id"]].append(row)
    return sorted(found.items())


def _new(
    payouts: list[tuple[str, list[Row]]], *, account: BankAccount, day: date
) -> list[tuple[str, list[Row]]]:
    """Return the payouts that no statement of another day has."""
    keys = {_text(payout): _key(account, payout) for payout, _ in payouts}
    told = settlements_told(keys, account=account, day=day)
    return [each for each in payouts if _text(each[0]) not in told]


def _text(payout: str) -> str:
    return f"payout {payout}"


def _key(account: BankAccount, payout: str) -> UUID:
    return uuid5(NAMESPACE_OID, f"sluice {account.connector_account} payout {payout}")


def _lines(
    payout: str, rows: list[Row], account: BankAccount, day: date, *, sent: Decimal | None, owed: int
) -> Iterator[ParsedLine]:
    """Yield what a payout is of. A part of an unknown kind is a line of its own, which nothing explains.

    `owed` is what earlier payouts left below zero, which this one may set off.
    """
    costs: dict[str, Decimal] = defaultdict(Decimal)
    total, rounded = 0, 0
    exact = sum((Decimal(row["holding currency amount"]) for row in rows), Decimal())
    paid = _minor(sent if sent is not None else exact, account, rounding=ROUND_DOWN)
    for row in rows:
        amount = Decimal(row["holding currency amount"])
        part = row["breakdown type"].strip().lower()
        if part != row["action type"].strip().lower() and "fee" in part:
            costs[next((name for name in COSTS if name in part), "provider")] += amount
            continue
        line = _part(row, part, _minor(amount, account), day)
        if paid <= 0:  # without a line of what was paid out, the others name the payout
            line = replace(line, text=_text(payout))
        total += line.amount
        rounded += line.amount != amount.scaleb(decimals_of(account.currency))
        yield line
    for name, amount in sorted(costs.items()):
        total += (minor := _minor(amount, account))
        if minor:
            yield _line(f"{name} fee", minor, day, payout)
    rest, inexact = paid - total, len(costs) + rounded + 1
    rest -= owed if sent is not None and abs(rest - owed) <= inexact else 0
    yield from _rest(payout, day, rest, is_rounding=abs(rest) <= inexact)
    if paid > 0:
        yield ParsedLine(
            place=_text(payout),
            booked_on=day,
            amount=-paid,
            order=_key(account, payout),
            reference=payout,
            kind=PAID_OUT,
            text=_text(payout),
        )


def _rest(payout: str, day: date, rest: int, *, is_rounding: bool) -> Iterator[ParsedLine]:
    if rest:
        yield _line("rounding fee" if is_rounding else "difference", rest, day, payout)


def _part(row: Row, part: str, amount: int, day: date) -> ParsedLine:
    kind = PRINCIPAL.get(part, part)
    number = "action id" if kind == "refund" else "payment id"
    return ParsedLine(
        place=f"action {row['action id'][:40]}",
        booked_on=day,
        amount=amount,
        order=id_of(row.get("reference")),
        reference=row.get(number, ""),
        kind=kind,
        text=row["action id"],
    )


def _line(kind: str, amount: int, day: date, payout: str) -> ParsedLine:
    return ParsedLine(
        place=_text(payout), booked_on=day, amount=amount, order=None, kind=kind, text=_text(payout)
    )


def _minor(amount: Decimal, account: BankAccount, *, rounding: str = ROUND_HALF_EVEN) -> int:
    return int(amount.scaleb(decimals_of(account.currency)).to_integral_value(rounding))


def _day_of(row: Row) -> date:
    return datetime.fromisoformat(row["processed on"]).date()
