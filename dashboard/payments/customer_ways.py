"""How a customer has paid: the cards and the senders' accounts of the payments, with how often each one worked."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

from django.http import QueryDict
from django.urls import reverse

from dashboard.transactions.detail.related import account_link, link_link
from dashboard.ui.addresses import encoded
from dashboard.ui.components.related import RelatedObject
from kit import banks
from payments.models import Transaction
from payments.rules.cards import brand_name

MOST = 5  # of each kind


def ways_of(payments: Sequence[Transaction]) -> list[RelatedObject]:
    """Return the cards and accounts of payments, newest first."""
    found: dict[tuple[str, str, str], list[Transaction]] = defaultdict(list)
    for payment in payments:
        if way := _way(payment):
            found[way].append(payment)
    return [_described(way, paid_with) for way, paid_with in list(found.items())[:MOST]]


def related_of(payments: Sequence[Transaction]) -> list[RelatedObject]:
    """Return the payment links and virtual accounts of payments, newest first."""
    links = {each.payment_link_id: each.payment_link for each in payments if each.payment_link}
    accounts = {each.session.account_id: each.session for each in payments if each.session}
    return [
        *(link_link(each) for each in list(links.values())[:MOST]),
        *(account_link(each) for each in list(accounts.values())[:MOST]),
    ]


def _way(payment: Transaction) -> tuple[str, str, str] | None:
    """Return icon, name and what a search finds a card or account by; None if it isn't known."""
    if payment.card_last4:
        name = f"{brand_name(payment.card_brand)} •••• {payment.card_last4}"
        return "credit-card", name, payment.card_last4
    transfer = getattr(payment.session, "transfer", None)
    number = transfer.sender_account_number if transfer else ""
    if transfer is None or not number:
        return None
    bank = banks.name_of(transfer.sender_bank_code) or "Account"
    return "building-library", f"{bank} •••• {number[-4:]}", number


def _described(way: tuple[str, str, str], payments: Iterable[Transaction]) -> RelatedObject:
    icon, name, search = way
    tried = list(payments)
    paid = sum(each.status == Transaction.Status.SUCCESS for each in tried)
    newest = tried[0]
    facts = [f"{paid} of {len(tried)} succeeded"]
    if newest.card_last4 and newest.card_expiry_month:
        facts.insert(0, f"Expires {newest.card_expiry_month}/{newest.card_expiry_year[-2:]}")
    query = QueryDict(mutable=True)
    query["q"] = search
    return RelatedObject(
        icon=icon,
        name=name,
        text=" · ".join(facts),
        address=f"{reverse('dashboard-payments')}?{encoded(query)}",
    )
