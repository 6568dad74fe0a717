"""Actions on a payment: capture, void, cancel, refund. Each has a page that explains it and asks for confirmation.

A form that is submitted twice takes effect once: a repeated capture, void or cancellation is replayed, and the form of
a refund has a reference.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render

from dashboard.memberships import Membership, members_form
from dashboard.payments.forms import RefundForm, TransferRefundForm
from dashboard.transactions.detail.detail import is_cancellable, is_refundable
from dashboard.transactions.detail.detail_page import address_of, own_transaction
from dashboard.ui.forms.amount_form import AmountForm
from kit import banks
from kit.api.errors import Problem
from kit.connectors.connectors import NotSupported
from kit.db import clock
from kit.money.money import money
from merchants.people import audit
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import CardOperation, Transaction
from payments.services.cards import captures
from payments.services.cards.captures import OperationRefused
from payments.services.payouts.controls.makers import Maker
from payments.services.refunds import refunds
from payments.services.transactions import cancellations
from payments.services.transactions.operations import AmountTooLarge
from payments.services.transfers.return_destinations import Destination, sender_of
from virtual_accounts.models import Transfer


@members_form("capture a payment", may=Permission.CAPTURE)
def capture_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Capture an authorised payment, in whole or in part."""
    payment = own_transaction(membership, transaction_id)
    form = AmountForm(request.POST or None, currency=payment.currency, limit=payment.amount)
    if request.method == "POST" and form.is_valid():
        amount = form.cleaned_data["amount"]
        return _perform(
            request,
            membership,
            payment,
            "capture",
            lambda now: _capture_message(
                captures.capture(transaction_id=payment.pk, amount=amount, now=now).resource, payment.currency
            ),
            after={
                "amount": payment.amount if amount is None else amount,
                "currency": payment.currency,
            },
        )
    return _confirmation_page(request, membership, payment, "capture", form=form)


@members_form("void a payment", may=Permission.CAPTURE)
def void_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Void an authorisation."""
    payment = own_transaction(membership, transaction_id)

    def void(now: datetime) -> tuple[int, str]:
        return _void_message(captures.void(transaction_id=payment.pk, now=now).resource)

    return _confirm_or_perform(request, membership, payment, "void", void)


@members_form("cancel a payment", may=Permission.CAPTURE)
def cancel_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Cancel a payment that is waiting for the payer."""
    payment = own_transaction(membership, transaction_id)

    def cancel(_: datetime) -> tuple[int, str]:
        return _cancellation_message(cancellations.cancel(transaction_id=payment.pk).resource)

    return _confirm_or_perform(
        request, membership, payment, "cancel", cancel, is_possible=is_cancellable(payment)
    )


