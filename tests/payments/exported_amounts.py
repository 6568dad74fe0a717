"""Sums of the rows that members export as CSV, in minor units."""

import csv
import io
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from django.test import Client

from kit.money.money import decimals_of

Row = dict[str, str]
Amounts = Counter[str]  # minor units by currency


def exported(browser: Client, address: str) -> list[Row]:
    answer = browser.get(f"/dashboard/{address}")
    assert answer.status_code == 200
    text = b"".join(answer.streaming_content).decode("utf-8-sig")
    return list(csv.DictReader(io.StringIO(text)))


def minor(row: Row, column: str) -> int:
    exact = Decimal(row[column]) * 10 ** decimals_of(row["currency"])
    assert exact == int(exact)
    return int(exact)


def earned(browser: Client) -> Amounts:
    """Successful payments, less fees and refunds."""
    rows = exported(browser, "payments/export.csv")
    return _summed(
        (row["currency"], minor(row, gross_column(row)) - minor(row, "fee") - minor(row, "amount_refunded"))
        for row in rows
        if row["request_type"] == "payment" and row["status"] == "success"
    )


def gross_column(row: Row) -> str:
    return "amount_captured" if row["method"] == "card" else "amount"


def sent(browser: Client) -> Amounts:
    """Successful payouts with their fees."""
    rows = exported(browser, "payouts/export.csv")
    return _summed(
        (row["currency"], minor(row, "amount") + minor(row, "fee"))
        for row in rows
        if row["status"] == "success"
    )


def settled(browser: Client) -> Amounts:
    """Nets of released batches, each the sum of the lines of its statement."""
    batches = exported(browser, "settlements/export.csv")
    for batch in batches:
        lines = exported(browser, f"settlements/{batch['id']}/statement.csv")
        assert sum(minor(line, "net") for line in lines) == minor(batch, "net")
    return _summed((row["currency"], minor(row, "net")) for row in batches if row["state"] == "released")


def unapplied(browser: Client) -> Amounts:
    rows = exported(browser, "virtual-accounts/unapplied/export.csv")
    return _summed((row["currency"], minor(row, "amount")) for row in rows if row["state"] == "open")


def wallet(browser: Client, currency: str) -> int:
    """Movements of a wallet. Each row shows the balance after it."""
    balance = 0
    for row in reversed(exported(browser, f"balance/export.csv?currency={currency}")):
        balance += minor(row, "amount")
        assert minor(row, "balance_after") == balance
    return balance


def _summed(amounts: Iterator[tuple[str, int]]) -> Amounts:
    sums: Amounts = Counter()
    for currency, amount in amounts:
        sums[currency] += amount
    return sums
