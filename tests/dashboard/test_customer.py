"""The page of a customer shows everything that one payer did, and nothing of others."""

import pytest

from dashboard.tasks import index_search
from payments.rules.dispute_words import Status as DisputeStatus
from tests import orders
from tests.developer_site.test_pages import Audit
from tests.disputed import disputed
from tests.transactions import captured_payment, start

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

CUSTOMER = "/dashboard/payments/customer/"
ADA = {"name": "Ada Obi", "email": "ada@shop.example", "reference": "cust-7"}


def payment_of(customer, *, business, now, **changes):
    return start(orders.card_payment(customer=customer, **changes), business=business, now=now)


class TestCustomer:
    @pytest.mark.parametrize("query", [{"email": "ADA@shop.example"}, {"reference": "cust-7"}])
    def test_shows_totals_and_failed_tries(self, browser, ada, now, query):
        paid = payment_of(ADA, business=ada.business, now=now, amount=250_000)
        failed = payment_of(ADA, business=ada.business, now=now, amount=250_051)
        other = payment_of(
            ADA | {"email": "bisi@shop.example", "reference": "cust-8"}, business=ada.business, now=now
        )
        index_search()

        answer = browser.get(CUSTOMER, query)

        assert {each.pk for each in answer.context["payments"]} == {paid.pk, failed.pk}
        page = answer.content.decode()
        assert Audit(page).findings == []
        assert (answer.context["paid"], answer.context["failed"]) == ("NGN 2,500.00", 1)
        assert other.reference not in page

    def test_shows_disputes_with_the_time_to_respond(self, browser, ada, now):
        payment = payment_of(ADA, business=ada.business, now=now)
        dispute = disputed(payment)
        ended = disputed(payment_of(ADA, business=ada.business, now=now), status=DisputeStatus.LOST)

        page = browser.get(CUSTOMER, {"email": ADA["email"]}).content.decode()

        assert Audit(page).findings == []
        for each in (dispute, ended):
            assert f"/dashboard/disputes/{each.pk}/" in page
            assert each.case_number in page
        assert "days left" in page
        assert page.count(">Disputed<") == 2  # beside the payments

    @pytest.mark.parametrize("query", [{}, {"email": ""}, {"email": "x" * 300}, {"reference": "a\x00b"}])
    def test_without_a_customer_is_empty(self, browser, ada, now, query):
        captured_payment(business=ada.business, now=now)

        answer = browser.get(CUSTOMER, query)

        assert answer.status_code == 200
        assert "No payments of this customer" in answer.content.decode()

    def test_shows_nothing_of_another_business(self, browser, bisi, now):
        payment_of(ADA, business=bisi.business, now=now)
        index_search()

        for query in ({"email": ADA["email"]}, {"reference": ADA["reference"]}):
            assert browser.get(CUSTOMER, query).context["payments"] == []

    def test_by_reference_leads_to_further_payments_with_the_email(self, browser, ada, now):
        payment_of(ADA, business=ada.business, now=now)
        payment_of(ADA | {"reference": "other"}, business=ada.business, now=now)
        payment_of(ADA | {"email": "ADA@shop.example", "reference": "third"}, business=ada.business, now=now)
        index_search()
        more, address = "2 more payments with this email", f"{CUSTOMER}?email=ada%40shop.example"

        page = browser.get(CUSTOMER, {"reference": "cust-7"}).content.decode()

        assert f'<a href="{address}">{more}</a>' in page
        assert len(browser.get(address).context["payments"]) == 3
        assert "with this email" not in browser.get(address).content.decode()

    def test_with_one_reference_leads_to_no_further_payments(self, browser, ada, now):
        payment_of(ADA, business=ada.business, now=now)
        index_search()

        page = browser.get(CUSTOMER, {"reference": "cust-7"})

        assert len(page.context["payments"]) == 1
        assert "with this email" not in page.content.decode()

    def test_is_linked_from_the_payment(self, browser, ada, now):
        payment = payment_of(ADA, business=ada.business, now=now)

        page = browser.get(f"/dashboard/payments/{payment.pk}/").content.decode()

        assert f'href="{CUSTOMER}?reference=cust-7"' in page
