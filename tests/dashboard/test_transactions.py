"""Payments and payouts: found, shown whole, exported safely, and acted on once."""

import csv
import io
from datetime import timedelta
from html import unescape
from uuid import uuid4

import pytest
from django.utils import timezone

from merchants.models import AuditEntry
from payments.models import CardOperation, Transaction
from tests import orders
from tests.clients import Credentials, InProcessClient
from tests.config.docs_site.test_pages import Audit
from tests.dashboard.people import signed_in
from tests.factories import MemberFactory
from tests.settling import decide, settle
from tests.transactions import authorised_payment, captured_payment, challenged_payment, start
from tests.unapplied import mismatched_money
from tests.webhooks.rows import make_delivery, make_endpoint

pytestmark = pytest.mark.django_db

PAYMENTS, PAYOUTS = "/dashboard/payments/", "/dashboard/payouts/"
NASTY = "</td><script>alert('x')</script>{{ 7|add:7 }} \u202egnp.exe " + "w" * 90
FORMULAS = ["=1+1", "+234", "-5", "@SUM(A1)", "\t=1"]
PAYOUT_FORM = {
    "reference": "by-hand-1",
    "currency": "NGN",
    "amount": "2,500.50",
    "bank_code": "058",
    "account_number": "0123456789",
    "name": "Ada Obi",
    "narration": "Rent",
}


@pytest.fixture
def browser(ada_member):
    """Ada's, signed in a moment ago."""
    return signed_in(ada_member.user)


@pytest.fixture
def now():
    return timezone.now()


def found(client, address=PAYMENTS, **query):
    return [row.reference for row in client.get(address, query).context["page"].rows]


def exported(client, address, **query):
    answer = client.get(address, query)
    text = b"".join(answer.streaming_content).decode()
    return list(csv.DictReader(io.StringIO(text)))


class TestSearch:
    def test_finds_by_everything_that_people_have_at_hand(self, browser, ada, now):
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

    def test_sees_nobody_elses(self, other_browser, ada, bisi, now):
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

    def test_narrows_by_status_and_day(self, browser, ada, now):
        old = captured_payment(business=ada.business, now=now - timedelta(days=3))
        pending = challenged_payment(business=ada.business, now=now)

        assert found(browser, status="pending") == [pending.reference]
        assert found(browser, until=(now - timedelta(days=2)).date()) == [old.reference]
        assert found(browser, since=(now - timedelta(days=2)).date()) == [pending.reference]


class TestPages:
    def test_follow_each_other_without_gap_or_repetition(self, browser, ada, now):
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

    def test_cost_few_queries(self, browser, ada, now, django_assert_max_num_queries):
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
    def test_streams_what_the_filter_shows(self, browser, ada, now):
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
    def test_holds_no_formula(self, browser, ada, now, text):
        payment = captured_payment(business=ada.business, now=now)
        Transaction.objects.filter(pk=payment.pk).update(narration=text, customer_name=text)

        (row,) = exported(browser, f"{PAYMENTS}export.csv")

        assert row["narration"].startswith("'")
        assert row["customer_name"].startswith("'")


class TestNastyText:
    def test_stays_text_everywhere(self, browser, ada, now):
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
    def test_tells_all_that_happened_in_order(self, browser, ada, now):
        payment = authorised_payment(business=ada.business, now=now)
        make_delivery(make_endpoint(business=ada.business))
        browser.post(f"{PAYMENTS}{payment.pk}/capture/", {"amount": "300.00"})
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-1", "amount": "100"})

        titles = [each.title for each in browser.get(f"{PAYMENTS}{payment.pk}/").context["detail"].timeline]

        wanted = [
            "Payment of NGN 500.00 requested",
            "Authorised",
            "Capture of NGN 300.00 requested",
            "Payment completed",
            "Refund of NGN 100.00 requested",
            "Refund of NGN 100.00 succeeded",
        ]
        assert [title for title in titles if title in wanted] == wanted
        assert any(title.startswith("Ledger entry") for title in titles)


class TestActs:
    def test_capture_a_part_and_tell_the_trail(self, browser, ada, now):
        payment = authorised_payment(business=ada.business, now=now)

        answer = browser.post(f"{PAYMENTS}{payment.pk}/capture/", {"amount": "123.45"}, follow=True)

        payment.refresh_from_db()
        assert (payment.status, payment.amount_captured) == ("success", 12_345)
        assert "Captured NGN 123.45." in answer.content.decode()
        entry = AuditEntry.objects.get(action="payment.capture_asked")
        assert (entry.actor, entry.after) == ("ada@example.com", {"amount": 12_345})

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

    def test_refund_once_though_the_form_comes_twice(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)
        form = {"reference": "rf-1", "amount": "100.00", "reason": "too large"}

        for _ in range(2):
            browser.post(f"{PAYMENTS}{payment.pk}/refund/", form)

        payment.refresh_from_db()
        assert payment.amount_refunded == 10_000
        assert CardOperation.objects.filter(reference="rf-1").count() == 1

    @pytest.mark.parametrize("amount", ["0", "-1", "1.001", "abc", "9" * 20, "1e3", "٣"])
    def test_refuse_what_is_no_amount(self, browser, ada, now, amount):
        payment = captured_payment(business=ada.business, now=now)

        answer = browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-1", "amount": amount})

        assert answer.status_code == 200
        assert not CardOperation.objects.exists()

    def test_refuse_more_than_there_is(self, browser, ada, now):
        payment = captured_payment(business=ada.business, now=now)

        form = {"reference": "rf-1", "amount": "500.01"}
        answer = browser.post(f"{PAYMENTS}{payment.pk}/refund/", form, follow=True)

        assert "At most 50000 is left to refund." in answer.content.decode()


