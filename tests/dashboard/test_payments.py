"""Actions on a payment: capture, void, cancel, refund."""

import re
from html import unescape

import pytest

from dashboard.tasks import index_search
from merchants.models import AuditEntry
from payments.models import CardOperation, Transaction
from payments.services.refunds import refunds
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start

pytestmark = pytest.mark.django_db

PAYMENTS = "/dashboard/payments/"


class TestActions:
    def test_capture_a_part_and_write_an_audit_entry(self, browser, ada, now):
        payment = authorised_payment(business=ada.business, now=now)

        answer = browser.post(f"{PAYMENTS}{payment.pk}/capture/", {"amount": "123.45"}, follow=True)

        payment.refresh_from_db()
        assert (payment.status, payment.amount_captured) == ("success", 12_345)
        assert "Captured NGN 123.45." in answer.content.decode()
        entry = AuditEntry.objects.get(action="payment.capture_asked")
        assert (entry.actor, entry.after) == ("ada@example.com", {"amount": 12_345, "currency": "NGN"})

    def test_capture_of_a_part_is_said_in_lists(self, browser, ada, now):
        customer = {"reference": "cus-1", "name": "Ada Obi", "email": "ada@example.com"}
        payment = authorised_payment(business=ada.business, now=now, customer=customer)
        browser.post(f"{PAYMENTS}{payment.pk}/capture/", {"amount": "123.45"})
        index_search()
        lists = (PAYMENTS, f"{PAYMENTS}customer/?reference=cus-1")

        for address in lists:
            assert "NGN 123.45 captured" in browser.get(address).content.decode()
        payment.refresh_from_db()
        refunds.refund(transaction=payment, request={"reference": "part", "amount": 45}, now=now)
        for address in lists:
            assert "NGN 123.45 captured, NGN 0.45 refunded" in browser.get(address).content.decode()
        refunds.refund(transaction=payment, request={"reference": "rest"}, now=now)
        for address in lists:
            assert "NGN 123.45 captured" in browser.get(address).content.decode()
            assert "captured, " not in browser.get(address).content.decode()

    def test_void_once(self, browser, ada, now):
        payment = authorised_payment(business=ada.business, now=now)

        for _ in range(2):
            browser.post(f"{PAYMENTS}{payment.pk}/void/")

        payment.refresh_from_db()
        assert payment.response_code == "20090"

    def test_cancel_once(self, browser, ada, now):
        payment = challenged_payment(business=ada.business, now=now)
        offered = "Cancel payment" in browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

        for _ in range(2):
            answer = browser.post(f"{PAYMENTS}{payment.pk}/cancel/", follow=True)

        payment.refresh_from_db()
        assert offered
        assert payment.response_code == "20091"
        assert "was cancelled" in answer.content.decode()
        assert f"{PAYMENTS}{payment.pk}/cancel/" not in answer.content.decode()
        assert AuditEntry.objects.filter(action="payment.cancel_asked").count() == 2

    def test_refund_once_if_the_form_is_submitted_twice(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        form = {"reference": "rf-1", "amount": "100.00", "reason": "too large", "step": "confirmed"}

        for _ in range(2):
            browser.post(f"{PAYMENTS}{payment.pk}/refund/", form)

        payment.refresh_from_db()
        assert payment.amount_refunded == 10_000
        assert CardOperation.objects.filter(reference="rf-1").count() == 1

    @pytest.mark.parametrize("amount", ["0", "-1", "1.001", "abc", "9" * 20, "1e3", "٣"])
    def test_reject_an_invalid_amount(self, browser, ada, now, amount):
        payment = captured_payment(business=ada.business, now=now)

        answer = browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-1", "amount": amount})

        assert answer.status_code == 200
        assert not CardOperation.objects.exists()

    def test_reject_more_than_the_rest(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)

        form = {"reference": "rf-1", "amount": "500.01", "reason": "too large"}
        answer = browser.post(f"{PAYMENTS}{payment.pk}/refund/", form)

        page = answer.content.decode()
        assert answer.status_code == 200
        assert "You can refund up to NGN 500.00." in page
        assert 'value="500.01"' in page
        assert 'value="too large"' in page
        assert 'aria-invalid="true"' in page

    def test_review_a_refund_before_it_is_sent(self, browser, ada, now):
        customer = {"name": "Bola Ade", "email": "bola@mail.example", "reference": "c-1"}
        payment = captured_payment(business=ada.business, now=now, customer=customer)
        address = f"{PAYMENTS}{payment.pk}/refund/"
        form = {"reference": "rf-1", "amount": "", "reason": "too large"}

        first = browser.get(address).content.decode()
        review = browser.post(address, form).content.decode()
        changed = browser.post(address, form | {"step": "change"}).content.decode()

        assert "Refund NGN 500.00?" in review
        for page in (first, review):
            assert "<bdi>Bola Ade</bdi><small><bdi>bola@mail.example</bdi></small>" in page
        assert "Refund NGN 500.00</button>" in review
        assert "Review refund</button>" in changed
        assert not CardOperation.objects.exists()

    def test_keep_the_form_if_the_refund_is_refused_when_it_is_confirmed(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        address = f"{PAYMENTS}{payment.pk}/refund/"
        confirmed = {"amount": "300.00", "step": "confirmed"}
        browser.post(address, {"reference": "rf-1"} | confirmed)

        answer = browser.post(address, {"reference": "rf-2"} | confirmed)

        assert "You can refund up to NGN 200.00." in answer.content.decode()
        assert CardOperation.objects.count() == 1


def paid_by_transfer(ada, **sender):
    """Return a successful transfer payment of 50,000."""
    money = {"account_number": ..., "amount": 50_000} | sender
    api = InProcessClient(Credentials(ada.public_id, ada.secret))
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
    made = api.post("/api/payments", orders.transfer_payment(account)).json()
    money["account_number"] = made["virtual_account_details"]["account_number"]
    api.post("/api/virtual-accounts/simulate", money)
    return Transaction.objects.get(pk=made["id"])


@pytest.mark.parametrize(
    ("amount", "text", "status"),
    [
        (50_000, "NGN 500.00 received from Bisi Ade", "Succeeded"),
        (40_000, "Received NGN 400.00 instead of NGN 500.00", "Mismatch"),
    ],
)
def test_page_of_a_transfer_payment_names_its_outcome(browser, ada, amount, text, status):
    payment = paid_by_transfer(ada, amount=amount, sender_name="Bisi Ade")

    page = browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

    assert page.count(text) == 2  # in the timeline and the details
    assert f">{status}</span>" in page
    assert "Bank transfer from" in page


class TestRefundOfATransferPayment:
    SENDER = {"sender_name": "Bisi Ade", "sender_account_number": "0123456789", "sender_bank_code": "058"}
    TO = {"name": "Bisi Ade", "account_number": "0123456789", "bank_code": "058"}

    def test_goes_to_the_sender_without_asking_for_the_account(self, browser, ada):
        payment = paid_by_transfer(ada, **self.SENDER)
        address = f"{PAYMENTS}{payment.pk}/refund/"
        asked = browser.get(address).content.decode()

        answer = browser.post(
            address, {"reference": "rf-1", "amount": "200.00", "step": "confirmed"}, follow=True
        )

        assert "Bisi Ade</bdi>, account" in asked
        assert "Guaranty Trust Bank" in asked
        assert 'name="account_number"' not in asked
        assert "Refunded NGN 200.00." in answer.content.decode()
        assert CardOperation.objects.get().destination_account_number == "0123456789"

    def test_asks_for_the_account_of_an_unknown_sender(self, browser, ada):
        payment = paid_by_transfer(ada)
        address = f"{PAYMENTS}{payment.pk}/refund/"

        asked = browser.get(address).content.decode()
        without = browser.post(address, {"reference": "rf-1"})
        wrong = browser.post(address, {"reference": "rf-1"} | self.TO | {"account_number": "12"})
        confirmed = {"reference": "rf-1", "step": "confirmed"} | self.TO
        answer = browser.post(address, confirmed, follow=True)

        assert 'name="account_number"' in asked
        assert without.status_code == wrong.status_code == 200
        assert "Enter exactly 10 digits." in wrong.content.decode()
        assert "Refunded NGN 500.00." in answer.content.decode()
        assert CardOperation.objects.count() == 1

    def test_is_shown_with_its_destination(self, browser, ada):
        payment = paid_by_transfer(ada, **self.SENDER | {"sender_account_number": "0000000097"})
        confirmed = {"reference": "rf-1", "amount": "1", "step": "confirmed"}
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", confirmed)

        shown = browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

        assert "Bisi Ade, 0000000097, Guaranty Trust Bank" in shown
        assert "next query to the bank" in shown
        assert "NGN 1.00 pending" in shown


def test_list_has_a_tab_of_mismatches_and_says_how_much_was_wrong(browser, ada):
    short, long = (
        paid_by_transfer(ada, amount=amount, sender_name="Bisi Ade") for amount in (40_000, 50_100)
    )
    paid_by_transfer(ada, sender_name="Bisi Ade")

    answer = browser.get(PAYMENTS, {"status": "mismatch"})

    assert {row.pk for row in answer.context["page"].rows} == {short.pk, long.pk}
    page = answer.content.decode()
    assert "NGN 100.00 too little" in page
    assert "NGN 1.00 too much" in page


@pytest.mark.parametrize(
    ("amount", "texts"),
    [
        (150_051, ["there isn't enough money on the card", "Trying again helps when there is money"]),
        (150_041, ["The card was reported lost.", "Trying this card again does not help."]),
    ],
)
def test_failed_payment_says_where_the_cause_is_and_offers_a_new_link(browser, ada, now, amount, texts):
    payment = start(orders.card_payment(amount=amount), business=ada.business, now=now)

    page = unescape(browser.get(f"{PAYMENTS}{payment.pk}/").content.decode())

    assert all(text in page for text in texts)
    address = re.search(r'href="([^"]+instead_of=[^"]+)"', page)[1]
    proposed = browser.get(address).context["form"]
    assert (proposed["amount"].value(), proposed["currency"].value()) == (f"1500.{amount % 100}", "NGN")
    assert proposed["title"].value() == f"Payment {payment.reference}"


def test_new_link_proposes_nothing_of_another_business(browser, bisi, now):
    payment = start(orders.card_payment(), business=bisi.business, now=now)

    form = browser.get(f"/dashboard/payment-links/new/?for=one&instead_of={payment.pk}").context["form"]

    assert not form["title"].value()
