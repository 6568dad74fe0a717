"""The page of a customer: what one payer did, by the merchant's customer reference or else by e-mail address."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django import forms
from django.db.models import Q
from django.http import HttpRequest, HttpResponse, QueryDict
from django.shortcuts import render
from django.urls import reverse

from dashboard.memberships import Membership, members_page
from dashboard.payments.customer_activity import activity_of
from dashboard.payments.customer_ways import related_of, ways_of
from dashboard.search.objects import KIND_OF
from dashboard.search.queries import ids_for_list
from dashboard.ui.addresses import encoded
from dashboard.ui.lists.bounded_totals import Count
from kit.money.form_fields import PastedField
from kit.money.money import money
from merchants.models import Business
from payments.models import Transaction

MOST, MOST_NAMES = 100, 3
Status = Transaction.Status


class CustomerForm(forms.Form):
    """Which customer. The reference takes precedence."""

    reference = PastedField(required=False, max_length=100)
    email = PastedField(required=False, max_length=254)


@members_page
def customer_page(request: HttpRequest, membership: Membership) -> HttpResponse:
    """Show what one customer did, newest first, with totals and what needs a decision."""
    form = CustomerForm(request.GET)
    wanted = form.cleaned_data if form.is_valid() else {}
    found = _payments_of(membership.business, **wanted)
    shown = found[:MOST]
    customer = next((each for each in shown if each.customer_name), shown[0] if shown else None)
    context = {
        "membership": membership,
        "payments": shown,
        "has_more": len(found) > MOST,
        "customer": customer,
        "activity": activity_of(shown, query=request.GET) if shown else None,
        "other_names": _other_names(shown, customer),
        "others": _others_with_email(membership.business, customer)
        if customer and wanted.get("reference")
        else None,
        "paid": _sums((each.currency, each.amount_collected) for each in shown if each.amount_collected),
        "refunded": _sums((each.currency, each.amount_refunded) for each in shown if each.amount_refunded),
        "succeeded": sum(each.status == Status.SUCCESS for each in shown),
        "failed": sum(each.status == Status.FAILED for each in shown),
        "ways": ways_of(shown),
        "related": related_of(shown),
    }
    return render(request, "dashboard/payments/customer.html", context)


def _payments_of(business: Business, *, reference: str = "", email: str = "") -> list[Transaction]:
    """Return a customer's payments, newest first: as many as are shown, and one more."""
    mine = Transaction.objects.of(business).filter(request_type=Transaction.RequestType.PAYMENT)
    if reference:
        indexed = ids_for_list(business, reference, kinds=set(KIND_OF.values()))
        mine = mine.filter(pk__in=indexed, customer_reference=reference)
    elif email:
        # As in the partial index, which leaves out empty addresses.
        mine = mine.filter(~Q(customer_email=""), customer_email__iexact=email)
    else:
        return []
    return list(
        mine.select_related("session__transfer", "session__account", "payment_link").order_by("-id")[
            : MOST + 1
        ]
    )


@dataclass(frozen=True, slots=True)
class Others:
    """Payments with a customer's email address but not with the reference, and the page that has them too."""

    count: Count
    address: str


def _others_with_email(business: Business, customer: Transaction) -> Others | None:
    """Return how many of the newest payments with a customer's email have another reference or none."""
    email = customer.customer_email
    newest = _payments_of(business, email=email) if email else []
    number = sum(each.customer_reference != customer.customer_reference for each in newest)
    query = QueryDict(mutable=True)
    query["email"] = email
    address = f"{reverse('dashboard-customer')}?{encoded(query)}"
    return Others(Count(number, is_exact=len(newest) <= MOST), address) if number else None


def _other_names(payments: Sequence[Transaction], customer: Transaction | None) -> list[str]:
    """Return the names of a customer's payments other than the one that the page is titled with, newest first."""
    names = dict.fromkeys(each.customer_name for each in payments if each.customer_name)
    shown = customer.customer_name if customer else ""
    return [name for name in names if name.casefold() != shown.casefold()][:MOST_NAMES]


def _sums(amounts: Iterable[tuple[str, int]]) -> str:
    """Return the sum in each currency.

    >>> _sums([("NGN", 100), ("USD", 5), ("NGN", 50)]), _sums([])
    ('NGN 1.50, USD 0.05', '')
    """
    totals: Counter[str] = Counter()
    for currency, amount in amounts:
        totals[currency] += amount
    return ", ".join(money(total, currency) for currency, total in sorted(totals.items()))
