"""Process the events of providers: have the provider queried about what each names, and record what that changed.

An event is a hint. The first attempt makes the query due that `payments.services.rails.requery` repeats anyway, so a
forged, late, repeated or reordered event changes nothing that a query would not. Later attempts only look whether the
query was answered. A watched payment is looked at instead, and one that an event shows to have a second charge is watched. About
a bank transfer to a virtual account, a question is written that another job sends. The table is the queue: any worker takes the
next event that is due, and a killed one leaves it due.
The event's row is locked first, then only rows that no other transaction holds, so that nothing waits.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import NamedTuple

import structlog
from django.db import InterfaceError, OperationalError
from django.db import transaction as database

from connectors.metrics import EVENTS
from connectors.models import ProviderEvent
from connectors.protocol import Effect, ProviderWebhooks
from connectors.registry import WEBHOOKS
from connectors.services.event_subjects import (
    find_payment,
    find_session,
    find_subject,
    names_virtual_account,
)
from disputes.models import Dispute
from disputes.services.rails import case_queries
from kit.db.clock import database_now
from kit.files import bounded_json
from kit.money.money import money
from kit.text.exception_summaries import summary_of
from payments.models import CardOperation, Challenge, Transaction
from payments.rules.words.dispute_words import LONGEST_CASE_NUMBER
from payments.services import watches
from payments.services.cards import challenges
from payments.services.payouts import reversed_payouts
from payments.services.rails.declared_accounts import same_as
from payments.services.rails.rail_queries import early_queries
from virtual_accounts.models import ProviderMessage
from virtual_accounts.services import provider_messages

log = structlog.get_logger("sluice.provider_events")

Result, Awaiting = ProviderEvent.Result, Transaction.Awaiting
Message = ProviderMessage.Kind

# Before each further attempt. After the last one, only the query's own schedule continues.
INTERVALS = (
    timedelta(seconds=2),
    timedelta(seconds=5),
    timedelta(seconds=20),
    timedelta(minutes=1),
    timedelta(minutes=5),
    timedelta(minutes=30),
)
# As many for an event that names nothing of ours. It may precede the answer that has the provider's id.
ATTEMPTS_TO_FIND = 3
LOOKED_AT = "queried about a late charge"  # the outcome of an event about a watched payment
NOTHING_CHANGED = "nothing changed"
RUN_TIME = 1.0  # seconds of a run


class Verdict(NamedTuple):
    """The result of an attempt. A verdict that isn't final holds if there are no further attempts."""

    result: ProviderEvent.Result
    outcome: str = ""
    is_final: bool = True


def process_due(*, clock: Callable[[], datetime] = database_now) -> int:
    """Process events until none is due or the run's time is over, and return the number of attempts."""
    if not ProviderEvent.objects.due(at=clock()).exists():
        return 0  # nearly always
    made, ends_at = 0, time.monotonic() + RUN_TIME
    while time.monotonic() < ends_at and _process_next(now=clock()):
        made += 1
    return made


@database.atomic
def _process_next(*, now: datetime) -> bool:
    due = ProviderEvent.objects.due(at=now).select_for_update(skip_locked=True)
    event = due.order_by("next_attempt_at").first()
    if event is None:
        return False
    _record(event, _attempt(event, now=now), now=now)
    return True


def _attempt(event: ProviderEvent, *, now: datetime) -> Verdict:
    try:
        with database.atomic():
            return _verdict(event, now=now)
    except (OperationalError, InterfaceError):
        raise  # the event stays due
    except Exception as error:  # noqa: BLE001  (an event that fails must not stop the others)
        said = summary_of(error)
        log.error("event not processed", id=str(event.pk), **said)  # noqa: TRY400  (the message may quote the event)
        return Verdict(Result.FAILED, is_final=False)


def _verdict(event: ProviderEvent, *, now: datetime) -> Verdict:
    webhooks = WEBHOOKS.get(event.provider)
    effect = webhooks.effect_of(event.kind) if webhooks else Effect.UNKNOWN
    if effect is Effect.UNKNOWN:
        return Verdict(Result.UNKNOWN_KIND)
    if webhooks and _is_of_other_account(event, own=webhooks.own_account()):
        return Verdict(Result.OTHER_ACCOUNT)
    if webhooks and effect is Effect.DISPUTE:
        return _ask_about_case(event, webhooks, now=now)
    if webhooks and (transfer := webhooks.transfer(bounded_json.loads(bytes(event.body).decode()))):
        return _ask_about_transfer(event, transfer, webhooks, now=now)
    return _verdict_on_transaction(event, effect, webhooks, now=now)


