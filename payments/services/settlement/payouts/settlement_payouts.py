"""Payouts of a business's wallet to its settlement account, by its schedule or on demand.

A payout takes all that covers payouts, less what stays in the wallet, and names the batches that it pays. Under the lock
of the account there is at most one without a known outcome. Lock order: account, controls of payouts, ledger accounts.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, datetime, timedelta
from functools import partial
from itertools import chain, count
from typing import Any

from django.db import transaction as database
from django.db.models import F, QuerySet

from kit.api.errors import Problem
from kit.api.fields.strict_fields import MAX_AMOUNT
from kit.db.clock import database_now
from kit.db.one_by_one import one_by_one
from kit.db.rows.columns import save_columns
from ledger import services as ledger
from ledger.services import Kind
from merchants.people import audit
from merchants.people.audit import Actor
from payments.fingerprints import generated_fingerprint
from payments.models import (
    BatchTransition,
    InvalidState,
    PayoutControls,
    ReservedReference,
    SettlementAccount,
    SettlementBatch,
    SettlementPayout,
    SettlementPayoutBatch,
    Transaction,
)
from payments.rails.protocol import PayoutBank
from payments.rules.fees import FeeRule, Flow, Snapshot, charge
from payments.rules.settlement import business_days
from payments.services import fee_rules
from payments.services.payouts import payouts
from payments.services.payouts.beneficiaries import BeneficiaryBlocked
from payments.services.rails.rail_choices import bank_for
from payments.services.rails.rail_orders import payout_order
from payments.services.refunds import refund_cover
from payments.services.settlement.payouts import payout_endings, payout_schedules, settlement_notices
from payments.services.settlement.payouts.settlement_accounts import TIMER, lock
from payments.services.transactions.transitions import Cause, call_rail

Trigger = SettlementPayout.Trigger
RETRY_AFTER = timedelta(minutes=15)  # while the bank is unavailable, or payouts are frozen


class NothingToPay(InvalidState):
    default_detail = "Your balance has nothing to pay out, apart from what stays in it."


class NotDue(InvalidState):
    default_detail = "The schedule doesn't pay out now."


class StillOpen(InvalidState):
    default_detail = "A payout to your settlement account has no outcome yet. Try again when it has."


class NoAccount(InvalidState):
    default_detail = "Set up a settlement account first."


def due(*, now: datetime) -> list[SettlementAccount]:
    """Return the accounts whose schedule may pay now."""
    accounts = SettlementAccount.objects.paid_automatically().select_related("business").order_by("pk")
    return [
        each for each in accounts if payout_schedules.is_due(each, now=now) and unpaid_batches(each).exists()
    ]


def pay_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Make the payouts that are due. Returns their number."""
    pay = partial(pay_by_schedule, clock=clock)
    made = one_by_one(pay, due(now=clock()), failure="settlement payout not made")
    return len(list(filter(None, made)))


def pay_by_schedule(
    account: SettlementAccount,
    *,
    is_day_passed: bool = False,
    clock: Callable[[], datetime] = database_now,
) -> SettlementPayout | None:
    """Make the payout of a schedule if it is due. `is_day_passed`: whatever day it is, in the sandbox.

    Calls the bank, so call it outside a database transaction.
    """
    try:
        return _start(account, Trigger.SCHEDULE, actor=TIMER, is_day_passed=is_day_passed, clock=clock)
    except BeneficiaryBlocked as refusal:
        _pause(account, str(refusal.detail), now=clock())
    except (NothingToPay, NotDue):
        _end_attempts(account, clock=clock)
    except StillOpen:
        pass  # the next one waits for its outcome
    except Problem:  # the bank is unavailable, or payouts are frozen
        _try_again(account, now=clock())
    return None


def pay_now(
    account: SettlementAccount, *, actor: Actor, clock: Callable[[], datetime] = database_now
) -> SettlementPayout:
    """Make a payout on demand, whatever its amount.

    Calls the bank, so call it outside a database transaction.

    :raises InvalidState: there is no account, nothing to pay out, or an earlier one has no outcome
    :raises PayoutsFrozen: staff have frozen the payouts of the business
    :raises BeneficiaryBlocked: the account is blocked
    :raises RailUnavailable: no bank is configured, or it is unavailable or blocked
    """
    return _start(account, Trigger.MEMBER, actor=actor, is_day_passed=True, clock=clock)


