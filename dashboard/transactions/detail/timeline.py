"""The timeline of a transaction: transitions, operations, webhooks and ledger entries."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any
from uuid import UUID

from django.urls import reverse

from dashboard.transactions.detail.related import endpoint_name
from dashboard.ui.components.timeline import BAD, GOOD, NEW, PLAIN, REQUESTED, WAIT, Moment
from dashboard.ui.dispute_names import dispute_name, dispute_reason, dispute_style, stage_name
from disputes.models import Dispute
from kit import banks
from kit.money.money import money, signed_money
from kit.text.plurals import counted
from ledger.models import Entry, Posting
from payments.models import (
    CardOperation,
    Challenge,
    PayoutReturn,
    PayoutServerQuestion,
    SettlementBatch,
    Transaction,
    Transition,
    WatchedAuthorisation,
)
from payments.rails.protocol import ActionKind
from payments.rules.words.dispute_words import Status as DisputeStatus
from virtual_accounts.models import UnappliedMoney
from webhooks.models import Attempt, Delivery, event_name

Status = Transaction.Status
Awaiting = Transaction.Awaiting
EntryKind = Entry.Kind
# The names and amounts of a ledger entry's postings, by its kind and cause.
Lines = Mapping[tuple[str, UUID], Sequence[tuple[str, str]]]
BOOKED_AT_THE_END = (
    EntryKind.CARD,
    EntryKind.VIRTUAL_ACCOUNT,
    EntryKind.PAYOUT_SENT,
    EntryKind.PAYOUT_FAILED,
)
SettleStatus = Transaction.SettleStatus
Kind = CardOperation.Kind


def timeline_of(
    transaction: Transaction,
    *,
    operations: Sequence[CardOperation],
    returns: Sequence[PayoutReturn],
    deliveries: Sequence[Delivery],
    attempts: Sequence[Attempt],
    batch: SettlementBatch | None,
    unapplied: Sequence[UnappliedMoney],
    disputes: Sequence[Dispute],
) -> list[Moment]:
    """Return the moments of a transaction, oldest first, planned ones last."""
    entries = _ledger_lines(transaction, [transaction.pk, *(each.pk for each in [*operations, *returns])])
    moments = [
        _created(transaction, entries),
        *_challenge_moments(getattr(transaction, "challenge", None)),
        *_transitions(transaction, batch, entries),
        *_operation_moments(operations, entries, currency=transaction.currency),
        *_return_moments(returns, entries),
        *_watch_moments(transaction),
        *_decisions(unapplied),
        *_dispute_moments(disputes),
        *_all_delivery_moments(deliveries, attempts),
        *_plans(transaction),
    ]
    return sorted(moments, key=lambda moment: (moment.is_planned, moment.at))


def timeline_of_refund(
    refund: CardOperation, *, maker: str, deliveries: Sequence[Delivery], attempts: Sequence[Attempt]
) -> list[Moment]:
    """Return the moments of a refund and of its event. `maker`: who requested it; empty if unknown."""
    entries, currency = _ledger_lines(refund.transaction, [refund.pk]), refund.transaction.currency
    return [
        *_operation_moments([refund], entries, currency=currency, maker=maker, has_links=False),
        *_all_delivery_moments(deliveries, attempts),
    ]


def _created(transaction: Transaction, entries: Lines) -> Moment:
    amount = money(transaction.amount, transaction.currency)
    what = {
        Transaction.RequestType.PAYMENT: f"Payment of {amount} requested",
        Transaction.RequestType.PAYOUT: f"Payout of {amount} requested",
        Transaction.RequestType.CARD_CHECK: "Card check requested",
    }[Transaction.RequestType(transaction.request_type)]
    lines = entries.get((EntryKind.PAYOUT_ACCEPTED, transaction.pk), ())
    return Moment(at=transaction.created_at, title=what, lines=lines, mark=NEW)


def _challenge_moments(challenge: Challenge | None) -> Iterator[Moment]:
    if challenge is None:
        return
    wrong = challenge.wrong_codes
    if challenge.passed_at and challenge.kind == ActionKind.REDIRECT:  # which needs no proof
        yield Moment(at=challenge.passed_at, title="Payer came back", mark=GOOD)
    elif challenge.passed_at:
        text = f"After {counted(wrong, 'incorrect code')}." if wrong else ""
        yield Moment(
            at=challenge.passed_at, title="Payer authenticated with 3-D Secure", text=text, mark=GOOD
        )


def _transitions(transaction: Transaction, batch: SettlementBatch | None, entries: Lines) -> Iterator[Moment]:
    for transition in Transition.objects.filter(transaction=transaction).order_by("at", "pk"):
        is_asked_again = transition.cause == Transition.Cause.PAYER  # after an input
        if transition.attribute == "awaiting" and transition.after == Awaiting.PAYER and not is_asked_again:
            yield _asked(transaction, transition)
        elif transition.attribute == "awaiting" and transition.before == Awaiting.APPROVAL:
            yield Moment(at=transition.at, title="Payout approved", mark=GOOD)
        elif transition.attribute == "awaiting" and transition.before == Awaiting.SERVER:
            yield Moment(at=transition.at, title="Your server approved the payout", mark=GOOD)
        elif transition.attribute == "awaiting" and transition.after == Awaiting.CAPTURE:
            code = transaction.authorization_code
            yield Moment(at=transition.at, title="Authorised", text=f"Authorisation code {code}.", mark=GOOD)
        elif transition.attribute == "status":
            yield _ended(transaction, transition, entries)
        elif transition.attribute == "settle_status" and transition.after in SETTLED and batch is not None:
            yield _settled(transition, batch)


def _asked(transaction: Transaction, transition: Transition) -> Moment:
    """Return that the payer had to act: confirm the payment or, at some acquirers, enter the card on their page."""
    if transaction.payment_link_id is not None and not transaction.challenge_preference:
        return Moment(at=transition.at, title="Payer sent to the card page", mark=WAIT)
    return Moment(at=transition.at, title="3-D Secure requested", text="The payer must confirm.", mark=WAIT)


SETTLED: dict[str, tuple[str, str]] = {
    SettleStatus.APPROVED: ("Settlement of {day} approved", ""),
    SettleStatus.RELEASED: ("Settlement of {day} released", "Paid into your balance."),
    SettleStatus.REJECTED: ("Settlement rejected", "The payment joined the next settlement."),
}


def _settled(transition: Transition, batch: SettlementBatch) -> Moment:
    """Return a step of the settlement. `batch` is the one that the payment is in now, not a rejected one."""
    title, text = SETTLED[transition.after]
    if transition.after == SettleStatus.REJECTED:
        return Moment(at=transition.at, title=title, text=text, mark=BAD)
    address = reverse("dashboard-settlement", args=[batch.pk])
    title = title.format(day=f"{batch.day:%-d %b %Y}")
    return Moment(at=transition.at, title=title, text=text, address=address, mark=GOOD)


def _decisions(unapplied: Iterable[UnappliedMoney]) -> Iterator[Moment]:
    """Yield what became of the transfers that didn't match the payment."""
    for each in unapplied:
        if each.decided_at is not None:
            yield Moment(
                at=each.decided_at,
                title=_done(each, money(each.amount, each.currency)),
                text=f"By {each.actor}: {each.reason}",
                address=reverse("dashboard-unapplied-item", args=[each.pk]),
                mark=GOOD,
            )


