"""What follows from the outcome of a settlement payout: its batches, the next attempt, a pause, and an email.

The outcome itself is booked like any payout's (`transitions`). This follows within a minute; until then the payout
counts as open, so that none overlaps it.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from functools import partial
from itertools import takewhile
from uuid import UUID

from django.db import transaction as database
from django.db.models import F, Q, QuerySet

from kit.db.one_by_one import one_by_one
from payments.models import (
    PayoutReturn,
    SettlementAccount,
    SettlementPayout,
    Transaction,
)
from payments.rules.settlement import settlement_payout_causes
from payments.services.settlement.payouts import payout_schedules, settlement_notices
from payments.services.settlement.payouts.settlement_accounts import TIMER, lock

Outcome, Trigger = SettlementPayout.Outcome, SettlementPayout.Trigger
AGAIN_AFTER = timedelta(minutes=30)
MOST_LOST = 3  # in a row; then the schedule is paused
WATCHED_FOR = timedelta(days=90)  # for returns


def end_due(*, now: datetime) -> int:
    """Follow up on the payouts with a new outcome. Returns their number."""
    keys = due(now=now).values_list("pk", flat=True)
    ended = one_by_one(partial(end, now=now), keys, failure="settlement payout not followed up on")
    return sum(filter(None, ended))


def due(*, now: datetime) -> QuerySet[SettlementPayout]:
    """Return the payouts whose outcome is new."""
    ended = Q(outcome=Outcome.OPEN) & ~Q(payout__status=Transaction.Status.PENDING)
    is_watched = Q(created_at__gte=now - WATCHED_FOR)
    is_paid = Q(outcome__in=[Outcome.PAID, Outcome.RETURNED])
    returned = is_paid & Q(payout__amount_returned__gt=F("amount_returned")) & is_watched
    return SettlementPayout.objects.filter(ended | returned).order_by("pk")


@database.atomic
def end(key: UUID, *, now: datetime) -> bool:
    """Follow up on one payout, once. Returns whether its outcome was new."""
    account = lock(SettlementPayout.objects.values_list("account", flat=True).get(pk=key))
    found = SettlementPayout.objects.select_related("payout").get(pk=key)
    outcome = _outcome_of(found)
    if outcome is None:
        return False
    lost = _newly_lost(found, outcome)
    found.outcome, found.amount_returned = outcome, found.payout.amount_returned
    found.reason = _reason_of(found)[:255] if found.is_lost else ""
    found.save(update_fields=["outcome", "amount_returned", "reason"])
    if found.is_lost:
        _follow_loss(found, account, amount=lost, now=now)
    return True


def _outcome_of(found: SettlementPayout) -> SettlementPayout.Outcome | None:
    """Return the outcome that is new. None: there is none."""
    payout = found.payout
    if found.outcome in {Outcome.PAID, Outcome.RETURNED} and payout.amount_returned > found.amount_returned:
        return Outcome.RETURNED
    if found.outcome != Outcome.OPEN or payout.status == Transaction.Status.PENDING:
        return None
    return Outcome.PAID if payout.status == Transaction.Status.SUCCESS else Outcome.FAILED


def _newly_lost(found: SettlementPayout, outcome: SettlementPayout.Outcome) -> int:
    """Return what a new outcome brought back, in minor units: all of a failure, a part of a return in parts."""
    if outcome == Outcome.FAILED:
        return found.payout.amount
    return found.payout.amount_returned - found.amount_returned


def _reason_of(found: SettlementPayout) -> str:
    words = _words_of_return(found)
    return words or settlement_payout_causes.described(found.payout.gateway_code)


def _words_of_return(found: SettlementPayout) -> str:
    """Return why the bank sent it back, in the bank's words. Empty: it didn't, or named no reason."""
    returns = PayoutReturn.objects.filter(transaction=found.payout_id).exclude(
        applied=PayoutReturn.Applied.UNMATCHED
    )
    latest = returns.order_by("-id").first()
    if latest is None:
        return ""
    return latest.reason or "the bank sent it back"


def _follow_loss(lost: SettlementPayout, account: SettlementAccount, *, amount: int, now: datetime) -> None:
    """Leave its batches to the next payout, and pause the schedule or let it try again. Owners are emailed."""
    _unname_batches(lost)
    if account.pays != SettlementAccount.Pays.NEVER and account.paused_at is None:
        _pause_or_try_again(lost, account, now=now)
    database.on_commit(partial(settlement_notices.mail_lost, lost, account, amount=amount))


def _unname_batches(lost: SettlementPayout) -> None:
    """Leave the batches that a payout no longer pays in full to the next one, the latest first."""
    is_partial = lost.outcome == Outcome.RETURNED and lost.amount_returned < lost.payout.amount
    missing = lost.amount_returned
    for named in lost.batches.select_related("batch").order_by("-pk"):
        if is_partial and missing <= 0:
            break
        named.is_live = False
        named.save(update_fields=["is_live"])
        missing -= named.batch.net - named.batch.reserved


def _pause_or_try_again(lost: SettlementPayout, account: SettlementAccount, *, now: datetime) -> None:
    is_of_this_account = account.since is None or lost.created_at >= account.since
    code = lost.payout.gateway_code if lost.outcome == Outcome.FAILED else ""
    is_terminal = settlement_payout_causes.is_terminal(code, lost.reason)
    if is_terminal and is_of_this_account:
        payout_schedules.pause(account, lost.reason, actor=TIMER, now=now)
    elif _lost_in_a_row(account) >= MOST_LOST:
        reason = f"{MOST_LOST} payouts in a row failed, the last one with this cause: {lost.reason}"
        payout_schedules.pause(account, reason, actor=TIMER, now=now)
    elif lost.outcome == Outcome.FAILED and lost.trigger == Trigger.SCHEDULE:
        payout_schedules.try_again(account, at=now + AGAIN_AFTER)


def _lost_in_a_row(account: SettlementAccount) -> int:
    """Return how many of the last payouts were lost, one after the other."""
    ended = SettlementPayout.objects.filter(account=account).exclude(outcome=Outcome.OPEN)
    if account.failures_since is not None:
        ended = ended.filter(created_at__gte=account.failures_since)
    latest = list(ended.order_by("-pk")[:MOST_LOST])
    return sum(1 for _ in takewhile(lambda each: each.is_lost, latest))
