"""Settlements: batches with their steps, net calculation and statements."""

import csv
import io
from html import unescape

import pytest
from django.utils import timezone

from kit.money.money import figures, money
from payments.models import Transaction
from tests.developer_site.test_pages import Audit
from tests.settling import decide, settle
from tests.transactions import captured_payment

pytestmark = pytest.mark.django_db

SETTLEMENTS = "/dashboard/settlements/"
NASTY = "</td><script>alert('x')</script>{{ 7|add:7 }} \u202egnp.exe " + "w" * 30


@pytest.fixture
def payment(ada):
    return captured_payment(business=ada.business, now=timezone.now(), amount=123_400)


@pytest.fixture
def batch(payment):
    """Ada's, of today, complete and waiting for approval."""
    (made,) = settle()
    made.refresh_from_db()
    return made


def text_of(client, address):
    return unescape(client.get(address).content.decode())


class TestList:
    def test_shows_own_batches_only(self, browser, other_browser, batch):
        assert f"{SETTLEMENTS}{batch.pk}/" in text_of(browser, SETTLEMENTS)
        assert f"{SETTLEMENTS}{batch.pk}/" not in text_of(other_browser, SETTLEMENTS)

    def test_is_filtered_by_state(self, browser, batch):
        assert str(batch.pk) in text_of(browser, f"{SETTLEMENTS}?state=pending")
        assert str(batch.pk) not in text_of(browser, f"{SETTLEMENTS}?state=released")

    def test_sums_no_rejected_batch_beside_the_one_that_replaced_it(self, browser, batch, payment):
        decide(batch, "reject")
        (again,) = settle()
        payment.refresh_from_db()

        assert again.net == batch.net
        assert list(browser.get(SETTLEMENTS).context["totals"].sums) == [money(again.net, "NGN")]
        (step,) = [
            each
            for each in browser.get(f"/dashboard/payments/{payment.pk}/").context["detail"].timeline
            if each.title == "Settlement rejected"
        ]
        assert not step.address  # the batch that the payment is in now was not rejected

    @pytest.mark.parametrize(
        "query", [{"state": "odd"}, {"before": "x"}, {"currency": "XXX"}, {"after": "\x00"}]
    )
    def test_never_fails_on_bad_input(self, browser, batch, query):
        for address in (SETTLEMENTS, f"{SETTLEMENTS}{batch.pk}/"):
            assert browser.get(address, query).status_code == 200


class TestBatch:
    def test_shows_the_net_calculation(self, browser, batch, payment):
        page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

        assert (batch.gross, batch.fees, batch.net) == (123_400, payment.fee, 123_400 - payment.fee)
        assert "1,234.00</dd>" in page
        assert payment.reference in page

    def test_shows_its_steps_in_order(self, browser, batch):
        decide(batch, "approve", "release")

        steps = browser.get(f"{SETTLEMENTS}{batch.pk}/").context["steps"]

        assert [step.title for step in steps] == [
            "Opened",
            "Payments added",
            "Approved",
            "Released to your balance",
        ]

    def test_says_what_happens_next(self, browser, batch):
        address = f"{SETTLEMENTS}{batch.pk}/"
        assert "Waiting for approval." in text_of(browser, address)
        decide(batch, "approve")
        assert "released to your balance next" in text_of(browser, address)
        decide(batch, "release")

        assert browser.get(address).context["next_step"] is None

    def test_exports_its_statement(self, browser, batch, payment):
        answer = browser.get(f"{SETTLEMENTS}{batch.pk}/statement.csv")

        rows = list(csv.DictReader(io.StringIO(b"".join(answer.streaming_content).decode("utf-8-sig"))))
        assert payment.reference in [row["reference"] for row in rows]

    @pytest.mark.parametrize("page", ["", "statement.csv"])
    def test_of_another_business_is_not_found(self, other_browser, batch, page):
        assert other_browser.get(f"{SETTLEMENTS}{batch.pk}/{page}").status_code == 404


class TestUntrustedText:
    def test_is_escaped_on_every_page_of_the_area(self, browser, ada, batch, payment):
        Transaction.objects.filter(pk=payment.pk).update(reference=NASTY[:100], customer_name=NASTY)
        decide(batch, "reject", reason=NASTY)

        for page in ("", f"{batch.pk}/"):
            shown = browser.get(f"{SETTLEMENTS}{page}").content.decode()
            assert "<script>" not in shown
            assert Audit(shown).findings == []
            assert not page or NASTY in unescape(shown)


class TestStatement:
    def test_adds_up_on_the_page(self, browser, ada, batch, payment):
        page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

        assert f'href="/dashboard/payments/{payment.pk}/"' in page
        assert "Total, 1 payment" in page
        assert page.count(figures(batch.net, "NGN")) == 4  # title, sum, item and total

    def test_names_states_as_merchants_read_them(self, browser, batch):
        assert ">Open</span>" in text_of(browser, f"{SETTLEMENTS}{batch.pk}/")
        decide(batch, "approve", "release")

        page = text_of(browser, f"{SETTLEMENTS}{batch.pk}/")

        assert ">Released</span>" in page
        assert 'paid into your <a href="/dashboard/balance/?currency=NGN">NGN balance</a>' in page

    def test_counts_the_states_in_tabs(self, browser, batch):
        tabs = browser.get(f"{SETTLEMENTS}?state=pending").context["tabs"]

        assert [(tab.name, str(tab.count), tab.is_here) for tab in tabs] == [
            ("All", "1", False),
            ("Open", "1", True),
            ("Approved", "0", False),
            ("Released", "0", False),
            ("Rejected", "0", False),
        ]
