"""The page of one payment or payout."""

from uuid import UUID

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse

from dashboard.memberships import Membership, members_action, members_page
from dashboard.transactions.detail.detail import detail_of, find
from dashboard.transactions.notes import NoteForm, add_note
from kit.db import clock
from merchants.people.access import HARMLESS
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import Transaction


def own_transaction(membership: Membership, transaction_id: UUID) -> Transaction:
    """Return the business's transaction.

    :raises Http404: there is none, or it is another business's
    """
    transaction = find(membership.business, transaction_id)
    if transaction is None:
        raise Http404
    return transaction


def address_of(transaction: Transaction) -> str:
    is_payout = transaction.request_type == Transaction.RequestType.PAYOUT
    return reverse("dashboard-payout" if is_payout else "dashboard-payment", args=[transaction.pk])


@members_page
def detail_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Show a transaction. The URL of a payment redirects to the payout that has its ID, and the reverse.

    :raises Http404: there is none, or it is another business's
    """
    transaction = own_transaction(membership, transaction_id)
    if request.path != address_of(transaction):
        return redirect(address_of(transaction))
    return _detail(request, membership, transaction, note_form=NoteForm())


def _detail(
    request: HttpRequest, membership: Membership, transaction: Transaction, *, note_form: NoteForm
) -> HttpResponse:
    context = {
        "note_form": note_form,
        "membership": membership,
        "detail": detail_of(transaction, membership=membership),
        "payment": transaction,
    }
    return render(request, "dashboard/transactions/detail.html", context)


@members_action("add a note", may=Permission.ADD_NOTES, never_asks=HARMLESS)
def add_note_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Add a note to a payment, payout or card check."""
    transaction = own_transaction(membership, transaction_id)
    form = NoteForm(request.POST)
    if not form.is_valid():
        return _detail(request, membership, transaction, note_form=form)
    add_note(
        transaction,
        text=form.cleaned_data["text"],
        author=membership.member.user,
        membership=membership,
        actor=person_acting(request),
        now=clock.now(),
    )
    messages.success(request, "Note added.")
    return redirect(address_of(transaction))
