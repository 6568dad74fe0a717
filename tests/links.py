"""Payment links, created by the service."""

from datetime import datetime
from typing import Any

from kit.api.strict_fields import read_request
from merchants.audit import Actor
from merchants.models import Business
from payments.link_serializers import LinkSerializer
from payments.models import PaymentLink
from payments.services import links
from tests import orders

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
