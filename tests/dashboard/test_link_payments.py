"""Payments of payment links in the dashboard: their link, what the payer entered, and the filter by link."""

import csv
import io
from uuid import uuid4

import pytest
from django.test import Client

from payments.models import Checkout
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory, UserFactory
from tests.links import begin, make_link, pay_by_card, pay_by_transfer
from tests.orders import CHALLENGED_CARD, DECLINED_CARD

pytestmark = pytest.mark.django_db

PAYMENTS = "/dashboard/payments/"


def listed(browser, **query):
    answer = browser.get(PAYMENTS, query)
    return answer, [row.reference for row in answer.context["page"].rows]


@pytest.fixture
def link(api):
    field = {"key": "size", "label": "T-shirt size", "required": True}
    return make_link(api, custom_fields=[field], quantity_max=4)


class TestPaymentPage:
    def test_shows_the_link_and_what_the_payer_entered(self, browser, link):
        checkout = begin(link, quantity=2, amount=3_000_000, phone="0803 123 4567", answers={"size": "Large"})
        declined = pay_by_card(checkout, DECLINED_CARD)
        payment = pay_by_card(checkout, attempt=1)

        page = browser.get(f"{PAYMENTS}{payment.pk}/")

        text = page.content.decode()
        for shown in (link.title, link.reference, "T-shirt size", "Large", "0803 123 4567", "2 of 2"):
            assert shown in text
        related = {each.name: each.address for each in page.context["detail"].related}
        assert related["Payment link"] == f"/dashboard/payment-links/{link.pk}/"
        assert related["Payment"] == f"{PAYMENTS}{declined.pk}/"

    def test_says_that_answers_were_deleted(self, browser, link):
        payment = pay_by_card(begin(link))
        Checkout.objects.update(is_erased=True, phone="", answers={})

        assert b"Deleted after their retention period" in browser.get(f"{PAYMENTS}{payment.pk}/").content

    def test_no_page_or_export_shows_the_payers_address(self, browser, api, link):
        staff = signed_in(UserFactory(is_staff=True, is_superuser=True), client=Client())
        payments = [
            pay_by_card(begin(link)),
            pay_by_card(begin(link), CHALLENGED_CARD),
            pay_by_transfer(begin(link)),
        ]
        tokens = [checkout.token for checkout in Checkout.objects.all()]
        addresses = [PAYMENTS, "/dashboard/search/?q=ada@example.com", "/dashboard/developers/requests/"]
        addresses += [f"{PAYMENTS}{each.pk}/" for each in payments]
        answers = [browser.get(address) for address in addresses]
        answers += [
            staff.get(f"/admin/payments/{model}/{row.pk}/change/")
            for each in payments
            for model, row in (("transaction", each), ("checkout", each.checkout))
        ]
        answers += [api.get(f"/api/payments/{each.reference}") for each in payments]
        answers += [api.get(f"/api/payments/{each.reference}/checkout") for each in payments]
        answers += [api.get(f"/api/payment-links/{link.reference}/checkouts"), api.get("/api/events")]

        texts = [answer.content.decode() for answer in answers]
        texts += [
            b"".join(browser.get(f"{PAYMENTS}export.{kind}").streaming_content).decode("latin-1")
            for kind in ("csv", "xlsx")
        ]

        assert {answer.status_code for answer in answers} == {200}
        assert not [address for text in texts for address in tokens if address in text]
        assert len(tokens) == len(payments)


class TestFilterByLink:
    @pytest.fixture
    def two(self, api, link):
        """Two payments at a link, and one at another."""
        other = make_link(api, title="Evening class")
        return [pay_by_card(begin(each)) for each in (link, link, other)]

    def test_finds_the_payments_of_a_link(self, browser, link, two):
        answer, found = listed(browser, payment_link_id=link.pk)

        assert found == [two[1].reference, two[0].reference]
        [chip] = [each for each in answer.context["bar"].chips if each.label == "Payment link"]
        assert chip.shown == link.title
        assert answer.context["totals"].sums == ["NGN 30,000.00"]
        assert listed(browser, payment_link_id=link.pk, status="failed")[1] == []
        assert listed(browser, payment_link_id=link.pk, q=two[0].reference)[1] == [two[0].reference]

    def test_is_kept_in_saved_views_and_exports(self, browser, link, two):
        query = f"payment_link_id={link.pk}"
        browser.post("/dashboard/views/", {"list": "payments", "name": "Workshop", "query": query})

        answer, _ = listed(browser, payment_link_id=link.pk)
        export = browser.get(f"{PAYMENTS}export.csv", {"payment_link_id": link.pk})

        assert answer.context["views"].here.query == query
        rows = list(csv.DictReader(io.StringIO(b"".join(export.streaming_content).decode("utf-8-sig"))))
        assert {row["payment_link_id"] for row in rows} == {str(link.pk)}
        assert len(rows) == 2

    def test_unknown_link_finds_nothing_and_says_so(self, browser, link, two):
        theirs = MemberFactory().business
        for unknown in (uuid4(), "nonsense", theirs.pk):
            answer, found = listed(browser, payment_link_id=unknown)

            assert found == []
            assert "The payment link in the address is unknown" in answer.content.decode()
