"""Payment links, checkouts there, and attempts to pay them, for tests of what comes after."""

from django.utils import timezone

from payments.models import PaymentLink
from payments.rules.cards import Card, CardSecret, brand_of
from payments.services.checkouts import checkouts
from payments.services.checkouts.checkouts import Details
from tests import orders
from tests.orders import FRICTIONLESS_CARD

NETWORK = "192.0.2.1"


def make_link(api, **changes):
    """Create a link through the API."""
    answer = api.post("/api/payment-links", orders.payment_link(**changes))
    assert answer.status_code == 201, answer.json()
    return PaymentLink.objects.select_related("business").get(pk=answer.json()["id"])


def begin(link, **changes):
    """Begin a checkout at a link."""
    given = {"amount": link.amount or link.amount_min, "quantity": 1, "method": "card", "name": "Ada Obi"}
    details = Details(**given | {"email": "ada@example.com"} | changes)
    return checkouts.begin(link=link, details=details, address=NETWORK, network=NETWORK, now=timezone.now())


def pay_by_card(checkout, number=FRICTIONLESS_CARD, *, attempt=0):
    """Pay a checkout by card. `attempt` is the number of the attempts before."""
    card = Card(
        secret=CardSecret(number=number, cvv="408"), brand=brand_of(number), bin=number[:6], last4=number[-4:],
        name="Ada Obi", expiry_month="12", expiry_year="2035", billing_address={},
    )  # fmt: skip
    return checkouts.pay_by_card(checkout=checkout, card=card, attempt_number=attempt, now=timezone.now())


def pay_by_transfer(checkout, *, attempt=0):
    """Begin to pay a checkout by transfer."""
    return checkouts.pay_by_transfer(checkout=checkout, attempt_number=attempt, now=timezone.now())
