"""Measure the import of statements, and the page Cash, in processes of their own and in this one."""

import argparse
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from tempfile import NamedTemporaryFile
from typing import Any
from uuid import uuid4

from django.utils import timezone

from benchmarks.figures import Figure, percentile
from benchmarks.settlement_parts import fill
from cash.models import BankAccount, Break, MatchedItem
from operations.administration import cash_page
from payments.models import Transaction

ROOT = Path(__file__).resolve().parents[1]
AMOUNT = 50_000


def cash(url: str, options: argparse.Namespace) -> Iterator[Figure]:
    """Import the acquirer's file of many payments, and a bank's file of which nothing is known."""
    fill(url, options.lines, 1)
    paid = Transaction.objects.earliest("pk")
    _account("acquirer", kind="acquirer", connector_account=paid.account, receives=[paid.connector])
    _account("bank")
    keys = Transaction.objects.values_list("pk", flat=True).iterator()
    seconds, megabytes = _import("acquirer", (key.hex for key in keys))
    yield Figure(f"import of {options.lines:,} lines, all matched", seconds, "s", 60)
    yield Figure("its memory", megabytes, "MB", 200)
    seconds, _ = _import("bank", (f"unknown {number}" for number in range(options.lines)))
    yield Figure(f"import of {options.lines:,} lines, none matched", seconds, "s", 60)
    if (MatchedItem.objects.count(), Break.objects.count()) != (options.lines, options.lines):
        raise SystemExit("not all lines were matched, or are breaks")
    taken = [_view() for _ in range(options.views)]
    yield Figure(f"page Cash with {options.lines:,} open breaks: p95", percentile(taken, 95), "ms", 150)


def _account(name: str, **values: Any) -> None:
    mapping = {"date": "Date", "amount": "Amount", "balance": "Balance", "text": "Narration"}
    BankAccount.objects.create(
        id=uuid4(),
        name=name,
        bank=name,
        number=name.upper(),
        currency="NGN",
        csv_mapping=mapping,
        created_at=timezone.now(),
        **values,
    )


def _import(account: str, references: Iterable[str]) -> tuple[float, float]:
    """Import a file with a line for each reference, and return seconds and the largest memory in megabytes."""
    day = timezone.localdate()
    with NamedTemporaryFile("w", suffix=".csv") as file:
        file.write("Date,Amount,Balance,Reference,Narration\n")
        for number, reference in enumerate(references, 1):
            file.write(f"{day},{AMOUNT / 100:.2f},{number * AMOUNT / 100:.2f},,{reference}\n")
        file.flush()
        command = [sys.executable, "manage.py", "import_statement", "--account", account, "--file", file.name]
        started = time.perf_counter()
        subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        seconds = time.perf_counter() - started
    return seconds, getrusage(RUSAGE_CHILDREN).ru_maxrss / 1024


def _view() -> float:
    """Return the milliseconds of what the page asks the database and computes."""
    started = time.perf_counter()
    cash_page.shown(now=timezone.now())
    return (time.perf_counter() - started) * 1000
