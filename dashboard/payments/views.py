"""The list of payments, its export, and the page of one payment."""

from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.views.decorators.http import require_safe

from dashboard.access import Membership, members_only
from dashboard.payments.filters import PaymentFilter
from dashboard.transactions.detail_page import detail_page
from dashboard.transactions.lists import TransactionList, export, list_page

PAYMENTS = TransactionList(
    name="payments",
    filter=PaymentFilter,
    page="dashboard-payments",
    template="dashboard/payments/payments.html",
)


@require_safe
@members_only
def payments_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    return list_page(request, membership, PAYMENTS)


@require_safe
@members_only
def payments_export(request: HttpRequest, membership: Membership) -> HttpResponseBase:
    return export(request, membership, PAYMENTS)


@require_safe
@members_only
def payment_page(request: HttpRequest, membership: Membership, transaction_id: UUID) -> HttpResponse:
    return detail_page(request, membership, transaction_id)