def unpaid_batches(account: SettlementAccount) -> QuerySet[BatchTransition]:
    """Return the releases of batches that no settlement payout has paid."""
    releases = BatchTransition.objects.filter(
        after=Transaction.SettleStatus.RELEASED,
        batch__business=account.business_id,
        batch__currency=account.currency,
        batch__net__gt=F("batch__reserved"),
    ).exclude(batch__in=_paid(account))
    return releases if account.batches_from is None else releases.filter(at__gte=account.batches_from)


def is_unpaid(batch: SettlementBatch) -> bool:
    """Return whether a released batch can still be paid out to the settlement account, which its business has."""
    accounts = SettlementAccount.objects.filter(
        business=batch.business_id, currency=batch.currency, since__isnull=False
    )
    return any(unpaid_batches(each).filter(batch=batch).exists() for each in accounts)


def _paid(account: SettlementAccount) -> QuerySet[Any]:
    paid = SettlementPayoutBatch.objects.filter(payout__account=account, is_live=True)
    return paid.values("batch")


def _start(
    account: SettlementAccount,
    trigger: SettlementPayout.Trigger,
    *,
    actor: Actor,
    is_day_passed: bool,
    clock: Callable[[], datetime],
) -> SettlementPayout:
    bank = bank_for(account.business)
    opened = _open(account.pk, trigger, bank=bank, actor=actor, is_day_passed=is_day_passed, clock=clock)
    call_rail(opened.payout, partial(bank.send, payout_order(opened.payout)), cause=Cause.RAIL)
    payout_endings.end(opened.pk, now=clock())
    opened.refresh_from_db()
    return opened


@database.atomic
def _open(
    account_id: int,
    trigger: SettlementPayout.Trigger,
    *,
    bank: PayoutBank,
    actor: Actor,
    is_day_passed: bool,
    clock: Callable[[], datetime],
) -> SettlementPayout:
    """Store a payout with the batches that it pays, and debit the wallet."""
    account = lock(account_id)
    now = clock()
    _require_payable(account, trigger, is_day_passed=is_day_passed, now=now)
    # Before the ledger accounts, which the amount depends on.
    PayoutControls.objects.select_for_update().filter(business=account.business_id).first()
    rule = fee_rules.snapshot_or_free(account.business, Flow.SETTLEMENT, account.currency)
    amount = min(_amount_now(account, rule), bank.capabilities.maximum_amount or MAX_AMOUNT)
    why_not = bank.capabilities.unsupported(account.currency, amount) if amount else {}
    if why_not:  # such as less than the bank sends
        raise NothingToPay(next(iter(why_not.values())))
    if not amount or (trigger == Trigger.SCHEDULE and amount < account.minimum):
        raise NothingToPay
    paid = _batches_of(account, amount)
    if trigger == Trigger.SCHEDULE and not paid:
        raise NothingToPay
    reference = _reference(account, [each.batch for each in paid], business_days.business_day(now))
    intent = payouts.accept(
        business=account.business,
        request=_request(account, amount, reference),
        fingerprint=generated_fingerprint(settlement=reference),
        bank=bank,
        now=now,
        fails_uncovered=False,
        settlement_rule=rule,
    )
    opened = SettlementPayout.objects.create(
        payout=intent.resource,
        account=account,
        trigger=trigger,
        day=business_days.business_day(now),
        created_at=now,
    )
    SettlementPayoutBatch.objects.bulk_create(
        SettlementPayoutBatch(payout=opened, batch=each.batch) for each in paid
    )
    save_columns(account, next_attempt_at=None, batches_from=account.batches_from or _first_release(paid))
    _record("settlement_payout.made", account, opened.payout, actor=actor, now=now)
    return opened


