"""Disputes as acquirers and the sandbox make them."""

from datetime import timedelta
from pathlib import Path
from typing import Any

from django.utils import timezone

from disputes.models import Dispute, DisputeEvidence, DisputeReport
from disputes.rules.report_format import COLUMNS
from disputes.services import clock
from disputes.services.answers import evidence
from disputes.services.reports import intake
from disputes.services.reports.reports import ReportedCase
from merchants.people.audit import Actor
from payments.models import AccountDeclaration, Transaction
from payments.rules.words.dispute_words import Reason, Stage, Status
from payments.services.rails.declared_accounts import cached_declarations
from tests.refunds import pay
from tests.uploads import PDF, PNG

AMOUNT = 50_000


def payment_of(api: Any, **changes: Any) -> Transaction:
    """Make a successful card payment."""
    payment: Transaction = Transaction.objects.get(reference=pay(api, **{"amount": AMOUNT} | changes))
    return payment


def told(payment: Transaction, **changes: Any) -> ReportedCase:
    """Return a chargeback of a payment as its acquirer would report it."""
    return ReportedCase(
        **{
            "connector": payment.connector,
            "account": payment.account,
            "case_number": f"CB-{payment.pk.hex[-8:]}",
            "stage": Stage.CHARGEBACK,
            "status": Status.NEEDS_RESPONSE,
            "amount": payment.amount_captured,
            "currency": payment.currency,
            "reason": Reason.FRAUDULENT,
            "rrn": payment.retrieval_reference_number,
            "respond_by": timezone.now() + timedelta(days=7),
            "source": "test",
        }
        | changes
    )


def take(payment: Transaction, **changes: Any) -> DisputeReport:
    return intake.take(told(payment, **changes), now=timezone.now())


def disputed(payment: Transaction, **changes: Any) -> Dispute:
    """Have a payment disputed, and return the dispute."""
    dispute = take(payment, **changes).dispute
    assert dispute is not None
    return dispute


def declare_moved(payment: Transaction, **changes: Any) -> None:
    """Declare that the account `moved` is the one that a payment was sent to."""
    values = {"connector": payment.connector, "former": payment.account, "present": "moved"}
    AccountDeclaration.objects.create(**values | changes, declared_by="ada", declared_at=timezone.now())
    cached_declarations.cache_clear()


def row(payment: Transaction, **changes: Any) -> str:
    """Return the line of a file about a payment."""
    cells = {
        "case_number": "CB-1",
        "stage": "chargeback",
        "status": "needs_response",
        "rrn": payment.retrieval_reference_number,
        "acquirer_reference": "",
        "amount": payment.amount_captured,
        "currency": payment.currency,
        "reason": "fraudulent",
        "respond_by": "2099-02-12T08:00:00Z",
        "day": "2026-02-05",
    } | changes
    return ",".join(str(cells[name]) for name in COLUMNS)


def file_of(folder: Path, *rows: str) -> Path:
    file = folder / "disputes.csv"
    file.write_text("\n".join([",".join(COLUMNS), *rows]) + "\n")
    return file


def with_a_file(dispute: Dispute) -> DisputeEvidence:
    """Add a file to the answer of a dispute."""
    return evidence.add_file(
        dispute.pk,
        kind="receipt",
        name="Invoice 417.pdf",
        content=PDF,
        actor=Actor(name="ada@shop.example"),
        now=timezone.now(),
    )


def every_event_of_disputes(payment: Transaction) -> None:
    """Have a part of a payment disputed, reminded of, changed and won."""
    dispute = disputed(payment, amount=10_000)
    Dispute.objects.update(remind_at=timezone.now())
    assert list(clock.remind([dispute.pk])) == [True]
    take(payment, amount=10_000, respond_by=timezone.now() + timedelta(days=1))
    take(payment, amount=10_000, status=Status.WON)


def add_file(api: Any, dispute: str, content: bytes = PNG, *, kind: str = "receipt") -> Any:
    """Add a file to the answer of the dispute at a path."""
    address = f"{dispute}/files?kind={kind}"
    return api.send("POST", address, content, content_type="application/octet-stream")
