"""Debts of businesses: which owe, how much, since when, and whether an invoice was sent.

The ledger says how much: wallet and pending settlement together, below zero. Rows say since when. They follow the ledger every
minute and whenever staff list them, so that payments and refunds don't write them.
"""

from collections import defaultdict
from datetime import date, datetime
from itertools import chain
from uuid import UUID

from django.db import transaction as database
from django.db.models import Sum

from kit.db.prepared_statements import insert_if_absent
from kit.time.time_ordered_ids import new_id
from ledger.models import Account, Posting
from ledger.services import Kind
from merchants.people import audit
from merchants.people.audit import Actor
from payments.models import Debt, InvalidState

BALANCES = (Kind.WALLET, Kind.PENDING_SETTLEMENT)
LOOKED_AT = 1_000  # the latest postings of each account that are searched for the begin of a debt
Owed = dict[tuple[UUID, str], int]  # minor units by business and currency


class DebtEnded(InvalidState):
    default_detail = "This business doesn't owe any more."


def owing() -> Owed:
    """Return what each business owes now."""
    accounts = Account.objects.filter(kind__in=BALANCES, business__isnull=False)
    sums = accounts.values_list("business", "currency").annotate(held=Sum("balance")).filter(held__lt=0)
    return {(business, currency): -held for business, currency, held in sums}


@database.atomic
def update(*, now: datetime) -> None:
    """Open a debt for each business that owes without one, and end those of businesses that don't owe any more."""
    owed = owing()
    for debt in Debt.objects.open().order_by("pk"):
        if owed.pop((debt.business_id, debt.currency), None) is None:
            Debt.objects.open().filter(pk=debt.pk).update(ended_at=max(now, debt.since))
    for (business_id, currency), amount in owed.items():
        since = min(_since(business_id, currency, amount) or now, now)
        insert_if_absent(Debt(id=new_id(now), business_id=business_id, currency=currency, since=since))


def _since(business_id: UUID, currency: str, owed: int) -> datetime | None:
    """Return when the entry was booked before which the business didn't owe, or the oldest of the latest ones."""
    amounts: dict[int, int] = defaultdict(int)
    times: dict[int, datetime] = {}
    accounts = Account.objects.filter(business=business_id, currency=currency, kind__in=BALANCES)
    latest = (Posting.objects.filter(account=each).order_by("-sequence")[:LOOKED_AT] for each in accounts)
    for entry, amount, at in chain.from_iterable(
        postings.values_list("entry", "amount", "entry__at") for postings in latest
    ):
        amounts[entry] += amount
        times[entry] = at
    balance = -owed
    since: datetime | None = None
    for entry in sorted(amounts, reverse=True):
        balance, since = balance - amounts[entry], times[entry]
        if balance >= 0:
            break
    return since


@database.atomic
def record_invoice(debt_id: UUID, *, sent_on: date, actor: Actor, now: datetime) -> None:
    """Record that staff sent an invoice for a debt. No money moves.

    :raises DebtEnded: the business doesn't owe any more
    """
    debt = lock_open(debt_id)
    before = debt.invoice_sent_on
    debt.invoice_sent_on, debt.invoice_sent_by = sent_on, actor.name
    debt.save(update_fields=["invoice_sent_on", "invoice_sent_by"])
    audit.record(
        action="debt.invoiced",
        actor=actor,
        business=debt.business,
        target=debt.currency,
        before={"sent_on": before.isoformat()} if before else {},
        after={"sent_on": sent_on.isoformat()},
        now=now,
    )


def lock_open(debt_id: UUID) -> Debt:
    """Return a debt, locked until the caller's transaction ends.

    :raises DebtEnded: the business doesn't owe any more
    """
    locked = Debt.objects.select_for_update(of=("self",)).select_related("business")
    return require_open(locked.get(pk=debt_id))


def require_open(debt: Debt) -> Debt:
    """:raises DebtEnded: the business doesn't owe any more"""
    if debt.ended_at is not None:
        raise DebtEnded
    return debt