def _is_of_other_account(event: ProviderEvent, *, own: str) -> bool:
    name = event.provider
    return bool(event.account and own) and f"{name}:{event.account}" not in same_as(name, f"{name}:{own}")


def _verdict_on_transaction(
    event: ProviderEvent, effect: Effect, webhooks: ProviderWebhooks | None, *, now: datetime
) -> Verdict:
    subject = find_subject(event)
    if subject is not None:
        event.transaction, event.operation = subject.transaction, subject.operation
    if effect is Effect.KEEP:
        return Verdict(Result.KEPT)
    if subject is None:
        return Verdict(Result.NOT_OURS, is_final=event.attempts + 1 >= ATTEMPTS_TO_FIND)
    if effect is Effect.QUERY and not _end_wait_for_payer(subject.transaction, now=now):
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    if webhooks and _is_beside(subject.transaction, webhooks.payment_of(event.references)):
        watches.watch_for_second_charge(subject.transaction, now=now)
    paid_out = subject.operation or subject.transaction
    if webhooks and webhooks.is_payout_reversed(event.kind) and reversed_payouts.has_succeeded(paid_out):
        return _ask_about_payout(event, paid_out, now=now)
    if webhooks and subject.operation:
        _alarm_if_refunded_again(subject.operation, webhooks.refund_of(event.kind, event.references))
    return _query(event, subject.transaction, now=now)


def _alarm_if_refunded_again(refund: CardOperation, paid: str) -> None:
    """Alarm staff if an event is about another refund than the one that decided ours: a repeat, and its late original.

    Nothing takes a refund back, and the ledger has it once. A statement shows the second one as a break.
    """
    known = refund.acquirer_reference if refund.status == CardOperation.Status.SUCCESS else ""
    if known and paid and paid != known:
        log.error("refund paid twice", id=str(refund.pk), refund=paid)


def _is_beside(transaction: Transaction, payment: str) -> bool:
    """Return whether an event is about another payment than the one that decided the transaction, and its late charges."""
    is_undecided = transaction.awaiting in {Awaiting.RAIL, Awaiting.REVERSAL, Awaiting.PAYER}
    if is_undecided or not transaction.acquirer_reference or not payment:
        return False
    return payment not in watches.known_payments(transaction)


def _ask_about_transfer(
    event: ProviderEvent, transfer: str, webhooks: ProviderWebhooks, *, now: datetime
) -> Verdict:
    """Have the provider asked about a bank transfer to a virtual account of ours, and then wait for its answer."""
    account, session = f"{event.provider}:{webhooks.own_account()}", find_session(event)
    if session is None and not names_virtual_account(event):
        return Verdict(Result.NOT_OURS, is_final=event.attempts + 1 >= ATTEMPTS_TO_FIND)
    if session is not None:
        transfer = session.pk.hex  # in the body, it may be masked
    if event.asked_at is None:
        kind = Message.REJECT if webhooks.is_transfer_rejected(event.kind) else Message.LOOKUP
        provider_messages.ask(transfer, provider_account=account, kind=kind, at=now, now=now)
        event.asked_at = now
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    if provider_messages.is_asked(transfer, provider_account=account, now=now):
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    event.transaction = find_payment(event)
    changed = _changes(event.transaction, since=event.asked_at) if event.transaction else "transfer looked up"
    return Verdict(Result.QUERIED, changed)


def _ask_about_payout(
    event: ProviderEvent, paid_out: Transaction | CardOperation, *, now: datetime
) -> Verdict:
    """Have the provider asked whether it gave a payout back that had succeeded, and then wait for its answer."""
    if event.asked_at is None:
        reversed_payouts.ask(paid_out, now=now)
        event.asked_at = now
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    if reversed_payouts.is_asked(paid_out, now=now):
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    returns = list(event.transaction.returns.all()) if event.transaction else []
    if not returns:  # the answer may be from before the event, and nothing else asks again
        reversed_payouts.ask(paid_out, now=now)
        return Verdict(Result.QUERIED, NOTHING_CHANGED, is_final=False)
    found = [
        f"returned: {money(each.amount, each.currency)}" for each in returns if each.at >= event.asked_at
    ]
    return Verdict(Result.QUERIED, "; ".join(found) or NOTHING_CHANGED)


