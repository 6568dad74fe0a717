"""3-D Secure through the whole service: from our page to the issuer's, and back."""

from datetime import timedelta
from urllib.parse import urlsplit

import pytest
from django.core.management import call_command
from django.test import Client as Browser

from connectors.services import event_processing
from payments.models import WatchedAuthorisation
from payments.services.rails.requery import requery_due
from payments.tasks import expire_due, look_at_watches
from tests import orders
from tests.connectors.checkout.connecting import GOOD_CARD, books, requery
from tests.payers import AGENT
from tests.payers import Payer as LinkPayer

PAYMENTS = "/api/payments"
THREE_DS = {"enabled": True, "challenge_preference": "no_preference"}


class Payer:
    """A payer's browser, and the simulated issuer's page."""

    def __init__(self, issuer):
        self.issuer, self.browser = issuer, Browser(headers={"User-Agent": AGENT})

    def follow(self, payment):
        """Follow our link, which leads to the issuer."""
        self.path = urlsplit(payment["redirect_link"]).path
        answer = self.browser.get(self.path)
        assert answer.status_code == 303
        self.page = answer.headers["Location"]

    def answer(self, result):
        """Answer the issuer, and return the address that it leads back to."""
        there = self.issuer.payer(self.page, result=result, password="Checkout1!")
        return urlsplit(there.headers["Location"])

    def come_back(self, address):
        return self.browser.get(f"{address.path}?{address.query}")


@pytest.fixture
def payer(client):
    return Payer(client)


@pytest.fixture
def payment(pay, payer):
    """Return a payment whose payer is at the issuer's page."""
    started = pay(**{"3ds": THREE_DS}).json()
    assert started["status"] == "pending"
    payer.follow(started)
    return started


def outcome(api, payment):
    found = api.get(f"{PAYMENTS}/{payment['reference']}").json()
    return found["status"], found["response_code"], found.get("gateway_code", "")


def let_pass(pass_time, *minutes):
    for each in minutes:
        pass_time(each * 60)
        expire_due()
        requery()


@pytest.mark.parametrize(
    ("result", "expected"),
    [("approve", ("success", "10000", "10000")), ("decline", ("failed", "20151", "20151"))],
)
def test_answer_of_the_payer_decides(api, payment, payer, result, expected):
    shown = payer.come_back(payer.answer(result))

    assert outcome(api, payment) == expected
    assert shown.status_code < 400


def test_return_without_an_answer_proves_nothing(api, payment, payer, simulator):
    """The payer can call the address of the return with any parameters."""
    [session] = simulator.account.sessions

    payer.browser.get(f"{payer.path}/return?cko-session-id={session}&status=success")

    assert outcome(api, payment)[0] == "pending"


def test_payer_who_never_comes_back_is_found_by_the_query(api, payment, payer, pass_time):
    payer.answer("approve")

    let_pass(pass_time, 15, 1)

    assert outcome(api, payment) == ("success", "10000", "10000")


def test_challenge_that_ends_there_fails_here(api, payment, pass_time):
    let_pass(pass_time, 15, 1)

    assert outcome(api, payment) == ("failed", "20151", "20152")


def test_late_approval_of_a_challenge_that_was_given_up_is_taken_back(
    api, payment, payer, simulator, pass_time
):
    simulator.account.variants.change({"abandoned_challenge": "pending"})
    [waiting] = simulator.account.payments.values()
    waiting.challenge_ends += timedelta(days=1)
    let_pass(pass_time, 15, 1, 5, 15)
    assert outcome(api, payment)[:2] == ("failed", "20030")

    payer.answer("approve")
    for _ in range(4):
        pass_time(30 * 60)
        look_at_watches()

    theirs = books(simulator)
    assert theirs["reserved"] == theirs["charged"] - theirs["refunded"] == 0
    assert theirs["charged"] > 0
    call_command("check_ledger")


def test_payer_who_came_back_without_an_answer_fails_after_half_an_hour_and_is_watched(
    api, payment, payer, simulator, pass_time
):
    simulator.account.variants.change({"abandoned_challenge": "pending"})
    payer.browser.get(f"{payer.path}/return")

    let_pass(pass_time, 15, 14)
    assert outcome(api, payment)[0] == "pending"
    let_pass(pass_time, 1)

    assert outcome(api, payment)[:2] == ("failed", "20030")
    assert WatchedAuthorisation.objects.get().is_open


def test_payer_of_a_payment_link_goes_to_the_issuer_and_comes_back_to_the_receipt(
    api, transport, client, settings
):
    settings.PROXIES_IN_FRONT = 1
    link = api.post("/api/payment-links", orders.payment_link()).json()
    visitor = LinkPayer("192.0.2.1")
    checkout = visitor.begin(link["url"])

    ours = visitor.pay_by_card(checkout, GOOD_CARD)
    issuers = visitor.get(urlsplit(ours.headers["Location"]).path)
    there = client.payer(issuers.headers["Location"], result="approve", password="Checkout1!")
    address = urlsplit(there.headers["Location"])
    visitor.get(f"{address.path}?{address.query}")

    assert visitor.state(checkout) == "paid"
    assert transport.sent[0][2]["3ds"]["enabled"] is True


class TestAWebhook:
    """Of a payment that is left to its payer."""

    @pytest.fixture
    def deliver(self, settings, simulator, inbox):
        """Return a function that delivers what the simulator has to tell, and processes it."""
        settings.CHECKOUT_WEBHOOK_KEYS = ["webhook-key"]

        def deliver():
            simulator.deliver()
            for _, headers, body in inbox.received:
                sent = {name: value for name, value in headers.items() if name != "Content-Type"}
                answer = Browser().post(
                    "/connectors/checkout", body, content_type="application/json", headers=sent
                )
                assert answer.status_code == 200
            inbox.received.clear()
            event_processing.process_due()
            list(requery_due())

        return deliver

    def test_ends_it_if_the_payer_does_not_come_back(self, api, payment, payer, deliver):
        deliver()
        payer.answer("approve")

        deliver()

        assert outcome(api, payment)[:2] == ("success", "10000")

    def test_that_only_says_that_the_payer_was_asked_leaves_it_to_the_payer(
        self, api, payment, payer, deliver
    ):
        deliver()

        assert outcome(api, payment)[:2] == ("pending", "10001")
        assert payer.browser.get(payer.path).status_code == 303
