"""Measure settling in this process."""

import argparse
from collections.abc import Callable, Iterator

import psycopg
from django.core.management import call_command
from django.utils import timezone

from benchmarks.copies import copy_of
from benchmarks.figures import Figure, seconds_of
from benchmarks.many_rows import ID_AT
from kit.files.tables import csv_lines
from merchants.models import Business
from merchants.people.audit import Actor
from payments.models import SettlementBatch, Transaction
from payments.rules.settlement.business_days import business_day
from payments.services.settlement.batches import batch_decisions, batch_statements, batch_transitions
from tests.transactions import captured_payment


def settlement(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Settle a day's payments into the wallets."""
    fill(url, options.payments, options.businesses)
    yield from settle(options.payments)


def fill(url: str, payments: int, businesses: int) -> None:
    """Create one real payment per business, and copy it, a microsecond apart, with ids in the order of time."""
    changes = {"id": ID_AT.format(at="at", number="n"), "reference": "'fill-' || n", "finished_at": "at"}
    with psycopg.connect(url, autocommit=True) as connection:
        for number in range(businesses):
            business = Business.objects.create(name=f"Business {number}")
            paid = captured_payment(business=business, now=timezone.now())
            source = (
                f"payments_transaction one, generate_series(1, {payments // businesses - 1}) n, "
                "LATERAL (SELECT one.finished_at + n * interval '1 microsecond' AS at) moment "
                f"WHERE one.id = '{paid.pk}'"
            )
            connection.execute(copy_of(connection, "payments_transaction", source, changes))
        connection.execute("ANALYZE")


def settle(payments: int) -> Iterator[Figure]:
    def decide(decision: Callable[..., object]) -> None:
        for batch in SettlementBatch.objects.all():
            decision(batch.pk, actor=Actor(name="benchmark"), now=timezone.now())

    def decided(what: str, decision: Callable[..., object]) -> Iterator[Figure]:
        yield Figure(f"{what} their batches", seconds_of(lambda: decide(decision)), "s", 1)
        chunks = batch_transitions.update_items(SettlementBatch.objects.all())
        taken = [seconds_of(lambda: next(chunks, 0))]
        while SettlementBatch.objects.updating().exists():
            taken.append(seconds_of(lambda: next(chunks, 0)))
        yield Figure(f"after {what}: their other payments, in chunks", sum(taken), "s")
        yield Figure(f"after {what}: longest chunk", max(taken), "s", 3)

    def write_statements() -> None:
        for batch in SettlementBatch.objects.all():
            sum(1 for _ in csv_lines(batch_statements.table(batch)))

    today = business_day(timezone.now())
    name = f"settle of {payments:,} payments"
    yield Figure(name, seconds_of(lambda: call_command("settle", date=today, unfinished=True)), "s", 30)
    yield from decided("approving", batch_decisions.approve)
    yield from decided("releasing", batch_decisions.release)
    yield Figure("their statements as CSV", seconds_of(write_statements), "s")
    left = Transaction.objects.exclude(settle_status="released").count()
    if left:
        raise SystemExit(f"{left} payments were not released")
