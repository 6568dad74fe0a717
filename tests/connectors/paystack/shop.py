"""A payer at a payment link whose card is entered on Paystack's page."""

from datetime import timedelta
from urllib.parse import urlencode, urlsplit

from django.db.models import F

from payments.models import Challenge, Transaction, WatchedAuthorisation
from payments.tasks import expire_due, look_at_watches
from tests import orders
from tests.connectors.hosted_machine import is_anything_unknown
from tests.connectors.paystack.client import SUCCESS
from tests.payers import Payer

AMOUNT = 50_000


class Shop:
    """A payer at a payment link, and what Paystack and we know of the payment."""

    def __init__(self, paystack):
        self.paystack, self.api = paystack, paystack.api
        self.payer = Payer("192.0.2.1")
        link = self.api.post("/api/payment-links", orders.payment_link(amount=AMOUNT)).json()
        self.checkout = self.payer.begin(link["url"])

    def go(self, *, attempt=0):
        """Go on to Paystack's page, and return its path."""
        answer = self.payer.post(f"{self.checkout}/card", {"attempt": str(attempt)})
        assert answer.status_code == 303, answer.content
        there = self.payer.get(urlsplit(answer.headers["Location"]).path)
        assert there.status_code == 303
        return urlsplit(there.headers["Location"]).path

    def enter(self, page, card=SUCCESS):
        """Enter a card on Paystack's page, and return where that leads."""
        form = {"action": "card", **card}
        return self._submit(page, form)

    def cancel(self, page):
        return self._submit(page, {"action": "cancel"})

    def _submit(self, page, form):
        answer = self.paystack.simulator.handle("POST", page, {}, urlencode(form).encode())
        return urlsplit(answer.headers.get("Location", ""))

    def come_back(self, address):
        """Come back to the return page, and go where it leads."""
        answer = self.payer.get(f"{address.path}?{address.query}")
        assert answer.status_code == 303, answer.content
        return urlsplit(answer.headers["Location"]).path

    def shown(self):
        return self.payer.get(self.checkout).content.decode()

    @property
    def payment(self):
        return Transaction.objects.order_by("pk").last()

    def outcome(self):
        return self.payment.status, self.payment.response_code

    def let_pass(self, *minutes):
        for each in minutes:
            self.paystack.pass_time(each * 60)
            past = timedelta(minutes=each)
            Transaction.objects.update(expires_at=F("expires_at") - past)
            Challenge.objects.update(created_at=F("created_at") - past, passed_at=F("passed_at") - past)
            WatchedAuthorisation.objects.update(next_look_at=F("next_look_at") - past, leased_until=None)
            expire_due()
            if is_anything_unknown():
                self.paystack.requery()
            look_at_watches()

    def charged(self):
        books = self.paystack.books()
        return sum(books["charged"].values()) - sum(books["refunded"].values())
