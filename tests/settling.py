"""Run settlement and decide on batches as staff do."""

from datetime import date

from django.utils import timezone

from merchants.people.audit import Actor
from payments.models import SettlementBatch
from payments.rules.settlement import business_days
from payments.services.settlement.batches import batch_decisions, batches

STAFF = Actor(name="staff@example.com")


def today() -> date:
    return business_days.business_day(timezone.now())


def settle(until: date | None = None) -> list[SettlementBatch]:
    """Settle everything up to and including a business day, today by default; return the batches created."""
    work = batches.due(until=until or today())
    steps = list(batches.settle(work, actor="settle", now=timezone.now()))
    return list({step.batch.pk: step.batch for step in steps}.values())


def decide(batch: SettlementBatch, *decisions: str, reason: str = "wrong") -> SettlementBatch:
    for decision in decisions:
        arguments = {"reason": reason} if decision == "reject" else {}
        getattr(batch_decisions, decision)(batch.pk, actor=STAFF, now=timezone.now(), **arguments)
    batch.refresh_from_db()
    return batch