_ENDS = {"success": GOOD, "failed": BAD, "reversed": PLAIN}  # by the style of a dispute's status


def _dispute_moments(disputes: Iterable[Dispute]) -> Iterator[Moment]:
    """Yield when each dispute of a payment was opened, must be answered and ended."""
    for each in disputes:
        address, stage = reverse("dashboard-dispute", args=[each.pk]), stage_name(each.stage)
        yield Moment(
            at=each.created_at,
            title=f"{stage} of {money(each.amount, each.currency)} opened",
            text=f"Reason: {dispute_reason(each.reason).lower()}.",
            address=address,
            mark=NEW,
        )
        if each.resolved_at is not None:
            title = f"{stage} ended: {dispute_name(each.status).lower()}"
            mark = _ENDS[dispute_style(each.status)]
            yield Moment(at=each.resolved_at, title=title, address=address, mark=mark)
        elif each.status == DisputeStatus.NEEDS_RESPONSE and each.respond_by is not None:
            title = f"Response to the {stage.lower()} due"
            yield Moment(at=each.respond_by, title=title, address=address, mark=WAIT, is_planned=True)


def _done(unapplied: UnappliedMoney, amount: str) -> str:
    if unapplied.is_accepted:
        return f"{amount} accepted for the order, and credited to your balance"
    is_credited = unapplied.state == UnappliedMoney.State.CREDITED
    return (
        f"{amount} credited to your balance" if is_credited else f"Return of {amount} to its sender ordered"
    )


