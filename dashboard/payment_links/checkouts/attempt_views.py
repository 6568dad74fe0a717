"""The transfer attempts that wait for their payers, and ending one, so that its use is free again."""

from __future__ import annotations

from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render

from dashboard.memberships import Membership, members_form, members_page
from dashboard.payment_links.detail.link_detail import waiting_at
from dashboard.payment_links.lookup import own_link
from dashboard.transactions.detail.detail import is_cancellable
from dashboard.ui.lists.bounded_totals import count_each
from dashboard.ui.lists.pagination import page_of
from kit.db import clock
from kit.text.plurals import counted
from merchants.people.request_actors import person_acting
from merchants.people.roles import Permission
from payments.models import InvalidState, PaymentLink, Transaction
from payments.services.checkouts import checkouts

SIZE = 20


@members_page
def waiting_page(request: HttpRequest, membership: Membership, link_id: UUID) -> HttpResponse:
    """Show all transfers that hold a use of a link, newest first."""
    link, now = own_link(membership, link_id), clock.now()
    found = [waiting_at(link, now=now)]
    page, count = page_of(found, request.GET, size=SIZE), count_each({"all": found})["all"]
    context = {
        "membership": membership,
        "link": link,
        "page": page,
        "total": counted(count.number, "transfer") if count.is_exact else f"{count} transfers",
    }
    return render(request, "dashboard/payment_links/waiting.html", context)


@members_form("end a payer's transfer attempt", may=Permission.MANAGE_LINKS)
def end_attempt_page(
    request: HttpRequest, membership: Membership, link_id: UUID, payment_id: UUID
) -> HttpResponse:
    """Explain that the money may be on its way, and end the attempt.

    :raises Http404: the business's link has no such payment
    """
    payment = _attempt(own_link(membership, link_id), payment_id)
    if request.method == "POST":
        return _end(request, payment)
    context = {
        "membership": membership,
        "link": payment.payment_link,
        "payment": payment,
        "is_possible": payment.is_transfer_payment and is_cancellable(payment),
    }
    return render(request, "dashboard/payment_links/end_attempt.html", context)


def _end(request: HttpRequest, payment: Transaction) -> HttpResponse:
    try:
        checkouts.end_transfer_attempt(payment, actor=person_acting(request), now=clock.now())
    except InvalidState as refusal:
        messages.error(request, str(refusal.detail))
    else:
        messages.success(request, "Attempt ended. Its use is free again.")
    return redirect("dashboard-payment-link", payment.payment_link_id)


def _attempt(link: PaymentLink, payment_id: UUID) -> Transaction:
    payments = Transaction.objects.filter(payment_link=link, pk=payment_id)
    payment = get_object_or_404(payments.select_related("business", "session"))
    payment.payment_link = link
    return payment
