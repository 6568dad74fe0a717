"""Card payments on Checkout.com's page (`CHECKOUT_CARDS=hosted`): no card number reaches us."""

import pytest
from django.core.management import call_command
from django.test import Client as HttpClient

from connectors.services import event_processing
from payments.models import Challenge, WatchedAuthorisation
from payments.tasks import expire_due, look_at_watches
from tests.connectors import provider_webhooks
from tests.connectors.checkout.connecting import requery
from tests.connectors.checkout.shop import DECLINED_CARD, Shop


@pytest.fixture(autouse=True)
def _hosted(settings):
    settings.PROXIES_IN_FRONT, settings.CHECKOUT_CARDS = 1, "hosted"


@pytest.fixture
def shop(api, transport, client, simulator):
    yield Shop(api, client, simulator)
    call_command("check_ledger")


def let_pass(pass_time, *minutes):
    for each in minutes:
        pass_time(each * 60)
        expire_due()
        requery()
        look_at_watches()


def test_is_paid_on_their_page_and_shows_the_card(shop, transport):
    address = shop.enter(shop.go())

    assert shop.come_back(address) == shop.checkout
    shown = shop.api.get(f"/api/payments/{shop.payment.reference}").json()
    assert (shown["status"], shown["source"]["card_last4"]) == ("success", "4242")
    [body] = [sent for _, path, sent, _ in transport.sent if path == "/hosted-payments"]
    assert (body["capture"], body["3ds"]["enabled"]) == (True, True)
    assert body["billing"] == {"address": {"country": "NG"}}


def test_declined_tries_before_an_approved_one_are_normal(shop):
    page = shop.go()
    shop.enter(page, DECLINED_CARD)

    shop.come_back(shop.enter(page))

    assert shop.outcome() == ("success", "10000")
    assert shop.kept() == 50_000


def test_payer_who_cancels_there_can_go_again(shop):
    page = shop.go()
    cancelled = shop.client.payer(page, result="cancel").headers["Location"]

    assert shop.come_back(cancelled) == shop.checkout

    assert shop.payment.awaiting == "payer"
    shop.come_back(shop.enter(page))
    assert shop.outcome() == ("success", "10000")


def test_decline_counts_when_our_time_is_over_and_a_late_success_is_given_back(shop, pass_time):
    page = shop.go()
    shop.enter(page, DECLINED_CARD)
    let_pass(pass_time, 15, 1)
    assert shop.outcome()[0] == "failed"
    assert WatchedAuthorisation.objects.get().is_open

    shop.enter(page)
    let_pass(pass_time, 1, 1, 1, 10)

    assert shop.outcome()[0] == "failed"
    assert shop.kept() == 0


def test_page_that_expired_unpaid_ends_the_watch(shop, pass_time):
    shop.go()
    let_pass(pass_time, 15, 1)
    assert shop.outcome() == ("failed", "20151")

    let_pass(pass_time, 20)

    assert not WatchedAuthorisation.objects.get().is_open


def test_second_charge_of_a_page_is_given_back(shop, pass_time):
    shop.simulator.account.variants.change({"second_page_payment": "charged"})
    page = shop.go()
    shop.come_back(shop.enter(page))
    assert shop.outcome() == ("success", "10000")

    shop.enter(page)
    let_pass(pass_time, 1, 2, 2, 5)

    assert shop.outcome() == ("success", "10000")
    assert shop.kept() == 50_000


def test_each_further_charge_of_a_failed_payment_is_given_back_and_booked(shop, pass_time):
    shop.simulator.account.variants.change({"second_page_payment": "charged"})
    page = shop.go()
    let_pass(pass_time, 15, 1)
    assert shop.outcome() == ("failed", "20151")

    shop.enter(page)
    shop.enter(page)
    let_pass(pass_time, 1, 1, 2)
    assert shop.kept() == 0
    shop.enter(page, DECLINED_CARD)
    let_pass(pass_time, 2)
    shop.enter(page)
    let_pass(pass_time, 4, 1, 1)

    assert shop.outcome()[0] == "failed"
    assert shop.kept() == 0
    charges = WatchedAuthorisation.objects.exclude(returned_at=None)
    assert [each.amount for each in charges] == [50_000] * 3
    assert charges.values("acquirer_reference").distinct().count() == 3


def test_charge_that_is_announced_after_the_watch_is_given_back(shop, pass_time, settings):
    settings.CHECKOUT_WEBHOOK_KEYS = [provider_webhooks.CHECKOUT_KEY]
    shop.simulator.account.variants.change({"second_page_payment": "charged"})
    page = shop.go()
    shop.come_back(shop.enter(page))
    let_pass(pass_time, 8 * 24 * 60)
    assert not WatchedAuthorisation.objects.get().is_open

    shop.enter(page)
    second = list(shop.simulator.books()["payments"])[-1]
    event = provider_webhooks.about(shop.payment, "payment_captured", id=second)
    provider_webhooks.send(HttpClient(), provider_webhooks.CHECKOUT, event)
    for _ in range(3):
        event_processing.process_due()
        let_pass(pass_time, 1)

    assert shop.outcome() == ("success", "10000")
    assert shop.kept() == 50_000


def test_page_that_was_not_answered_is_never_shown(shop, simulator):
    simulator.plan.add("create_page: swallow")

    shop.payer.post(f"{shop.checkout}/card", {"attempt": "0"})

    assert shop.outcome() == ("failed", "20030")
    assert WatchedAuthorisation.objects.get().is_open
    assert not Challenge.objects.exists()
    shop.go(attempt=1)
