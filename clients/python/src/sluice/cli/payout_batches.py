"""`sluice payout-batches`: pay many from a CSV file, and follow it."""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from sluice._models import PayoutBatch, PayoutBatchItem
from sluice.cli.arguments import Subparsers, WrongUsage, add_caller, add_command, read_bytes
from sluice.cli.bank_names import BankNames
from sluice.cli.connection import connect, connect_to_change
from sluice.cli.output import DECIMALS, fields, money, show, table
from sluice.client import Sluice

EXAMPLE = "sluice payout-batches create --csv suppliers.csv"
COLUMNS = "Beneficiary, Account number, Bank (code or name), Amount (such as 2500.00), Narration, Reference, Purpose"
# The words of headings for each field, as the dashboard's page takes them, and as the API calls them.
HEADINGS = {
    "name": "name, beneficiary, beneficiary name, supplier, account name, payee, recipient, employee",
    "bank_code": "bank, bank code, bank name, nip code, sort code",
    "account_number": "account, account no, account number, acct no, acct number, nuban, account nr",
    "amount": "amount, sum, value, amount ngn, net pay, salary",
    "narration": "narration, description, note, remark, memo, details",
    "reference": "reference, ref, payout reference, id",
    "purpose": "purpose, payment purpose, purpose of payment",
}
FIELDS = {words: field for field, headings in HEADINGS.items() for words in headings.split(", ")}
NEEDED = {"name", "account_number", "bank_code", "amount"}
END = "\x1eend of the file\x1e"  # after the last row
SIGNS = {"NGN": "₦", "USD": "$", "EUR": "€", "GBP": "£", "GHS": "₵"}  # before an amount
# In the heading of an amount: minor units, and currencies.
MINOR_UNITS = {"kobo", "cent", "cents", "pence", "pesewa", "pesewas", "minor"}
OTHER_UNITS = MINOR_UNITS | {"ngn", "usd", "eur", "gbp", "ghs", "kes", "zar", "xof", "xaf", *SIGNS.values()}
DECIDED = ("ok", "pending", "success", "cancelled")  # states of payouts of which nothing has to be said


def add_to(commands: Subparsers) -> None:
    group = add_command(commands, "payout-batches", help="Pay many with one file.", example=EXAMPLE)
    actions = group.add_subparsers(required=True, metavar="ACTION")
    create = add_command(
        actions,
        "create",
        help=f"Make one of a CSV file. Its columns: {COLUMNS}. It is sent once it is approved.",
        example=EXAMPLE,
        run=_create,
    )
    create.add_argument("--csv", metavar="FILE", required=True, help="the file; - reads standard input")
    create.add_argument("--currency", default="NGN", help="of the amounts (default NGN)")
    create.add_argument(
        "--reference", help="yours (default: made of the file, so that the same file is never paid twice)"
    )
    create.add_argument("--title", help="what it pays for (default: the file's name)")
    create.add_argument("--run-at", metavar="TIME", help="when to send it, such as 2030-05-02T08:00:00Z")
    listed = add_command(
        actions, "list", help="List the newest.", example="sluice payout-batches list --limit 5", run=_list
    )
    listed.add_argument("--limit", type=int, default=20, help="how many (default 20)")
    found = add_command(
        actions,
        "get",
        help="Show one, with the payouts that need something.",
        example="sluice payout-batches get suppliers-48",
        run=_get,
    )
    approve = add_command(
        actions,
        "approve",
        help="Send one, or ask your members for approval.",
        example="sluice payout-batches approve suppliers-48 --accept bisi-1='Two invoices'",
        run=_approve,
    )
    approve.add_argument(
        "--accept",
        metavar="PAYOUT=REASON",
        action="append",
        type=_accepted,
        default=[],
        help="why a payout is paid although its checks found something; once for each",
    )
    approve.add_argument(
        "--as-far-as-balance", action="store_true", help="pay in the order of the file while there is money"
    )
    cancel = add_command(
        actions,
        "cancel",
        help="Cancel what is not sent yet.",
        example="sluice payout-batches cancel suppliers-48",
        run=_cancel,
    )
    retry = add_command(
        actions,
        "retry",
        help="Make a new batch of the failed payouts.",
        example="sluice payout-batches retry suppliers-48",
        run=_retry,
    )
    for parser in (found, approve, cancel, retry):
        parser.add_argument("batch", metavar="REF", help="your reference of the batch")
    for parser in (create, listed, found, approve, cancel, retry):
        add_caller(parser)