_CAUSES = {
    Transition.Cause.PAYER: "On the payer's page.",
    Transition.Cause.MERCHANT: "Requested by the merchant.",
    Transition.Cause.REQUERY: "The first response was lost, so the status was queried.",
    Transition.Cause.EXPIRY: "Expired.",
    Transition.Cause.RETURN: "The bank returned it.",
}


_SUCCEEDED = {
    Transaction.RequestType.PAYMENT: "Payment succeeded",
    Transaction.RequestType.PAYOUT: "Payout sent",
    Transaction.RequestType.CARD_CHECK: "Card is valid",
}


def _ended(transaction: Transaction, transition: Transition, entries: Lines) -> Moment:
    cause = (
        _CAUSES.get(Transition.Cause(transition.cause), "")
        if transition.cause in Transition.Cause.values
        else ""
    )
    booked = (lines for kind in BOOKED_AT_THE_END if (lines := entries.get((kind, transaction.pk))))
    lines = next(booked, ())
    if transition.after == Status.SUCCESS:
        is_transfer = transaction.is_transfer_payment
        title = (
            transaction.outcome_text
            if is_transfer
            else _SUCCEEDED[Transaction.RequestType(transaction.request_type)]
        )
        return Moment(at=transition.at, title=title, text=cause, lines=lines, mark=GOOD)
    title = f"{transaction.outcome_text} ({transaction.response_code})"
    return Moment(at=transition.at, title=title, text=_sent_back(transaction) or cause, lines=lines, mark=BAD)


def _sent_back(transaction: Transaction) -> str:
    """Return who sends the payer's transfer back, if that is the provider of the account number."""
    session = transaction.session
    if session is None or not session.provider_account:
        return ""
    provider = session.provider_account.partition(":")[0].capitalize()
    return {
        session.Status.MISMATCH: f"{provider} returned the transfer to the payer.",
        session.Status.EXPIRED: f"{provider} returns transfers that arrive later.",
    }.get(session.Status(session.status), "")


_NAMES = {Kind.CAPTURE: "Capture", Kind.VOID: "Void", Kind.REFUND: "Refund"}