def _ask_about_case(event: ProviderEvent, webhooks: ProviderWebhooks, *, now: datetime) -> Verdict:
    """Have the provider asked about the case that an event names, and then wait for its answer."""
    subject = find_subject(event)
    event.transaction = subject.transaction if subject else None
    number = webhooks.case(bounded_json.loads(bytes(event.body).decode()))[:LONGEST_CASE_NUMBER]
    if not number:
        return Verdict(Result.NOT_OURS)
    account = f"{event.provider}:{webhooks.own_account()}"
    if event.asked_at is None:
        case_queries.make_due(number, connector=event.provider, account=account, now=now)
        event.asked_at = now
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    case = {"connector": event.provider, "case_number": number}
    if not case_queries.is_answered(**case, account=account, since=event.asked_at):
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    of_case = Dispute.objects.filter(**case, account__in=same_as(event.provider, account))
    dispute = of_case.order_by("id").select_related("transaction").last()
    if dispute is None:
        return Verdict(Result.NOT_OURS)
    event.transaction = dispute.transaction
    steps = dispute.steps.filter(at__gte=event.asked_at).order_by("id").values_list("kind", flat=True)
    return Verdict(Result.QUERIED, f"dispute: {', '.join(steps) or NOTHING_CHANGED}")


def _end_wait_for_payer(transaction: Transaction, *, now: datetime) -> bool:
    """Await the provider instead of a payer whom it was left to: he has acted there, and may never come back.

    Return False if that has to be tried again later, because the row is locked.
    """
    if transaction.awaiting != Awaiting.PAYER:
        return True
    if not Transaction.objects.select_for_update(skip_locked=True).filter(pk=transaction.pk):
        return False
    with suppress(Challenge.DoesNotExist, challenges.ChallengeClosed):
        challenges.come_back(challenge=transaction.challenge, now=now)
    return True


def _query(event: ProviderEvent, transaction: Transaction, *, now: datetime) -> Verdict:
    """Make the queries about a transaction due at first, and then wait for their answers."""
    subjects = early_queries.open_queries(transaction)
    if event.asked_at is None and not subjects:
        return _without_query(event, transaction, now=now)
    if event.asked_at is None:
        if early_queries.make_due(transaction, now=now):
            event.asked_at = now
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    if early_queries.are_waiting(subjects, since=event.asked_at):
        return Verdict(Result.NOT_ANSWERED, is_final=False)
    return Verdict(Result.QUERIED, _changes(transaction, since=event.asked_at))


def _without_query(event: ProviderEvent, transaction: Transaction, *, now: datetime) -> Verdict:
    """Return the verdict on an event about a transaction that no rail is queried about."""
    if watches.is_watched(transaction):
        return _look_again(event, transaction, now=now)
    if event.attempts and event.outcome == LOOKED_AT:
        return Verdict(Result.QUERIED, LOOKED_AT)  # and the watch has ended
    # One that is with its payer is queried after he comes back.
    is_with_payer = transaction.awaiting == Awaiting.PAYER
    return Verdict(Result.NOTHING_OPEN, is_final=not is_with_payer)


def _look_again(event: ProviderEvent, failed: Transaction, *, now: datetime) -> Verdict:
    """Have a failed payment looked at that may have been charged. More than once: a new charge may not be listed yet."""
    is_due = watches.make_due(failed, now=now)
    is_last = is_due and event.attempts + 1 >= ATTEMPTS_TO_FIND
    return Verdict(Result.QUERIED, LOOKED_AT, is_final=is_last)


def _changes(transaction: Transaction, *, since: datetime) -> str:
    """Return what has changed since a time, as in "status: pending → success"."""
    transitions = transaction.transitions.filter(at__gte=since).order_by("pk")
    operations = transaction.operations.filter(finished_at__gte=since).order_by("pk")
    found = [*map(str, transitions), *(f"{each.kind}: pending → {each.status}" for each in operations)]
    return "; ".join(found)[:255] or NOTHING_CHANGED


def _record(event: ProviderEvent, verdict: Verdict, *, now: datetime) -> None:
    is_over = verdict.is_final or event.attempts >= len(INTERVALS)
    event.next_attempt_at = None if is_over else now + INTERVALS[event.attempts]
    event.attempts += 1
    event.result, event.outcome = verdict.result if is_over else Result.WAITING, verdict.outcome
    if is_over:
        event.asked_at = event.asked_at or now
        event.processed_at = now
        EVENTS.labels(event.provider, event.result).inc()
    event.save(
        update_fields=[
            "transaction", "operation", "result", "outcome", "asked_at", "processed_at", "attempts", "next_attempt_at",
        ]
    )  # fmt: skip
