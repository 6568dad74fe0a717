"""Everything that happened to a transaction, in one line of time: moves, operations, webhooks, the ledger."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.urls import reverse

from dashboard.ui.amounts import with_sign
from dashboard.ui.timeline import ASKED, BAD, BOOKED, GOOD, NEW, WAIT, Moment
from kit import banks
from kit.money import money
from ledger.models import Entry
from payments.models import CardOperation, Challenge, PayoutReturn, Transaction, Transition
from webhooks.models import Attempt, Delivery, event_name

Status = Transaction.Status
Awaiting = Transaction.Awaiting
Kind = CardOperation.Kind


def timeline_of(
    transaction: Transaction,
    *,
    operations: Sequence[CardOperation],
    returns: Sequence[PayoutReturn],
    delivery: Delivery | None,
    attempts: Sequence[Attempt],
) -> list[Moment]:
    """Return the moments of a transaction, oldest first, what is planned last."""
    moments = [
        _created(transaction),
        *_challenge_moments(getattr(transaction, "challenge", None)),
        *_moves(transaction),
        *_operation_moments(operations, currency=transaction.currency),
        *_return_moments(returns),
        *_ledger_moments(transaction, [transaction.pk, *(each.pk for each in [*operations, *returns])]),
        *_delivery_moments(delivery, attempts),
        *_plans(transaction),
    ]
    return sorted(moments, key=lambda moment: (moment.is_planned, moment.at))


def _created(transaction: Transaction) -> Moment:
    amount = money(transaction.amount, transaction.currency)
    what = {
        Transaction.RequestType.PAYMENT: f"Payment of {amount} requested",
        Transaction.RequestType.PAYOUT: f"Payout of {amount} requested",
        Transaction.RequestType.CARD_CHECK: "Card check requested",
    }[Transaction.RequestType(transaction.request_type)]
    return Moment(at=transaction.created_at, title=what, mark=NEW)


def _challenge_moments(challenge: Challenge | None) -> Iterator[Moment]:
    if challenge is None:
        return
    wrong = challenge.wrong_codes
    if challenge.passed_at:
        text = f"After {wrong} wrong code{'s' if wrong > 1 else ''}." if wrong else ""
        yield Moment(at=challenge.passed_at, title="Payer recognised by 3-D Secure", text=text, mark=GOOD)


def _moves(transaction: Transaction) -> Iterator[Moment]:
    for move in Transition.objects.filter(transaction=transaction).order_by("at", "pk"):
        if move.attribute == "awaiting" and move.after == Awaiting.PAYER:
            yield Moment(
                at=move.at, title="3-D Secure asked for", text="The payer has to confirm.", mark=WAIT
            )
        elif move.attribute == "awaiting" and move.after == Awaiting.CAPTURE:
            code = transaction.authorization_code
            yield Moment(at=move.at, title="Authorised", text=f"Authorisation code {code}.", mark=GOOD)
        elif move.attribute == "status":
            yield _ended(transaction, move)


_CAUSES = {
    Transition.Cause.PAYER: "On the payer's page.",
    Transition.Cause.MERCHANT: "At the merchant's request.",
    Transition.Cause.REQUERY: "The answer was lost at first, and asked for again.",
    Transition.Cause.EXPIRY: "Time ran out.",
    Transition.Cause.RETURN: "The bank returned it.",
}


def _ended(transaction: Transaction, move: Transition) -> Moment:
    cause = _CAUSES.get(Transition.Cause(move.cause), "") if move.cause in Transition.Cause.values else ""
    if move.after == Status.SUCCESS:
        return Moment(at=move.at, title=transaction.response_summary, text=cause, mark=GOOD)
    title = f"{transaction.response_summary} ({transaction.response_code})"
    return Moment(at=move.at, title=title, text=cause, mark=BAD)


_NAMES = {Kind.CAPTURE: "Capture", Kind.VOID: "Void", Kind.REFUND: "Refund"}


def _operation_moments(operations: Iterable[CardOperation], *, currency: str) -> Iterator[Moment]:
    for operation in operations:
        name = f"{_NAMES[Kind(operation.kind)]} of {money(operation.amount, currency)}"
        lines = [("Reference", operation.reference)] if operation.reference else []
        if operation.is_transfer_refund:
            lines.append(("To", _destination(operation)))
        yield Moment(
            at=operation.created_at,
            title=f"{name} asked for",
            text=operation.reason,
            lines=lines,
            mark=ASKED,
        )
        if operation.status == CardOperation.Status.SUCCESS and operation.finished_at:
            yield Moment(at=operation.finished_at, title=f"{name} done", mark=GOOD)
        elif operation.status == CardOperation.Status.FAILED and operation.finished_at:
            text = f"{operation.response_summary} ({operation.response_code})."
            yield Moment(at=operation.finished_at, title=f"{name} refused", text=text, mark=BAD)
        elif operation.next_query_at:
            yield Moment(
                at=operation.next_query_at,
                title=f"{name}: ask the {'bank' if operation.is_transfer_refund else 'acquirer'} again",
                is_planned=True,
                mark=WAIT,
            )


def _destination(refund: CardOperation) -> str:
    bank = banks.find(refund.destination_bank_code)
    return f"{refund.destination_name}, {refund.destination_account_number}, {bank.name if bank else ''}"


def _return_moments(returns: Iterable[PayoutReturn]) -> Iterator[Moment]:
    for each in returns:
        amount = money(each.amount, each.currency)
        if each.applied == PayoutReturn.Applied.UNMATCHED:
            title = f"The bank reported a return of {amount}; it was not booked"
        else:
            title = f"{amount} returned by the bank"
        lines = [("Bank reference", each.bank_reference)] if each.bank_reference else []
        yield Moment(at=each.at, title=title, text=each.reason, lines=lines, mark=BAD)


def _ledger_moments(transaction: Transaction, causes: Sequence[UUID]) -> Iterator[Moment]:
    entries = Entry.objects.filter(
        kind__in=Entry.Kind.values, cause__in=causes, business=transaction.business_id
    )
    for entry in entries.prefetch_related("postings__account").order_by("at", "pk"):
        lines = [
            (posting.account.get_kind_display().capitalize(), with_sign(posting.amount, entry.currency))
            for posting in entry.postings.all()
        ]
        title = f"Booked: {entry.get_kind_display().lower()}"
        yield Moment(at=entry.at, title=title, text=entry.note, lines=lines, mark=BOOKED)


def _delivery_moments(delivery: Delivery | None, attempts: Sequence[Attempt]) -> Iterator[Moment]:
    if delivery is None:
        return
    address = reverse("dashboard-delivery", args=[delivery.pk])
    for attempt in attempts:
        heard = attempt.error == "" and attempt.status is not None
        answer = (
            f"Answered {attempt.status} after {attempt.total_ms:.0f} ms."
            if attempt.status
            else attempt.explanation
        )
        yield Moment(
            at=attempt.started_at,
            title=f"Webhook {event_name(delivery.event)}, attempt {attempt.number}",
            text=answer,
            address=address,
            mark=GOOD if heard else BAD,
        )
    if delivery.state == Delivery.State.WAITING and delivery.next_attempt_at:
        yield Moment(
            at=delivery.next_attempt_at,
            title=f"Webhook {event_name(delivery.event)}, attempt {len(attempts) + 1}",
            address=address,
            is_planned=True,
            mark=WAIT,
        )
    elif delivery.state == Delivery.State.HELD:
        text = "Held: the endpoint is switched off."
        yield Moment(
            at=delivery.created_at,
            title=f"Webhook {event_name(delivery.event)}",
            text=text,
            address=address,
            mark=WAIT,
        )


def _plans(transaction: Transaction) -> Iterator[Moment]:
    ends = {Awaiting.PAYER: "3-D Secure expires", Awaiting.CAPTURE: "Authorisation expires"}
    if transaction.expires_at:
        title = ends.get(Awaiting(transaction.awaiting), "Expires")
        yield Moment(at=transaction.expires_at, title=title, is_planned=True, mark=WAIT)
    if transaction.next_query_at and transaction.awaiting == Awaiting.RAIL:
        title = "Outcome unknown: ask again"
        yield Moment(at=transaction.next_query_at, title=title, is_planned=True, mark=WAIT)