@members_form("refund a payment", may=Permission.REFUND)
def refund_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Refund a payment, in whole or in part: first the form, then a review, then the refund."""
    payment = own_transaction(membership, transaction_id)
    sender = _known_sender(payment)
    form = _refund_form(request, payment, sender)
    context = {
        "form": form,
        "is_possible": is_refundable(payment),
        "sender": sender,
        "bank_name": banks.name_of(sender.bank_code) if sender else "",
    }
    step = request.POST.get("step")
    if request.method == "POST" and form.is_valid() and step != "change":
        wanted = {name: value for name, value in form.cleaned_data.items() if value}
        if step == "confirmed":
            return _refund(request, membership, payment, wanted, context)
        context["amount"] = wanted.get("amount", payment.amount_refundable)
        return _confirmation_page(request, membership, payment, "refund_review", **context)
    return _confirmation_page(request, membership, payment, "refund", **context)


def _refund(
    request: HttpRequest,
    membership: Membership,
    payment: Transaction,
    wanted: dict[str, Any],
    context: dict[str, Any],
) -> HttpResponse:
    """Request the refund. If the amount is no longer possible, show the form again."""
    maker = Maker.of_member(membership.member.user)

    def show_limit(refusal: AmountTooLarge) -> HttpResponse:
        payment.refresh_from_db()
        context["form"].add_error("amount", _limit_message(refusal, context["form"]))
        context["is_possible"] = is_refundable(payment)
        return _confirmation_page(request, membership, payment, "refund", **context)

    return _perform(
        request,
        membership,
        payment,
        "refund",
        lambda now: _refund_message(
            refunds.refund(transaction=payment, request=wanted, now=now, maker=maker).resource,
            payment.currency,
        ),
        after={
            "reference": wanted["reference"],
            "amount": wanted.get("amount", payment.amount_refundable),
            "currency": payment.currency,
        },
        too_large=show_limit,
    )


def _known_sender(payment: Transaction) -> Destination | None:
    transfer = Transfer.objects.filter(session=payment.session_id).first() if payment.session_id else None
    return sender_of(transfer) if transfer is not None else None


def _refund_form(request: HttpRequest, payment: Transaction, sender: Destination | None) -> RefundForm:
    initial = {"reference": f"refund-{secrets.token_hex(8)}"}
    # A form that is submitted twice shows its refund again, so the rest that this refund left doesn't bound it.
    is_repeated = CardOperation.objects.filter(
        transaction=payment, reference=request.POST.get("reference", "")
    ).exists()
    limit = None if is_repeated else payment.amount_refundable
    if not payment.is_transfer_payment:
        return RefundForm(request.POST or None, currency=payment.currency, limit=limit, initial=initial)
    return TransferRefundForm(
        request.POST or None,
        currency=payment.currency,
        limit=limit,
        initial=initial,
        is_sender_known=sender is not None,
    )


def _confirm_or_perform(
    request: HttpRequest,
    membership: Membership,
    payment: Transaction,
    action: str,
    perform: Callable[[datetime], tuple[int, str]],
    **context: Any,
) -> HttpResponse:
    """Show the page of an action that needs no input, or perform the confirmed action."""
    if request.method == "POST":
        return _perform(request, membership, payment, action, perform)
    return _confirmation_page(request, membership, payment, action, **context)


def _confirmation_page(
    request: HttpRequest, membership: Membership, payment: Transaction, action: str, **context: Any
) -> HttpResponse:
    is_possible = payment.awaiting == Transaction.Awaiting.CAPTURE
    shown = {
        "membership": membership,
        "payment": payment,
        "address": address_of(payment),
        "is_possible": is_possible,
    }
    return render(request, f"dashboard/payments/{action}.html", shown | context)


def _perform(
    request: HttpRequest,
    membership: Membership,
    payment: Transaction,
    action: str,
    perform: Callable[[datetime], tuple[int, str]],
    *,
    after: dict[str, Any] | None = None,
    too_large: Callable[[AmountTooLarge], HttpResponse] | None = None,
) -> HttpResponse:
    """Record the action in the audit trail, perform it, and redirect to the payment with a message.

    The audit entry comes first: a request to the acquirer must be in the trail even if this process is killed while it
    waits for the response.
    """
    now = clock.now()
    audit.record(
        action=f"payment.{action}_asked",
        actor=person_acting(request),
        business=membership.business,
        target=payment.reference,
        after=after,
        now=now,
    )
    try:
        level, text = perform(now)
    except AmountTooLarge as refusal:
        if too_large is not None:
            return too_large(refusal)
        level, text = messages.ERROR, str(refusal.detail)
    except NotSupported as refusal:
        level, text = messages.ERROR, refusal.sentences
    except Problem as refusal:
        level, text = messages.ERROR, str(refusal.detail)
    messages.add_message(request, level, text)
    return redirect(address_of(payment))


def _limit_message(refusal: AmountTooLarge, form: AmountForm) -> str:
    return form.limit_message(refusal.limit) if refusal.limit else str(refusal.detail)


def _capture_message(payment: Transaction, currency: str) -> tuple[int, str]:
    if payment.status == Transaction.Status.SUCCESS:
        return messages.SUCCESS, f"Captured {money(payment.amount_captured, currency)}."
    if payment.refused_operation is not None:
        return messages.ERROR, str(OperationRefused.default_detail)
    return (
        messages.WARNING,
        "The acquirer hasn't responded yet. The capture's status is checked until it is known.",
    )


def _void_message(payment: Transaction) -> tuple[int, str]:
    if payment.status == Transaction.Status.FAILED:
        return messages.SUCCESS, "The authorisation was released. Nothing was charged."
    if payment.refused_operation is not None:
        return messages.ERROR, str(OperationRefused.default_detail)
    return (
        messages.WARNING,
        "The acquirer hasn't responded yet. The void's status is checked until it is known.",
    )


def _cancellation_message(payment: Transaction) -> tuple[int, str]:
    return messages.SUCCESS, f"{payment.reference} was cancelled. Nothing was charged."


def _refund_message(refund: CardOperation, currency: str) -> tuple[int, str]:
    amount = money(refund.amount, currency)
    if refund.status == CardOperation.Status.SUCCESS:
        return messages.SUCCESS, f"Refunded {amount}."
    if refund.status == CardOperation.Status.FAILED:
        return messages.ERROR, f"The refund of {amount} failed: {refund.outcome_text}."
    rail = "bank" if refund.is_transfer_refund else "acquirer"
    return (
        messages.WARNING,
        f"The {rail} hasn't responded yet. The refund's status is checked until it is known.",
    )