def paid_by_transfer(ada, **sender):
    """Return a successful transfer payment of 50,000."""
    money = {"account_number": ..., "amount": 50_000} | sender
    api = InProcessClient(Credentials(ada.public_id, ada.secret))
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
    made = api.post("/api/payments", orders.transfer_payment(account)).json()
    money["account_number"] = made["virtual_account_details"]["account_number"]
    api.post("/api/virtual-accounts/simulate", money)
    return Transaction.objects.get(pk=made["id"])


class TestRefundOfATransferPayment:
    SENDER = {"sender_name": "Bisi Ade", "sender_account_number": "0123456789", "sender_bank_code": "058"}
    TO = {"name": "Bisi Ade", "account_number": "0123456789", "bank_code": "058"}

    def test_goes_to_the_sender_without_asking_for_the_account(self, browser, ada):
        payment = paid_by_transfer(ada, **self.SENDER)
        address = f"{PAYMENTS}{payment.pk}/refund/"
        asked = browser.get(address).content.decode()

        answer = browser.post(address, {"reference": "rf-1", "amount": "200.00"}, follow=True)

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
        answer = browser.post(address, {"reference": "rf-1"} | self.TO, follow=True)

        assert 'name="account_number"' in asked
        assert without.status_code == wrong.status_code == 200
        assert "Enter exactly 10 digits." in wrong.content.decode()
        assert "Refunded NGN 500.00." in answer.content.decode()
        assert CardOperation.objects.count() == 1

    def test_is_shown_with_its_destination(self, browser, ada):
        payment = paid_by_transfer(ada, **self.SENDER | {"sender_account_number": "0000000097"})
        browser.post(f"{PAYMENTS}{payment.pk}/refund/", {"reference": "rf-1", "amount": "1"})

        shown = browser.get(f"{PAYMENTS}{payment.pk}/").content.decode()

        assert "Bisi Ade, 0000000097, Guaranty Trust Bank" in shown
        assert "next query to the bank" in shown
        assert "Refunds pending" in shown


class TestNewPayout:
    def test_shows_bank_fee_and_total_first(self, browser, ada):
        shown = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "review"}).content.decode()

        for word in ("Guaranty Trust Bank", "NGN 2,500.50", "NGN 10.00", "NGN 2,510.50"):
            assert word in shown
        assert not Transaction.objects.exists()

    def test_pays_once_though_it_is_confirmed_twice(self, browser, ada):
        for _ in range(2):
            answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "confirmed"}, follow=True)

        payout = Transaction.objects.get()
        assert (payout.amount, payout.status) == (250_050, "success")
        assert "Paid out NGN 2,500.50." in answer.content.decode()

    @pytest.mark.parametrize(
        ("field", "value"),
        [
            ("account_number", "123"),
            ("amount", "0"),
            ("bank_code", "999"),
            ("reference", "a b"),
            ("name", " "),
        ],
    )
    def test_says_what_is_wrong(self, browser, ada, field, value):
        answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "confirmed", field: value})

        assert field in answer.context["form"].errors
        assert not Transaction.objects.exists()

    def test_refuses_a_reference_that_is_taken(self, browser, ada, now):
        captured_payment(business=ada.business, now=now, reference="by-hand-1")

        answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "confirmed"})

        assert "This reference was already used for a different request." in answer.content.decode()


class TestReturnedPayout:
    @pytest.mark.parametrize(("returned", "badge"), [(250_000, "Returned"), (1, "Partially returned")])
    def test_is_marked_in_the_list(self, browser, ada, now, returned, badge):
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)
        type(payout).objects.filter(pk=payout.pk).update(amount_returned=returned)

        assert f">{badge}</span>" in browser.get(PAYOUTS).content.decode()


class TestViewer:
    def test_sees_no_way_to_act(self, client, ada, now):
        client.force_login(MemberFactory(business=ada.business, role="viewer").user)
        payment = captured_payment(business=ada.business, now=now)

        assert "/refund/" not in client.get(f"{PAYMENTS}{payment.pk}/").content.decode()
        assert "New payout" not in client.get(PAYOUTS).content.decode()
