"""Measure the dashboard's lists of transactions and its overview in this process."""

import argparse
import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from functools import partial
from http import HTTPStatus
from typing import Any
from zoneinfo import ZoneInfo

from django.core.management import call_command
from django.db import connection as django_connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from psycopg import Connection

from benchmarks.copies import copy_of
from benchmarks.figures import Figure, percentile, seconds_of
from benchmarks.many_rows import ID_AT, filling, timed
from merchants.models import Business
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.dashboard.people import signed_in
from tests.factories import ApiKeyFactory, MemberFactory
from tests.wallets import fill_wallet

LIMIT = 150  # ms
ZONE = "America/New_York"
TABLE = "payments_transaction"
DAYS = 100  # a few more than daily totals cover
# In 20 transactions, one is a payout and two failed, one in 1,000 with a rare code.
KIND = """
    CASE WHEN n % 20 = 1 THEN 'bench-payout' WHEN n % 10 = 0 THEN 'bench-declined' ELSE 'bench-paid' END
"""
IS_REFUNDED = "one.reference = 'bench-paid' AND source.n % 25 = 3"
CHANGES = {
    "id": ID_AT.format(at="source.at", number="source.n"),
    "reference": "'copy-' || source.n",
    "refund_status": f"CASE WHEN {IS_REFUNDED} THEN 'refunded' ELSE one.refund_status END",
    "amount_refunded": f"CASE WHEN {IS_REFUNDED} THEN one.amount_captured ELSE 0 END",
    "response_code": "CASE WHEN source.n % 1000 = 0 THEN '20014' ELSE one.response_code END",
    "created_at": "source.at",
    "finished_at": "source.at",
}


def pages(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Measure each page: its time, its queries, and what it says below its list."""
    with Connection.connect(url, autocommit=True) as connection:
        browser = owner_with_one_of_each()
        fill(connection, max(options.rows))
    with timed("days counted"):
        call_command("roll_up_days")
    paths = targets()
    for path in paths.values():  # the first view builds templates
        read(browser, path)
    took: dict[str, list[float]] = {name: [] for name in paths}
    for _ in range(options.views):
        for name, path in paths.items():
            took[name].append(seconds_of(partial(read, browser, path)) * 1000)
    for name, path in paths.items():
        note = f"p50 {percentile(took[name], 0.5):.0f}, {queries(browser, path)} queries; {said_below(browser, path)}"
        yield Figure(f"{name}: p95", percentile(took[name], 0.95), "ms", LIMIT, note=note)


def owner_with_one_of_each() -> Client:
    """Return the browser of an owner whose business has one transaction of each kind."""
    key: Any = ApiKeyFactory()  # type: ignore[no-untyped-call]
    member: Any = MemberFactory(business=key.business)  # type: ignore[no-untyped-call]
    Business.objects.filter(pk=key.business_id).update(time_zone=ZONE)
    fill_wallet(key.business, 1_000_000)
    client = InProcessClient(Credentials(key.public_id, key.secret))
    declined = orders.card_source(pan=orders.DECLINED_CARD)
    for order in (
        orders.card_payment(reference="bench-paid"),
        orders.card_payment(reference="bench-declined", source=declined),
        orders.payout(reference="bench-payout"),
    ):
        client.post("/api/payments", order)
    browser: Client = signed_in(member.user, client=Client())  # type: ignore[no-untyped-call]
    return browser


def fill(connection: Connection, rows: int) -> None:
    """Copy the transactions of each kind, spread over some days."""
    moments = (
        f"SELECT n, {KIND} AS kind, now() - interval '{DAYS} days' * (1 - n::float / {rows}) AS at "
        f"FROM generate_series(1, {rows}) n"
    )
    source = f"({moments}) source JOIN {TABLE} one ON one.reference = source.kind ORDER BY source.n"
    with filling(connection, TABLE):
        connection.execute(copy_of(connection, TABLE, source, CHANGES))


def targets() -> dict[str, str]:
    """Return the pages by name: each list, tab and filter, and the overview."""
    payments, payouts = "/dashboard/payments/", "/dashboard/payouts/"
    today = datetime.now(tz=ZoneInfo(ZONE)).date()
    month = f"since={today - timedelta(days=29)}"
    past = f"since={today - timedelta(days=80)}&until={today - timedelta(days=21)}"
    earlier = f"since={today - timedelta(days=98)}&until={today - timedelta(days=92)}"
    return {
        "overview": "/dashboard/",
        "overview of 90 days": "/dashboard/?days=90",
        "payments": payments,
        "oldest first": f"{payments}?sort=oldest",
        "failed": f"{payments}?status=failed",
        "refunded": f"{payments}?status=refunded",
        "authorised (none)": f"{payments}?status=authorised",
        "card checks (none)": f"{payments}?request_type=card_check",
        "by card": f"{payments}?method=card",
        "by transfer (none)": f"{payments}?method=virtual_account",
        "a frequent response code": f"{payments}?status=failed&code=20051",
        "a rare response code": f"{payments}?status=failed&code=20014",
        "a response code that none has": f"{payments}?status=failed&code=20099",
        "an amount that none has": f"{payments}?amount_from=1&amount_to=2",
        "last 7 days": f"{payments}?period=7d",
        "last 30 days": f"{payments}?{month}",
        "failed, 30 days": f"{payments}?status=failed&{month}",
        "by card, 30 days": f"{payments}?method=card&{month}",
        "a rare code, 30 days": f"{payments}?status=failed&code=20014&{month}",
        "60 days of the last 90": f"{payments}?{past}",
        "7 days before those of totals": f"{payments}?{earlier}",
        "payouts": payouts,
        "payouts, 30 days": f"{payouts}?{month}",
    }


def read(browser: Client, path: str) -> str:
    answer = browser.get(path)
    if answer.status_code != HTTPStatus.OK:
        raise SystemExit(f"{path} was answered with {answer.status_code}.")
    return answer.content.decode()


def queries(browser: Client, path: str) -> int:
    with CaptureQueriesContext(django_connection) as captured:
        read(browser, path)
    return len(captured)


def said_below(browser: Client, path: str) -> str:
    """Return the totals below the list, such as "20 of 10,000+ payments"."""
    found = re.search("<p>(<b>.*?)</p>", read(browser, path))
    return re.sub("<[^>]+>", "", found[1]) if found else ""