def _operation_moments(
    operations: Iterable[CardOperation],
    entries: Lines,
    *,
    currency: str,
    maker: str = "",
    has_links: bool = True,
) -> Iterator[Moment]:
    """Yield what became of operations. `has_links`: refunds link to their pages."""
    for operation in operations:
        is_refund = has_links and operation.kind == Kind.REFUND
        address = reverse("dashboard-refund", args=[operation.pk]) if is_refund else ""
        kind, amount = _NAMES[Kind(operation.kind)], money(operation.amount, currency)
        name = f"{kind} of {amount}"
        lines = [("Amount", amount)]
        if operation.reference:
            lines.append(("Reference", operation.reference))
        if operation.is_transfer_refund:
            lines.append(("To", _destination(operation)))
        yield Moment(
            at=operation.created_at,
            title=f"{kind} requested",
            text=_requested_by(maker, operation.reason),
            address=address,
            lines=lines,
            mark=REQUESTED,
        )
        if operation.status == CardOperation.Status.SUCCESS and operation.finished_at:
            yield Moment(
                at=operation.finished_at,
                title=_succeeded(operation, currency),
                address=address,
                lines=entries.get((EntryKind.REFUND, operation.pk), ()),
                mark=GOOD,
            )
        elif operation.status == CardOperation.Status.FAILED and operation.finished_at:
            text = f"{operation.outcome_text} ({operation.response_code})."
            yield Moment(
                at=operation.finished_at, title=f"{name} failed", text=text, address=address, mark=BAD
            )
        elif operation.next_query_at:
            yield Moment(
                at=operation.next_query_at,
                title=f"{name}: next query to the {'bank' if operation.is_transfer_refund else 'acquirer'}",
                is_planned=True,
                mark=WAIT,
            )


def _requested_by(maker: str, reason: str) -> str:
    """Return who requested an operation, and why.

    >>> _requested_by("ada@example.com", "Too large"), _requested_by("", "Too large"), _requested_by("ada@example.com", "")
    ('By ada@example.com: Too large', 'Too large', 'By ada@example.com')
    """
    return ": ".join(each for each in (f"By {maker}" if maker else "", reason) if each)


def _succeeded(operation: CardOperation, currency: str) -> str:
    done = {Kind.CAPTURE: "captured", Kind.VOID: "voided", Kind.REFUND: "refunded"}
    return f"{money(operation.amount, currency)} {done[Kind(operation.kind)]}"


def _destination(refund: CardOperation) -> str:
    if not refund.pays_named_account:
        return refund.destination_name
    bank = banks.name_of(refund.destination_bank_code)
    return f"{refund.destination_name}, {refund.destination_account_number}, {bank}"


def _return_moments(returns: Iterable[PayoutReturn], entries: Lines) -> Iterator[Moment]:
    for each in returns:
        amount = money(each.amount, each.currency)
        if each.applied == PayoutReturn.Applied.UNMATCHED:
            title = f"The bank reported a return of {amount}"
        else:
            title = f"{amount} returned by the bank"
        lines = [*([("Bank reference", each.bank_reference)] if each.bank_reference else [])]
        lines += entries.get((EntryKind.PAYOUT_REVERSED, each.pk), ())
        yield Moment(at=each.at, title=title, text=each.reason, lines=lines, mark=BAD)


def _watch_moments(transaction: Any) -> Iterator[Moment]:
    """Yield what became of a card payment that its acquirer could still charge after it failed, or charge twice.

    `detail.find` has read the transaction, and whether it has watches.
    """
    for watch in transaction.watches.order_by("id") if transaction.has_watches else ():
        yield from _moments_of_watch(transaction, watch)


def _moments_of_watch(transaction: Transaction, watch: WatchedAuthorisation) -> Iterator[Moment]:
    is_failed = transaction.status == Transaction.Status.FAILED
    name, when = ("Late", "after the payment failed") if is_failed else ("Second", "twice")
    if watch.found_at is not None:
        charged = f"{money(watch.amount, transaction.currency)} charged" if watch.amount else "Authorised"
        text = "It's returned to the payer automatically. Your balance doesn't change."
        yield Moment(at=watch.found_at, title=f"{charged} {when}", text=text, mark=BAD)
    if watch.returned_at is not None:
        yield Moment(at=watch.returned_at, title=f"{name} charge returned to the payer", mark=GOOD)
    elif watch.is_owed:
        title = f"{name} charge: next attempt to return it"
        yield Moment(at=watch.next_look_at or watch.until, title=title, is_planned=True, mark=WAIT)
    elif watch.is_open and not watch.is_of_second_charge:
        yield Moment(at=watch.until, title="Last query for a late charge", is_planned=True, mark=WAIT)


