"""Measure the lists of disputes of the API and the dashboard, with their filters, in this process."""

import argparse
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any
from urllib.parse import quote

from django.core.management import call_command
from django.test import Client
from django.utils import timezone
from psycopg import Connection

from benchmarks.dashboard_list_parts import read
from benchmarks.figures import Figure, percentile, seconds_of
from benchmarks.list_parts import client_with_a_payment
from benchmarks.many_rows import DAYS, ID, copy_row, filling, timed
from dashboard.disputes.dispute_list import STATUSES
from kit.time.time_ordered_ids import earliest_id
from payments.models import Transaction
from tests.dashboard.people import signed_in
from tests.disputed import disputed
from tests.factories import MemberFactory

SLOWEST = 100  # milliseconds, 95th percentile


def dispute_lists(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Yield the 95th percentile of each list, with a dispute for each of as many payments."""
    rows = options.disputes
    client = client_with_a_payment()
    payment = Transaction.objects.get()
    disputed(payment, amount=1)
    member: Any = MemberFactory(business=payment.business)  # type: ignore[no-untyped-call]
    browser = signed_in(member.user, client=Client())  # type: ignore[no-untyped-call]
    with Connection.connect(url, autocommit=True) as connection:
        _fill(connection, rows)
    with timed("days rolled up"):  # as each night
        call_command("roll_up_days")
    reads: dict[str, Callable[[], Any]] = {
        name: partial(_read, client, target) for name, target in _targets().items()
    }
    reads |= {name: partial(read, browser, path) for name, path in _pages().items()}
    took: dict[str, list[float]] = {name: [] for name in reads}
    for each in reads.values():  # the first view builds templates
        each()
    for _ in range(options.turns):
        for name, each in reads.items():
            took[name].append(seconds_of(each) * 1000)
    for name, times in took.items():
        yield Figure(f"{name} of {rows:,} disputes, p95", percentile(times, 0.95), "ms", SLOWEST)


def _fill(connection: Connection, rows: int) -> None:
    """Copy the payment and its dispute. One in fifty waits for an answer, as many are reviewed, the others ended."""
    with filling(connection, "payments_transaction"):
        copy_row(
            connection,
            "payments_transaction",
            rows,
            {"id": ID, "reference": "'disputed-' || n", "created_at": "at", "finished_at": "at"},
        )
    ended = "n % 50 > 1"
    with filling(connection, "disputes_dispute"):
        copy_row(
            connection,
            "disputes_dispute",
            rows,
            {
                "id": ID,
                "transaction_id": "(SELECT payment.id FROM payments_transaction payment"
                " WHERE payment.business_id = one.business_id AND payment.reference = 'disputed-' || n)",
                "case_number": "'CB-' || n",
                "stage": "(ARRAY['chargeback', 'chargeback', 'pre_arbitration', 'inquiry'])[1 + n % 4]",
                "status": "(ARRAY['needs_response', 'under_review', 'won', 'lost', 'expired'])"
                f"[CASE WHEN {ended} THEN 3 + n % 3 ELSE 1 + n % 50 END]",
                "outcome_amount": f"CASE WHEN {ended} THEN amount END",
                "resolved_at": f"CASE WHEN {ended} THEN at END",
                "respond_by": "at + interval '10 days'",
                "created_at": "at",
                "updated_at": "at",
            },
        )


def _targets() -> dict[str, str]:
    """Return the requests by name."""
    later = quote((datetime.now(tz=UTC) + timedelta(days=20)).isoformat(timespec="milliseconds"))
    earlier = quote((timezone.now() - timedelta(days=DAYS / 2)).isoformat(timespec="milliseconds"))
    return {
        "the newest": "/api/disputes?limit=100",
        "those to answer": "/api/disputes?limit=100&status=needs_response",
        "the expired": "/api/disputes?limit=100&status=expired",
        "the inquiries": "/api/disputes?limit=100&stage=inquiry",
        "the expired of a stage": "/api/disputes?limit=100&status=expired&stage=pre_arbitration",
        "all open with a deadline": f"/api/disputes?limit=100&due_before={later}",
        "the open that were due long ago": f"/api/disputes?limit=100&due_before={earlier}",
        "those of a payment": "/api/disputes?payment=disputed-77",
        "the few of two filters": f"/api/disputes?limit=100&due_before={earlier}&stage=inquiry",
    }


def _pages() -> dict[str, str]:
    """Return the pages of the dashboard by name."""
    path = "/dashboard/disputes/"
    queries = {
        "all": "",
        "all, far behind": f"before=-1+day%2C+0%3A00%3A00~{earliest_id(timezone.now() - timedelta(days=DAYS * 0.9))}",
        **{str(status): f"status={status}" for status in STATUSES},
        "of a stage": "stage=pre_arbitration",
        "lost at a stage": "status=lost&stage=inquiry",
        "of a reason": "reason=fraudulent",
        "of a reason that none has": "reason=duplicate",
        "lost for a reason": "status=lost&reason=fraudulent&stage=pre_arbitration",
        "by deadline": f"due_before={timezone.localdate() + timedelta(days=2)}",
        "of 30 days": "period=30d",
        "a search": "q=disputed-77",
    }
    return {f"page, {name}": f"{path}?{query}" for name, query in queries.items()}


def _read(client: Any, target: str) -> None:
    answer = client.get(target)
    if not answer.json().get("data"):
        raise SystemExit(f"{target} was answered with {answer.status_code} and no dispute.")
