"""The payer's page of a payment into a virtual account."""

from datetime import timedelta
from uuid import uuid4

import pytest
from django.test import Client
from django.utils import timezone

from kit.banks import groups
from merchants.models import Business
from tests import orders
from virtual_accounts.models import Session

pytestmark = pytest.mark.django_db
ACCOUNTS = "/api/virtual-accounts"


@pytest.fixture
def payer():
    return Client(raise_request_exception=False)


@pytest.fixture
def payment(api):
    account = api.post(ACCOUNTS, orders.dynamic_account(first_name="Chidi", last_name="Eze")).json()
    order = orders.transfer_payment(account["id"], amount=123_456, reference="order-7")
    return api.post("/api/payments", order).json()


def transfer(api, payment, amount):
    number = payment["virtual_account_details"]["account_number"]
    return api.post(f"{ACCOUNTS}/simulate", {"account_number": number, "amount": amount})


def shown(payer, payment):
    answer = payer.get(f"/pay/{payment['id']}")
    assert answer.status_code == 200
    return answer.content.decode()


class TestWhilePaymentIsAwaited:
    def test_shows_account_and_amount(self, payer, payment):
        page = shown(payer, payment)

        assert "Ada Books" in page
        assert "NGN 1,234.56" in page
        assert "Chidi Eze" in page
        assert payment["virtual_account_details"]["bank"] in page
        number = payment["virtual_account_details"]["account_number"]
        assert f'data-copy="{number}"' in page
        assert all(f'<span class="slip__group">{group}</span>' in page for group in groups(number))
        assert 'data-payment="open"' in page

    def test_counts_down_from_the_servers_clock(self, payer, payment):
        Session.objects.update(expires_at=timezone.now() + timedelta(seconds=90))

        page = shown(payer, payment)

        assert any(f'data-seconds-left="{seconds}"' in page for seconds in (89, 90))

    def test_address_is_sent_to_no_other_site_and_not_cached(self, payer, payment):
        answer = payer.get(f"/pay/{payment['id']}")

        assert answer["Referrer-Policy"] == "no-referrer"
        assert "no-store" in answer["Cache-Control"]

    def test_warns_after_the_deadline_even_before_expiry(self, payer, payment):
        Session.objects.update(expires_at=timezone.now() - timedelta(seconds=1))

        page = shown(payer, payment)

        assert "The time to pay is over" in page
        assert payment["virtual_account_details"]["account_number"] not in page
        assert (
            'data-payment="pending"' in page
        )  # keeps polling, because the money may have arrived in the last second


class TestAfterwards:
    def test_shows_that_the_money_has_arrived(self, payer, payment, api):
        transfer(api, payment, 123_456)

        page = shown(payer, payment)

        assert "Payment received" in page
        assert "transfer.js" not in page
        assert ">Look again</a>" in page

    def test_shows_that_another_amount_arrived(self, payer, payment, api):
        transfer(api, payment, 100_000)

        page = shown(payer, payment)

        assert "Another amount arrived" in page
        assert "NGN 1,000.00" in page

    def test_shows_that_the_account_was_closed(self, payer, api):
        account = api.post(ACCOUNTS, orders.static_account()).json()
        payment = api.post("/api/payments", orders.transfer_payment(account["id"])).json()
        api.post(f"{ACCOUNTS}/{account['reference']}/deactivate")

        assert "This payment was cancelled" in shown(payer, payment)

    @pytest.mark.parametrize("contact", ["help@ada.example", ""])
    def test_leads_to_the_merchant_or_back_to_the_page(self, payer, payment, api, ada, contact):
        Business.objects.filter(pk=ada.business_id).update(support_email=contact)
        transfer(api, payment, 100_000)

        way_out = f"mailto:{contact}" if contact else f"/pay/{payment['id']}"
        assert f'<a class="pay__button pay__button--plain" href="{way_out}">' in shown(payer, payment)


class TestUnknownPayment:
    def test_is_not_found(self, payer, db):
        assert payer.get(f"/pay/{uuid4()}").status_code == 404

    def test_of_a_card_payment_is_not_found_either(self, payer, api):
        card = api.post("/api/payments", orders.card_payment()).json()

        assert payer.get(f"/pay/{card['id']}").status_code == 404

    def test_rejects_forms(self, payer, payment):
        assert payer.post(f"/pay/{payment['id']}").status_code == 405


class TestUntrustedText:
    def test_is_shown_as_text(self, payer, api):
        account = api.post(ACCOUNTS, orders.dynamic_account(first_name="<script>alert(1)</script>")).json()
        payment = api.post("/api/payments", orders.transfer_payment(account["id"])).json()

        page = shown(payer, payment)

        assert "<script>alert" not in page
        assert "&lt;script&gt;alert(1)" in page