def _create(options: argparse.Namespace) -> int:
    content = read_bytes(options.csv)
    reference = options.reference or f"batch-{hashlib.sha256(content).hexdigest()[:16]}"
    payouts = list(_payouts(content, reference, options.currency))
    if not payouts:
        raise WrongUsage("The file has no rows.")
    request: dict[str, Any] = {
        "reference": reference,
        "title": options.title or ("Payouts" if options.csv == "-" else Path(options.csv).stem),
        "payouts": payouts,
    }
    if options.run_at:
        request["run_at"] = options.run_at
    total = money(sum(each["amount"] for each in payouts), options.currency)
    with connect_to_change(options, f"Create batch {reference} of {len(payouts)} payouts, {total}") as client:
        _find_banks(payouts, client)
        batch = client.payout_batches.create(**request)
    show(batch, options, lines=lambda: _lines(batch))
    return 0


def _payouts(content: bytes, reference: str, currency: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a CSV file as payouts.

    :raises WrongUsage: a column is missing, or an amount can't be read
    """
    rows = _rows(content)
    headings = _first_of_each([field_of(each, currency) for each in next(rows, [])])
    if missing := NEEDED - set(headings):
        raise WrongUsage(f"The file has no column for {', '.join(sorted(missing))}. Columns: {COLUMNS}.")
    for number, row in enumerate(rows, start=1):
        cells = {name: cell.strip() for name, cell in zip(headings, row) if name}  # noqa: B905  (rows may be shorter)
        payout = {
            "reference": cells.get("reference") or f"{reference}-{number}",
            "amount": _minor_units(cells.get("amount", ""), currency, number),
            "currency": currency,
            "customer": {name: cells.get(name, "") for name in ("name", "account_number", "bank_code")},
        }
        optional = {"narration": cells.get("narration"), "purpose": cells.get("purpose", "").lower()}
        yield payout | {name: text for name, text in optional.items() if text}


def _find_banks(payouts: list[dict[str, Any]], client: Sluice) -> None:
    """Replace names of banks by their codes. What is no name stays: the service says what is wrong."""
    customers = [each["customer"] for each in payouts]
    if all(each["bank_code"].isdecimal() for each in customers):
        return
    names = BankNames(client.banks.list())
    for each in customers:
        each["bank_code"] = names.code_of(each["bank_code"]) or each["bank_code"]


def _rows(content: bytes) -> Iterator[Sequence[str]]:
    """Yield the rows that are not empty, separated by commas, semicolons or tabs."""
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise WrongUsage("The file is not UTF-8. Save the sheet as CSV in UTF-8.") from None
    separator = max("\t;,", key=text.split("\n", 1)[0].count)
    try:
        rows = list(csv.reader(io.StringIO(f"{text}\n{END}", newline=""), delimiter=separator))
    except csv.Error as problem:
        raise WrongUsage(f"The file can't be read as CSV: {problem}.") from None
    if rows.pop() != [END]:  # it is part of a cell, and so are rows
        raise WrongUsage("The file can't be read as CSV: a quotation mark isn't closed.")
    yield from filter(any, rows)


def field_of(heading: str, currency: str = "NGN") -> str:
    """Return the field that a column has, or an empty string. Case, signs and what is in brackets don't matter.

    An amount of another currency, or in minor units, is none.

    >>> field_of("Amount (NGN)"), field_of("account_number"), field_of("Branch"), field_of("Amount (kobo)")
    ('amount', 'account_number', '', '')
    """
    words = " ".join(re.findall(r"[a-z]+", re.sub(r"\(.*?\)", "", heading.lower())))
    field = FIELDS.get(words, "")
    units = OTHER_UNITS.intersection(re.findall(r"[a-z]+|[^\w\s]", heading.lower()))
    return "" if field == "amount" and units - {currency.lower(), SIGNS.get(currency)} else field


def _first_of_each(names: Sequence[str]) -> list[str]:
    """Return fields of columns, without those that an earlier column has.

    >>> _first_of_each(["name", "amount", "name"])
    ['name', 'amount', '']
    """
    return [name if name not in names[:place] else "" for place, name in enumerate(names)]


def _minor_units(text: str, currency: str, row: int) -> int:
    """Return an amount of a file in minor units.

    >>> _minor_units("1,500.5", "NGN", 1), _minor_units("₦1500", "NGN", 1), _minor_units("JPY 1500", "JPY", 1)
    (150050, 150000, 1500)

    :raises WrongUsage: it can't be read without guessing
    """
    places = DECIMALS.get(currency, 2)
    plain = text.removeprefix(currency).removeprefix(SIGNS.get(currency, currency)).strip()
    found = re.fullmatch(r"(\d+|\d{1,3}(?:,\d{3})+)(?:\.(\d+))?", plain, re.ASCII)
    if found is None or len(found[2] or "") > places:
        raise WrongUsage(f"Row {row}: the amount {text!r} can't be read. Write it such as 2500.00.")
    return int(found[1].replace(",", "") + (found[2] or "").ljust(places, "0"))


def _list(options: argparse.Namespace) -> int:
    with connect(options) as client:
        found = client.payout_batches.list(limit=options.limit).data
    rows = [(each.created_at, each.status, _amount(each), each.reference, each.title) for each in found]
    show(found, options, lines=lambda: table(rows, empty="There are none."))
    return 0


def _get(options: argparse.Namespace) -> int:
    with connect(options) as client:
        batch = client.payout_batches.get(options.batch)
        open_items = [] if options.json else _open_items(client.payout_batches.payouts(options.batch))
    show(batch, options, lines=lambda: [*_lines(batch), *table(open_items, empty="")])
    return 0


def _approve(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Approve batch {options.batch}") as client:
        batch = client.payout_batches.approve(
            options.batch, accept=dict(options.accept), as_far_as_balance=options.as_far_as_balance
        )
    show(batch, options, lines=lambda: _lines(batch))
    return 0


def _cancel(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Cancel what is unsent of batch {options.batch}") as client:
        batch = client.payout_batches.cancel(options.batch)
    show(batch, options, lines=lambda: _lines(batch))
    return 0


def _retry(options: argparse.Namespace) -> int:
    with connect_to_change(options, f"Retry the failed payouts of batch {options.batch}") as client:
        batch = client.payout_batches.retry(options.batch)
    show(batch, options, lines=lambda: _lines(batch))
    return 0


def _accepted(text: str) -> tuple[str, str]:
    """Return the payout and the reason of an argument.

    :raises ArgumentTypeError: it has no reason
    """
    payout, _, reason = text.partition("=")
    if not payout or not reason:
        raise argparse.ArgumentTypeError(f"{text} is not such as bisi-1='Two invoices'")
    return payout, reason


def _open_items(payouts: Any) -> list[tuple[object, ...]]:
    """Return the payouts that need something, with what is wrong."""
    found: Iterator[PayoutBatchItem] = (each for each in payouts if each.status not in DECIDED)
    return [
        (each.reference, each.status, money(each.amount, each.currency), each.problem or _outcome(each))
        for each in found
    ]


def _outcome(item: PayoutBatchItem) -> str:
    return "" if item.payout is None else f"{item.payout.response_code} {item.payout.response_summary}"


def _lines(batch: PayoutBatch) -> Iterator[str]:
    yield from fields(
        {
            "batch": batch.reference,
            "title": batch.title,
            "status": batch.status,
            "amount": _amount(batch),
            "payouts": ", ".join(f"{count} {state}" for state, count in batch.counts.items()),
            "fees": money(batch.fees, batch.currency),
            "missing": money(batch.missing, batch.currency) if batch.missing else "",
            "waits for": batch.waits_for,
            "id": batch.id,
        }
    )


def _amount(batch: PayoutBatch) -> str:
    """Return the sum of what will be or was sent. Of a batch that was cancelled as a whole: what it had."""
    whole = sum(batch.sums.values())
    return money(whole - batch.sums.get("cancelled", 0) or whole, batch.currency)