def _require_payable(
    account: SettlementAccount, trigger: SettlementPayout.Trigger, *, is_day_passed: bool, now: datetime
) -> None:
    """:raises InvalidState: there is no account, the schedule doesn't pay now, or a payout has no outcome"""
    if not account.is_set:
        raise NoAccount
    made = SettlementPayout.objects.filter(account=account)
    if made.filter(outcome=SettlementPayout.Outcome.OPEN).exists():
        raise StillOpen
    if trigger == Trigger.MEMBER:
        return
    if account.pays == SettlementAccount.Pays.NEVER or account.paused_at is not None:
        raise NotDue
    today = made.filter(trigger=Trigger.SCHEDULE, day=business_days.business_day(now))
    has_paid = today.exclude(outcome=SettlementPayout.Outcome.FAILED).exists()
    if not is_day_passed and (has_paid or not payout_schedules.is_due(account, now=now)):
        raise NotDue


def _amount_now(account: SettlementAccount, rule: Snapshot) -> int:
    """Return what can be paid out at a fee rule, in minor units, and hold it until the transaction ends."""
    business_id, currency = account.business_id, account.currency
    ledger.lock_balances(business_id, currency, Kind.WALLET, Kind.PENDING_SETTLEMENT, Kind.PAYOUTS_IN_FLIGHT)
    covering = ledger.covering_now(
        business_id, currency, reserved=partial(refund_cover.reserved_of, business_id, currency)
    )
    room = covering - account.stays
    costs = charge(FeeRule.from_snapshot(rule), max(room, 0)).total
    return min(max(room - costs, 0), MAX_AMOUNT)


def _batches_of(account: SettlementAccount, amount: int) -> list[BatchTransition]:
    """Return the releases of the batches that an amount pays, in the order of release.

    The first payout names the latest batches that make up its amount: what was released before was spent before.
    The caller holds the wallet, so no batch is being released.
    """
    newest_first = unpaid_batches(account).select_related("batch").order_by("-at", "-pk")
    if account.batches_from is not None:
        return list(newest_first)[::-1]
    chosen: list[BatchTransition] = []
    for release in newest_first.iterator():
        if amount <= 0:
            break
        chosen.append(release)
        amount -= release.batch.net - release.batch.reserved
    return chosen[::-1]


def _first_release(paid: list[BatchTransition]) -> datetime | None:
    return min((each.at for each in paid), default=None)


def _reference(account: SettlementAccount, batches: list[SettlementBatch], day: date) -> str:
    """Return `settlement_` and the batch or, for several or none, the day. After earlier ones `_2` and so on follows."""
    first = f"settlement_{batches[0].pk if len(batches) == 1 else day.isoformat()}"
    names = chain([first], (f"{first}_{number}" for number in count(2)))
    return next(each for each in names if not ReservedReference.objects.taken(account.business, [each]))


def _request(account: SettlementAccount, amount: int, reference: str) -> dict[str, Any]:
    """Return a settlement payout as the request of a payout."""
    return {
        "request_type": Transaction.RequestType.PAYOUT,
        "reference": reference,
        "amount": amount,
        "currency": account.currency,
        "customer": {
            "name": account.account_name,
            "account_number": account.account_number,
            "bank_code": account.bank_code,
        },
        "narration": "Settlement",
    }


@database.atomic
def _pause(account: SettlementAccount, reason: str, *, now: datetime) -> None:
    locked = lock(account.pk)
    if locked.paused_at is None:
        payout_schedules.pause(locked, reason, actor=TIMER, now=now)
        database.on_commit(partial(settlement_notices.mail_paused, locked))


@database.atomic
def _try_again(account: SettlementAccount, *, now: datetime) -> None:
    payout_schedules.try_again(lock(account.pk), at=now + RETRY_AFTER)


@database.atomic
def _end_attempts(account: SettlementAccount, *, clock: Callable[[], datetime]) -> None:
    """Wait for the next day of the schedule, because there is nothing to pay now."""
    locked = lock(account.pk)
    if locked.next_attempt_at is not None and locked.next_attempt_at <= clock():
        save_columns(locked, next_attempt_at=None)


def _record(
    action: str, account: SettlementAccount, payout: Transaction, *, actor: Actor, now: datetime
) -> None:
    audit.record(
        action=action,
        actor=actor,
        business=account.business,
        target=payout.reference,
        after={"amount": payout.amount, "currency": payout.currency},
        now=now,
    )
