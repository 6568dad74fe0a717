"""The timeline of a transaction: transitions, operations, webhooks and ledger entries."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from uuid import UUID

from django.urls import reverse

from dashboard.ui.timeline import BAD, BOOKED, GOOD, NEW, REQUESTED, WAIT, Moment
from kit import banks
from kit.money import money, signed_money
from kit.plurals import counted
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
    """Return the moments of a transaction, oldest first, planned ones last."""
    moments = [
        _created(transaction),
        *_challenge_moments(getattr(transaction, "challenge", None)),
        *_transitions(transaction),
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
        text = f"After {counted(wrong, 'incorrect code')}." if wrong else ""
        yield Moment(
            at=challenge.passed_at, title="Payer authenticated with 3-D Secure", text=text, mark=GOOD
        )


def _transitions(transaction: Transaction) -> Iterator[Moment]:
    for transition in Transition.objects.filter(transaction=transaction).order_by("at", "pk"):
        if transition.attribute == "awaiting" and transition.after == Awaiting.PAYER:
            yield Moment(
                at=transition.at, title="3-D Secure requested", text="The payer must confirm.", mark=WAIT
            )
        elif transition.attribute == "awaiting" and transition.after == Awaiting.CAPTURE:
            code = transaction.authorization_code
            yield Moment(at=transition.at, title="Authorised", text=f"Authorisation code {code}.", mark=GOOD)
        elif transition.attribute == "status":
            yield _ended(transaction, transition)


_CAUSES = {
    Transition.Cause.PAYER: "On the payer's page.",
    Transition.Cause.MERCHANT: "Requested by the merchant.",
    Transition.Cause.REQUERY: "The first response was lost, so the status was queried.",
    Transition.Cause.EXPIRY: "Expired.",
    Transition.Cause.RETURN: "The bank returned it.",
}


def _ended(transaction: Transaction, transition: Transition) -> Moment:
    cause = (
        _CAUSES.get(Transition.Cause(transition.cause), "")
        if transition.cause in Transition.Cause.values
        else ""
    )
    if transition.after == Status.SUCCESS:
        return Moment(at=transition.at, title=transaction.outcome_text, text=cause, mark=GOOD)
    title = f"{transaction.outcome_text} ({transaction.response_code})"
    return Moment(at=transition.at, title=title, text=cause, mark=BAD)


_NAMES = {Kind.CAPTURE: "Capture", Kind.VOID: "Void", Kind.REFUND: "Refund"}


def _operation_moments(operations: Iterable[CardOperation], *, currency: str) -> Iterator[Moment]:
    for operation in operations:
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
            text=operation.reason,
            lines=lines,
            mark=REQUESTED,
        )
        if operation.status == CardOperation.Status.SUCCESS and operation.finished_at:
            yield Moment(at=operation.finished_at, title=_succeeded(operation, currency), mark=GOOD)
        elif operation.status == CardOperation.Status.FAILED and operation.finished_at:
            text = f"{operation.response_summary} ({operation.response_code})."
            yield Moment(at=operation.finished_at, title=f"{name} failed", text=text, mark=BAD)
        elif operation.next_query_at:
            yield Moment(
                at=operation.next_query_at,
                title=f"{name}: next query to the {'bank' if operation.is_transfer_refund else 'acquirer'}",
                is_planned=True,
                mark=WAIT,
            )


def _succeeded(operation: CardOperation, currency: str) -> str:
    done = {Kind.CAPTURE: "captured", Kind.VOID: "voided", Kind.REFUND: "refunded"}
    return f"{money(operation.amount, currency)} {done[Kind(operation.kind)]}"


def _destination(refund: CardOperation) -> str:
    bank = banks.find(refund.destination_bank_code)
    return f"{refund.destination_name}, {refund.destination_account_number}, {bank.name if bank else ''}"


def _return_moments(returns: Iterable[PayoutReturn]) -> Iterator[Moment]:
    for each in returns:
        amount = money(each.amount, each.currency)
        if each.applied == PayoutReturn.Applied.UNMATCHED:
            title = f"The bank reported a return of {amount}, which wasn't booked"
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
            (posting.account.get_kind_display().capitalize(), signed_money(posting.amount, entry.currency))
            for posting in entry.postings.all()
        ]
        title = f"Ledger entry: {entry.get_kind_display().lower()}"
        yield Moment(at=entry.at, title=title, text=entry.note, lines=lines, mark=BOOKED)


def _delivery_moments(delivery: Delivery | None, attempts: Sequence[Attempt]) -> Iterator[Moment]:
    if delivery is None:
        return
    address = reverse("dashboard-delivery", args=[delivery.pk])
    for attempt in attempts:
        succeeded = attempt.error == "" and attempt.status is not None
        yield Moment(
            at=attempt.started_at,
            title=f"Webhook {event_name(delivery.event)}, attempt {attempt.number}",
            text=attempt.result,
            address=address,
            mark=GOOD if succeeded else BAD,
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
        text = "Held because the endpoint is disabled."
        yield Moment(
            at=delivery.created_at,
            title=f"Webhook {event_name(delivery.event)}",
            text=text,
            address=address,
            mark=WAIT,
        )


def _plans(transaction: Transaction) -> Iterator[Moment]:
    titles = {Awaiting.PAYER: "3-D Secure expires", Awaiting.CAPTURE: "Authorisation expires"}
    if transaction.expires_at:
        title = titles.get(Awaiting(transaction.awaiting), "Expires")
        yield Moment(at=transaction.expires_at, title=title, is_planned=True, mark=WAIT)
    if transaction.next_query_at and transaction.awaiting == Awaiting.RAIL:
        title = "Outcome unknown: next query"
        yield Moment(at=transaction.next_query_at, title=title, is_planned=True, mark=WAIT)
