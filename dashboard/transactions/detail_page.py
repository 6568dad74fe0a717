"""The page of one payment or payout."""

from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.views.decorators.http import require_safe

from dashboard.memberships import Membership, members_only
from dashboard.transactions.detail import detail_of, find
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


@require_safe
@members_only
def detail_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    """Show a transaction. The URL of a payment redirects to the payout that has its ID, and the reverse.

    :raises Http404: there is none, or it is another business's
    """
    transaction = own_transaction(membership, transaction_id)
    if request.path != address_of(transaction):
        return redirect(address_of(transaction))
    context = {
        "membership": membership,
        "detail": detail_of(transaction, membership=membership),
        "payment": transaction,
    }
    return render(request, "dashboard/transactions/detail.html", context)
