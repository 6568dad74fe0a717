"""Lists, exports and detail pages of payments and payouts."""

import csv
import io
from datetime import timedelta
from html import unescape
from uuid import uuid4

import pytest

from payments.models import Transaction
from tests import orders
from tests.config.docs_site.test_pages import Audit
from tests.factories import MemberFactory
from tests.settling import decide, settle
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_delivery, make_endpoint

pytestmark = pytest.mark.django_db

PAYMENTS, PAYOUTS = "/dashboard/payments/", "/dashboard/payouts/"
NASTY = "</td><script>alert('x')</script>{{ 7|add:7 }} \u202egnp.exe " + "w" * 90
FORMULAS = ["=1+1", "+234", "-5", "@SUM(A1)", "\t=1"]


def found(client, address=PAYMENTS, **query):
    return [row.reference for row in client.get(address, query).context["page"].rows]


def exported(client, address, **query):
    answer = client.get(address, query)
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


class TestSearch:
    def test_finds_by_every_known_reference(self, browser, ada, now):
        customer = {"reference": "c-1", "name": "Ngozi", "email": "Ngozi@Example.com"}
        payment = captured_payment(business=ada.business, now=now, customer=customer)
        captured_payment(
            business=ada.business, now=now, source=orders.card_source(pan=orders.FRICTIONLESS_CARD)
        )
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-77", "amount": "1"})

        for text in (
            payment.reference,
            str(payment.pk),
            payment.retrieval_reference_number,
            payment.system_trace_audit_number,
            payment.card_last4,
            "ngozi@example.COM",
            "rf-77",
        ):
            assert found(browser, q=text) == [payment.reference], text
        assert found(browser, q="nothing like it") == []

    def test_excludes_other_businesses(self, other_browser, ada, bisi, now):
        payment = captured_payment(business=ada.business, now=now)

        assert found(other_browser, q=payment.reference) == []
        assert found(other_browser, q=str(payment.pk)) == []

    @pytest.mark.parametrize(
        "query",
        [
            {"status": "odd"},
            {"since": "2026-02-30"},
            {"since": "0001-01-01"},
            {"until": "9999-12-31"},
            {"q": "x" * 300},
            {"q": "\x00"},
            {"before": "x"},
            {"after": "9" * 400},
            {"before": str(uuid4())},
            {"method": "bank"},
        ],
    )
    def test_never_fails_on_bad_input(self, browser, ada, query):
        for address in (PAYMENTS, PAYOUTS, "/dashboard/webhooks/deliveries/", "/dashboard/virtual-accounts/"):
            assert browser.get(address, query).status_code == 200

    def test_filters_by_status_and_day(self, browser, ada, now):
        old = captured_payment(business=ada.business, now=now - timedelta(days=3))
        pending = challenged_payment(business=ada.business, now=now)

        assert found(browser, status="pending") == [pending.reference]
        assert found(browser, until=(now - timedelta(days=2)).date()) == [old.reference]
        assert found(browser, since=(now - timedelta(days=2)).date()) == [pending.reference]


class TestPages:
    def test_have_no_gaps_or_repetitions(self, browser, ada, now):
        made = [
            captured_payment(business=ada.business, now=now - timedelta(seconds=number)).reference
            for number in range(60)
        ]
        address, seen, there = PAYMENTS, [], []
        while address:
            page = browser.get(address).context["page"]
            seen += [row.reference for row in page.rows]
            there.append(page)
            address = page.older and PAYMENTS + page.older

        back = browser.get(PAYMENTS + there[1].newer).context["page"]

        assert seen == made
        assert [row.reference for row in back.rows] == made[:25]

    def test_need_few_queries(self, browser, ada, now, django_assert_max_num_queries):
        make_endpoint(business=ada.business)
        for _ in range(5):
            payment = captured_payment(business=ada.business, now=now)
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-1", "amount": "1"})

        payouts = [start(orders.payout(), business=ada.business, now=now) for _ in range(5)]
        transfer = mismatched_money(business=ada.business, now=now).transfer.session.payment

        pages = [PAYMENTS, f"{PAYMENTS}?q=4081", PAYOUTS, f"{PAYOUTS}{payouts[0].pk}/"]
        for address in (*pages, f"{PAYMENTS}{payment.pk}/", f"{PAYMENTS}{transfer.pk}/"):
            with django_assert_max_num_queries(12):
                assert browser.get(address).status_code == 200


class TestExport:
    def test_streams_the_filtered_rows(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now, amount=50_001)
        start(orders.payout(), business=ada.business, now=now)

        (row,) = exported(browser, f"{PAYMENTS}export.csv", status="success")

        assert (row["reference"], row["amount"], row["card_last4"]) == (payment.reference, "50001", "4081")
        assert exported(browser, f"{PAYMENTS}export.csv", status="failed") == []
        assert len(exported(browser, f"{PAYOUTS}export.csv")) == 1

    def test_names_the_settlement_of_a_payment(self, browser, ada, now):
        captured_payment(business=ada.business, now=now)
        (batch,) = settle()
        decide(batch, "reject")
        (second,) = settle()
        captured_payment(business=ada.business, now=now)

        rows = exported(browser, f"{PAYMENTS}export.csv")

        shown = {(row["settlement_id"], row["settle_status"]) for row in rows}
        assert shown == {(str(second.pk), "pending"), ("", "")}

    @pytest.mark.parametrize("text", FORMULAS)
    def test_contains_no_formula(self, browser, ada, now, text):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(narration=text, customer_name=text)

        (row,) = exported(browser, f"{PAYMENTS}export.csv")

        assert row["narration"].startswith("'")
        assert row["customer_name"].startswith("'")


class TestUntrustedText:
    def test_is_escaped_everywhere(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(
            reference="r" * 100, customer_name=NASTY, narration=NASTY, customer_email=NASTY[:60]
        )

        for address in (PAYMENTS, f"{PAYMENTS}{payment.pk}/", f"{PAYMENTS}{payment.pk}/refund/"):
            shown = browser.get(address).content.decode()
            assert "<script>" not in shown
            assert Audit(shown).findings == []
        assert NASTY in unescape(browser.get(f"{PAYMENTS}{payment.pk}/").content.decode())


class TestTimeline:
    def test_shows_all_events_in_order(self, browser, ada, now):
        payment = authorised_payment(business=ada.business, now=now)
        make_delivery(make_endpoint(business=ada.business))
        browser.post(f"{PAYMENTS}{payment.pk}/capture/", {"amount": "300.00"})
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-1", "amount": "100"})

        titles = [each.title for each in browser.get(f"{PAYMENTS}{payment.pk}/").context["detail"].timeline]

        wanted = [
            "Payment of NGN 500.00 requested",
            "Authorised",
            "Capture requested",
            "Payment completed",
            "Refund requested",
            "NGN 100.00 refunded",
        ]
        assert [title for title in titles if title in wanted] == wanted
        assert any(title.startswith("Ledger entry") for title in titles)


class TestViewer:
    def test_sees_no_actions(self, client, ada, now):
        client.force_login(MemberFactory(business=ada.business, role="viewer").user)
        payment = captured_payment(business=ada.business, now=now)

        assert "/refund/" not in client.get(f"{PAYMENTS}{payment.pk}/").content.decode()
        assert "New payout" not in client.get(PAYOUTS).content.decode()