def _ledger_lines(transaction: Transaction, causes: Sequence[UUID]) -> Lines:
    """Return the postings of all entries of a transaction, for the moments that they belong to."""
    postings = Posting.objects.filter(
        entry__kind__in=EntryKind.values, entry__cause__in=causes, entry__business=transaction.business_id
    )
    found: dict[tuple[str, UUID], list[tuple[str, str]]] = defaultdict(list)
    for posting in postings.select_related("entry", "account").order_by("pk"):
        entry = posting.entry
        line = (posting.account.get_kind_display().capitalize(), signed_money(posting.amount, entry.currency))
        found[entry.kind, entry.cause].append(line)
    return found


def _all_delivery_moments(deliveries: Sequence[Delivery], attempts: Sequence[Attempt]) -> Iterator[Moment]:
    for delivery in deliveries:
        yield from _delivery_moments(delivery, [each for each in attempts if each.delivery_id == delivery.pk])


def _delivery_moments(delivery: Delivery, attempts: Sequence[Attempt]) -> Iterator[Moment]:
    """Yield what became of an event: its attempts in one moment, and its next attempt."""
    address, event = reverse("dashboard-delivery", args=[delivery.pk]), event_name(delivery.event)
    if endpoint := endpoint_name(delivery):
        event = f"{event} to {endpoint}"
    if attempts:
        last, count = attempts[-1], counted(len(attempts), "attempt")
        is_delivered = delivery.state == Delivery.State.DELIVERED
        yield Moment(
            at=last.started_at,
            title=f"{event} delivered" if is_delivered else f"{event} not delivered, {count}",
            text=f"After {count}. {last.result}" if is_delivered else f"Last response: {last.result}",
            address=address,
            mark=GOOD if is_delivered else BAD,
        )
    if delivery.state == Delivery.State.WAITING and delivery.next_attempt_at:
        yield Moment(
            at=delivery.next_attempt_at,
            title=f"{event}: next attempt",
            address=address,
            is_planned=True,
            mark=WAIT,
        )
    elif delivery.state == Delivery.State.HELD:
        text = "Held because the endpoint is disabled."
        yield Moment(
            at=delivery.created_at,
            title=f"{event} held",
            text=text,
            address=address,
            mark=WAIT,
        )


def _plans(transaction: Transaction) -> Iterator[Moment]:
    titles = {Awaiting.PAYER: "3-D Secure expires", Awaiting.CAPTURE: "Authorisation expires"}
    if transaction.has_unknown_card:
        titles[Awaiting.PAYER] = "Card page expires"
    if transaction.expires_at:
        title = titles.get(Awaiting(transaction.awaiting), "Expires")
        yield Moment(at=transaction.expires_at, title=title, is_planned=True, mark=WAIT)
    if transaction.awaiting == Awaiting.TRANSFER and transaction.session is not None:
        title = "The account number expires"
        yield Moment(at=transaction.session.expires_at, title=title, is_planned=True, mark=WAIT)
    if transaction.next_query_at and transaction.awaiting == Awaiting.RAIL:
        title = "Outcome unknown: next query"
        yield Moment(at=transaction.next_query_at, title=title, is_planned=True, mark=WAIT)
    if transaction.awaiting == Awaiting.APPROVAL:
        at = transaction.approval.expires_at
        yield Moment(at=at, title="Fails without approval", is_planned=True, mark=WAIT)
    if transaction.awaiting == Awaiting.SERVER:
        yield _next_question(transaction.server_question)


def _next_question(question: PayoutServerQuestion) -> Moment:
    title = "Your server is asked again" if question.attempts else "Your server is asked"
    return Moment(
        at=question.next_attempt_at, title=title, text=question.last_answer, is_planned=True, mark=WAIT
    )
