"""The summary on the administration's index page: queue and health. Each figure is an index lookup."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Exists, Min, OuterRef, QuerySet
from django.urls import reverse

from config.models import LATE_AFTER, last_beat
from kit.text.plurals import counted
from kit.time.durations import in_words
from operations.metrics import COUNTED, drift
from payments.models import (
    CardOperation,
    PayoutReturn,
    Proposal,
    RailBlock,
    SettlementBatch,
    Transaction,
    WatchedAuthorisation,
)
from payments.services.rails import declared_accounts as accounts
from virtual_accounts.models import ProviderMessage, UnappliedMoney, UnclaimedTransfer
from webhooks.models import Attempt, Delivery

LATE = timedelta(minutes=1)  # for a delivery that is due
DAY = timedelta(hours=24)
WEEK = timedelta(days=7)
LONGEST_LIFE = timedelta(days=9)  # of a delivery: held for up to seven days, then retried for less than one
ANSWERED_BY = timedelta(minutes=10)  # most rails have responded by then


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the summary: label, value, whether it needs attention, and link."""

    label: str
    value: str
    needs_attention: bool = False
    address: str = ""


def figures(*, now: datetime) -> Iterator[Figure]:
    yield from _queue(now)
    yield from _unanswered(now)
    yield from _decisions(now)
    yield from _ourselves(now)


def _queue(now: datetime) -> Iterator[Figure]:
    deliveries = reverse("admin:webhooks_delivery_changelist")
    due = Delivery.objects.due(at=now).without_tests()
    oldest = due.aggregate(oldest=Min("next_attempt_at"))["oldest"]
    late = now - oldest if oldest else timedelta(0)
    yield Figure("Deliveries due", _many(due[:COUNTED].count()), late > LATE, f"{deliveries}?state=waiting")
    yield Figure("Oldest due", in_words(late, parts=2) if oldest else "Queue empty", late > LATE)
    # The index finds stopped deliveries by creation time. They stopped at their last attempt.
    tried = Attempt.objects.filter(delivery=OuterRef("pk"), started_at__gte=now - DAY)
    stopped = (
        Delivery.objects.with_payload()
        .without_tests()
        .filter(state=Delivery.State.DEAD, created_at__gte=now - LONGEST_LIFE)
    )
    lately = stopped.filter(Exists(tried))[:COUNTED].count()
    yield Figure("Stopped within 24 hours", _many(lately), lately > 0, f"{deliveries}?state=dead")


def _unanswered(now: datetime) -> Iterator[Figure]:
    transactions = reverse("admin:payments_transaction_changelist")
    operations = reverse("admin:payments_cardoperation_changelist")
    unknown = Transaction.objects.unanswered().filter(created_at__lte=now - ANSWERED_BY)
    yield _to_do("Waiting for their rail for 10 minutes", unknown, f"{transactions}?unanswered=all")
    yield _to_do(
        "Unanswered payouts for staff to resolve",
        Transaction.objects.beyond_retry_window(at=now),
        f"{transactions}?waits=staff",
    )
    elsewhere = sum(accounts.waiting().values())
    yield Figure(
        "Orders that wait for another account",
        _many(elsewhere),
        elsewhere > 0,
        f"{transactions}?unanswered=all",
    )
    yield _to_do(
        "Blocked accounts at banks", RailBlock.objects.all(), reverse("admin:payments_railblock_changelist")
    )
    yield _to_do(
        "Captures, voids and refunds without a response for 10 minutes",
        CardOperation.objects.unanswered().filter(
            next_query_at__isnull=False, created_at__lte=now - ANSWERED_BY
        ),
        f"{operations}?status__exact=pending",
    )
    yield _to_do(
        "Voids refused within 7 days",
        CardOperation.objects.refused_voids().filter(finished_at__gte=now - WEEK),
        f"{operations}?kind__exact=void&status__exact=failed",
    )
    yield _to_do(
        "Failed payments charged within 7 days, or not paid back yet",
        WatchedAuthorisation.objects.charged(since=now - WEEK),
        f"{reverse('admin:payments_watchedauthorisation_changelist')}?charge=found",
    )
    yield _to_do(
        "Account provider not notified for 10 minutes",
        ProviderMessage.objects.unanswered().filter(created_at__lte=now - ANSWERED_BY),
        f"{reverse('admin:virtual_accounts_providermessage_changelist')}?answer=none",
    )


def _decisions(now: datetime) -> Iterator[Figure]:
    yield _to_do(
        "Batches awaiting approval",
        SettlementBatch.objects.filter(state=Transaction.SettleStatus.PENDING),
        f"{reverse('admin:payments_settlementbatch_changelist')}?state__exact=pending",
    )
    yield _to_do(
        "Batches that update their payments for 10 minutes",
        SettlementBatch.objects.updating().exclude(transitions__at__gt=now - ANSWERED_BY),
        reverse("admin:payments_settlementbatch_changelist"),
    )
    yield _to_do(
        "Proposals awaiting a second person",
        Proposal.objects.open(at=now),
        reverse("admin:payments_proposal_changelist"),
    )
    yield _to_do(
        "Unapplied transfers to decide about",
        UnappliedMoney.objects.open(),
        f"{reverse('admin:virtual_accounts_unappliedmoney_changelist')}?state__exact=open",
    )
    yield _to_do(
        "Unclaimed transfers to decide about",
        UnclaimedTransfer.objects.filter(resolved_at__isnull=True),
        f"{reverse('admin:virtual_accounts_unclaimedtransfer_changelist')}?state=open",
    )
    yield _to_do(
        "Unmatched payout returns to decide about",
        PayoutReturn.objects.open(),
        f"{reverse('admin:payments_payoutreturn_changelist')}?applied__exact=unmatched&state=open",
    )


def _to_do(label: str, rows: QuerySet[Any], address: str) -> Figure:
    """Return how many rows need an action of an operator."""
    count = rows[:COUNTED].count()
    return Figure(label, _many(count), count > 0, address)


def _ourselves(now: datetime) -> Iterator[Figure]:
    unbalanced = drift()
    yield Figure(
        "Ledger",
        f"{counted(unbalanced, 'does', 'do')} not sum to zero: run check_ledger"
        if unbalanced
        else "sums to zero, as of now",
        unbalanced > 0,
        reverse("admin:ledger_account_changelist"),
    )
    beat = last_beat()
    lives = beat is not None and now - beat < LATE_AFTER
    said = f"{in_words(now - beat, parts=2)} ago" if beat else "never"
    yield Figure("Last heartbeat of a worker", said, not lives)


def _many(count: int) -> str:
    return f"{count:,} or more" if count >= COUNTED else f"{count:,}"
