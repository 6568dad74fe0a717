"""A payer at a payment link whose card is entered on Checkout.com's page."""

from urllib.parse import urlsplit

from payments.models import Transaction
from tests import orders
from tests.connectors.checkout.connecting import GOOD_CARD
from tests.payers import Payer

DECLINED_CARD = "4544249167673670"
FORM = {"expiry": "12/30", "cvv": "100", "name": "Ada Obi", "result": "pay"}


class Shop:
    """A payer at a payment link, and Checkout.com's page."""

    def __init__(self, api, client, simulator):
        self.api, self.client, self.simulator = api, client, simulator
        self.payer = Payer("192.0.2.1")
        link = api.post("/api/payment-links", orders.payment_link(amount=50_000)).json()
        self.checkout = self.payer.begin(link["url"])

    def go(self, *, attempt=0):
        answer = self.payer.post(f"{self.checkout}/card", {"attempt": str(attempt)})
        there = self.payer.get(urlsplit(answer.headers["Location"]).path)
        assert there.status_code == 303
        return there.headers["Location"]

    def enter(self, page, number=GOOD_CARD):
        """Enter a card, and return where its bank or the page leads to: nowhere, if it has expired."""
        answer = self.client.payer(page, number=number, **FORM)
        address = answer.headers.get("Location", "")
        if "/3ds/" in address and urlsplit(address).netloc == urlsplit(page).netloc:
            answer = self.client.payer(address, result="approve", password="Checkout1!")
            address = answer.headers.get("Location", "")
        return address

    def come_back(self, address):
        parts = urlsplit(address)
        answer = self.payer.get(f"{parts.path}?{parts.query}")
        assert answer.status_code == 303, answer.content
        return urlsplit(answer.headers["Location"]).path

    @property
    def payment(self):
        return Transaction.objects.order_by("pk").last()

    def outcome(self):
        return self.payment.status, self.payment.response_code

    def kept(self):
        """Return what Checkout.com has charged or reserved, and not given back."""
        theirs = self.simulator.books()["payments"].values()
        return sum(each["reserved"] + each["charged"] - each["refunded"] for each in theirs)
