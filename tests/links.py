"""Payment links, and payers at them."""

from datetime import datetime
from typing import Any

from django.utils import timezone

from kit.api.fields.strict_fields import read_request
from merchants.models import Business
from merchants.people.audit import Actor
from payments.api.link_serializers import LinkSerializer
from payments.models import Checkout, PaymentLink, Transaction
from payments.rules.cards import Card, CardSecret, brand_of
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkouts import Details
from payments.services.links import links
from tests import orders
from tests.orders import FRICTIONLESS_CARD

# What the form of the dashboard submits to change a link, and to create one.
CHANGED_LINK = {
    "title": "Bookbinding workshop",
    "payment_methods": "card,virtual_account",
    "transfer_window": "1800",
    "collect_name": "required",
    "collect_email": "required",
    "collect_phone": "no",
}
NEW_LINK = CHANGED_LINK | {"reference": "workshop", "price": "fixed", "currency": "NGN", "amount": "15000"}


def link_of(business: Business, *, now: datetime, **changes: Any) -> PaymentLink:
    request = read_request(LinkSerializer(), orders.payment_link(**changes), currencies=business.currencies)
    return links.create(business=business, request=request, actor=Actor(name="test"), now=now).resource


def make_link(api: Any, **changes: Any) -> PaymentLink:
    """Create a link through the API."""
    answer = api.post("/api/payment-links", orders.payment_link(**changes))
    assert answer.status_code == 201, answer.json()
    return PaymentLink.objects.select_related("business").get(pk=answer.json()["id"])


def begin(link: PaymentLink, *, network: str = "192.0.2.1", method: str = "card", **changes: Any) -> Checkout:
    """Begin a checkout. `network` is the payer's address."""
    given = {
        "amount": link.amount or link.amount_min,
        "quantity": 1,
        "method": method,
        "name": "Ada Obi",
        "email": "ada@example.com",
    }
    return checkouts.begin(
        link=link, details=Details(**given | changes), address=network, network=network, now=timezone.now()
    )


def card(number: str = FRICTIONLESS_CARD) -> Card:
    secret = CardSecret(number=number, cvv="408")
    return Card(
        secret=secret, brand=brand_of(number), bin=number[:6], last4=number[-4:], name="Ada Obi", expiry_month="12",
        expiry_year="2035", billing_address={},
    )  # fmt: skip


def pay_by_card(checkout: Checkout, number: str = FRICTIONLESS_CARD, *, attempt: int = 0) -> Transaction:
    """Pay a checkout by card. `attempt` is the number of the attempts before."""
    return checkouts.pay_by_card(
        checkout=checkout, card=card(number), attempt_number=attempt, now=timezone.now()
    )


def pay_by_transfer(checkout: Checkout, *, attempt: int = 0) -> Transaction:
    return checkouts.pay_by_transfer(checkout=checkout, attempt_number=attempt, now=timezone.now())
