"""The summary on the administration's first page: what needs a person, and what was checked. Each figure is an index lookup."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from functools import partial
from typing import Any

from django.db.models import Count, Exists, Min, OuterRef, QuerySet, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.text import capfirst

from cash.models import Break
from config.models import LATE_AFTER, last_beat
from connectors.models import RefusedCapture
from disputes.models import Dispute, DisputeReport
from disputes.services.answers import answer_files
from kit.money.money import money
from kit.text.plurals import counted
from kit.time.durations import SECOND, in_words
from merchants.models import Business
from operations.metrics import COUNTED, drift
from payments.models import (
    CardOperation,
    Debt,
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
ADDED = 1_000  # rows whose amounts are added


@dataclass(frozen=True, slots=True)
class Figure:
    """A row of the summary: label, value, whether it needs attention, and link.

    If it needs attention, `why` says since when, and how much money is concerned. Urgent ones come first.
    """

    label: str
    value: str
    needs_attention: bool = False
    address: str = ""
    why: str = ""
    action: str = "Show list"
    is_urgent: bool = False


def for_people(shown: list[Figure]) -> list[Figure]:
    """Return the figures that need attention, urgent ones first."""
    return sorted((each for each in shown if each.needs_attention), key=lambda each: not each.is_urgent)


def figures(*, now: datetime) -> Iterator[Figure]:
    yield from _ourselves(now)
    yield from _unanswered(now)
    yield from _decisions(now)
    yield from _disputes(now)
    yield from _queue(now)


def _queue(now: datetime) -> Iterator[Figure]:
    deliveries = reverse("admin:webhooks_delivery_changelist")
    due = Delivery.objects.due(at=now).without_tests()
    oldest = due.aggregate(oldest=Min("next_attempt_at"))["oldest"]
    late = now - oldest if oldest else timedelta(0)
    yield Figure(
        "Deliveries due",
        _many(due[:COUNTED].count()),
        late > LATE,
        f"{deliveries}?state=waiting",
        f"The oldest has been due for {in_words(late, parts=2)}." if oldest else "",
        "Show deliveries",
    )
    # The index finds stopped deliveries by creation time. They stopped at their last attempt.
    tried = Attempt.objects.filter(delivery=OuterRef("pk"), started_at__gte=now - DAY)
    stopped = (
        Delivery.objects.with_payload()
        .without_tests()
        .filter(state=Delivery.State.DEAD, created_at__gte=now - LONGEST_LIFE)
    )
    yield _to_do(
        "Deliveries stopped within 24 hours",
        stopped.filter(Exists(tried)),
        f"{deliveries}?state=dead",
        "Resend deliveries",
        now=now,
        money_in=None,
    )


def _unanswered(now: datetime) -> Iterator[Figure]:
    to_do = partial(_to_do, now=now)
    transactions = reverse("admin:payments_transaction_changelist")
    operations = reverse("admin:payments_cardoperation_changelist")
    yield _blocks(RailBlock.objects.order_by("since"))
    yield to_do(
        "Unanswered payouts for staff to resolve",
        Transaction.objects.beyond_retry_window(at=now),
        f"{transactions}?waits=staff",
        "Resolve payouts",
        is_urgent=True,
    )
    yield to_do(
        "Late and second charges found within 7 days, or not paid back yet",
        WatchedAuthorisation.objects.charged(since=now - WEEK),
        f"{reverse('admin:payments_watchedauthorisation_changelist')}?charge=found",
        "Show charges",
        since="found_at",
        money_in="transaction__currency",
        is_urgent=True,
    )
    elsewhere = sum(accounts.waiting().values())
    yield Figure(
        "Orders that wait for another account",
        _many(elsewhere),
        elsewhere > 0,
        f"{transactions}?unanswered=all",
        "The settings of their connector name another account than the one that they were sent to.",
        "Show orders",
    )
    yield to_do(
        "Waiting for their rail for 10 minutes",
        Transaction.objects.unanswered().filter(created_at__lte=now - ANSWERED_BY),
        f"{transactions}?unanswered=all",
        "Show transactions",
    )
    yield to_do(
        "Captures, voids and refunds without a response for 10 minutes",
        CardOperation.objects.unanswered().filter(
            next_query_at__isnull=False, created_at__lte=now - ANSWERED_BY
        ),
        f"{operations}?status__exact=pending",
        "Show operations",
        money_in="transaction__currency",
    )
    yield to_do(
        "Refunds that need attention",
        CardOperation.objects.needing_attention(),
        f"{operations}?needs=attention",
        "Show refunds",
        money_in="transaction__currency",
    )
    yield to_do(
        "Returns that need attention",
        Transaction.objects.needing_attention(),
        f"{transactions}?waits=account",
        "Show returns",
    )
    yield to_do(
        "Voids refused within 7 days",
        CardOperation.objects.refused_voids().filter(finished_at__gte=now - WEEK),
        f"{operations}?kind__exact=void&status__exact=failed",
        "Show voids",
        money_in="transaction__currency",
    )
    yield to_do(
        "Captures refused by the acquirer",
        RefusedCapture.objects.all(),
        reverse("admin:connectors_refusedcapture_changelist"),
        "Show captures",
    )
    yield to_do(
        "Account provider not notified for 10 minutes",
        ProviderMessage.objects.overdue(since=now - ANSWERED_BY),
        f"{reverse('admin:virtual_accounts_providermessage_changelist')}?answer=none",
        "Show messages",
        money_in=None,
    )


def _blocks(blocks: QuerySet[RailBlock]) -> Figure:
    oldest, count = blocks.first(), blocks.count()
    why = f"{oldest.connector} since {_moment(oldest.since)}: {oldest.reason}" if oldest else ""
    return Figure(
        "Blocked accounts at banks",
        _many(count),
        count > 0,
        reverse("admin:payments_railblock_changelist"),
        capfirst(why),
        "Show blocks",
        is_urgent=True,
    )


def _decisions(now: datetime) -> Iterator[Figure]:
    to_do = partial(_to_do, now=now)
    yield to_do(
        "Proposals awaiting a second person",
        Proposal.objects.open(at=now),
        reverse("admin:payments_proposal_changelist"),
        "Review proposals",
    )
    yield to_do(
        "Businesses whose owner asks to close them",
        Business.objects.filter(closing_requested_at__isnull=False),
        f"{reverse('admin:merchants_business_changelist')}?closing=requested",
        "Show businesses",
        since="closing_requested_at",
        money_in=None,
    )
    yield to_do(
        "Batches awaiting approval",
        SettlementBatch.objects.filter(state=Transaction.SettleStatus.PENDING),
        f"{reverse('admin:payments_settlementbatch_changelist')}?state__exact=pending",
        "Review batches",
        amount="net",
    )
    yield to_do(
        "Batches that update their payments for 10 minutes",
        SettlementBatch.objects.updating().exclude(transitions__at__gt=now - ANSWERED_BY),
        reverse("admin:payments_settlementbatch_changelist"),
        "Show batches",
        amount="net",
    )
    yield to_do(
        "Breaks between banks and the ledger",
        Break.objects.filter(ended_at=None),
        reverse("admin:cash"),
        "Resolve breaks",
        since="since",
        money_in=None,
    )
    yield to_do(
        "Unapplied transfers to decide about",
        UnappliedMoney.objects.open(),
        f"{reverse('admin:virtual_accounts_unappliedmoney_changelist')}?state__exact=open",
        "Show transfers",
    )
    yield to_do(
        "Unclaimed transfers to decide about",
        UnclaimedTransfer.objects.filter(resolved_at__isnull=True),
        f"{reverse('admin:virtual_accounts_unclaimedtransfer_changelist')}?state=open",
        "Assign transfers",
        since="received_at",
    )
    yield to_do(
        "Unmatched payout returns to decide about",
        PayoutReturn.objects.open(),
        f"{reverse('admin:payments_payoutreturn_changelist')}?applied__exact=unmatched&state=open",
        "Match returns",
        since="at",
    )
    yield to_do(
        "Businesses that owe",
        Debt.objects.open(),
        reverse("admin:payments_debt_changelist"),
        "Show debts",
        since="since",
        money_in=None,
    )


def _disputes(now: datetime) -> Iterator[Figure]:
    to_do = partial(_to_do, now=now)
    disputes = reverse("admin:disputes_dispute_changelist")
    yield to_do(
        "Disputes to answer within 24 hours",
        Dispute.objects.overdue(at=now + DAY),
        f"{disputes}?waits=business",
        "Show disputes",
        is_urgent=True,
    )
    yield to_do(
        "Unmatched disputes to decide about",
        DisputeReport.objects.unmatched(),
        reverse("admin:disputes_disputereport_changelist"),
        "Assign disputes",
        money_in=None,
    )
    yield to_do(
        "Answers to disputes to write for the acquirer",
        answer_files.unsent(),
        f"{disputes}?waits=us",
        "Show answers",
    )


def _to_do(
    label: str,
    rows: QuerySet[Any],
    address: str,
    action: str,
    *,
    now: datetime,
    since: str = "created_at",
    amount: str = "amount",
    money_in: str | None = "currency",
    is_urgent: bool = False,
) -> Figure:
    """Return how many rows need an action of an operator, since when, and the sums of their amounts.

    `money_in` is the path to the currency of the amounts, or None if they have none.
    """
    found = rows.order_by()[:COUNTED].aggregate(count=Count("pk"), oldest=Min(since))
    count, sums = found["count"], ""
    if money_in and 0 < count <= ADDED:
        sums = _sums(rows, amount, money_in)
    why = _age(found["oldest"], now) + sums if count else ""
    return Figure(label, _many(count), count > 0, address, why, action, is_urgent)


def _age(oldest: date | datetime | None, now: datetime) -> str:
    if oldest is None:
        return ""
    if not isinstance(oldest, datetime):
        return f"The oldest is of {oldest:%-d %b %Y}."
    return (
        f"The oldest has waited for {in_words((now - oldest) // SECOND * SECOND)}, since {_moment(oldest)}."
    )


def _moment(at: datetime) -> str:
    return f"{timezone.localtime(at):%-d %b %Y, %H:%M %Z}"


def _sums(rows: QuerySet[Any], amount: str, currency: str) -> str:
    """Return the sums of rows per currency, after a space."""
    found = rows.model.objects.filter(pk__in=rows.order_by().values("pk")).exclude(**{currency: ""})
    sums = found.order_by(currency).values_list(currency).annotate(Sum(amount))
    return "".join(f" {money(minor_units or 0, code)}." for code, minor_units in sums)


def _ourselves(now: datetime) -> Iterator[Figure]:
    unbalanced = drift()
    yield Figure(
        "Ledger",
        f"{counted(unbalanced, 'does', 'do')} not sum to zero: run check_ledger"
        if unbalanced
        else "sums to zero, as of now",
        unbalanced > 0,
        reverse("admin:ledger_account_changelist"),
        action="Show accounts",
        is_urgent=True,
    )
    beat = last_beat()
    lives = beat is not None and now - beat < LATE_AFTER
    said = f"{in_words(now - beat, parts=2)} ago" if beat else "never"
    yield Figure(
        "Last heartbeat of a worker",
        said,
        not lives,
        why="Without a worker, no webhook is sent and no rail is queried.",
        is_urgent=True,
    )


def _many(count: int) -> str:
    return f"{count:,} or more" if count >= COUNTED else f"{count:,}"
