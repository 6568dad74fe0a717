"""The page of a customer shows everything that one payer did, and nothing of others."""

from datetime import timedelta

import pytest

from dashboard.models import Note
from dashboard.payments.customer_activity import MOST_ROWS
from dashboard.tasks import index_search
from payments.models import Transaction
from payments.rules.words.dispute_words import Status as DisputeStatus
from payments.services.refunds import refunds
from tests import orders
from tests.developer_site.test_pages import Audit
from tests.disputed import disputed
from tests.links import begin, link_of, pay_by_card
from tests.query_counts import at_most
from tests.transactions import captured_payment, start
from tests.unapplied import mismatched_money

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

CUSTOMER = "/dashboard/payments/customer/"
MINUS = "\N{MINUS SIGN}"
ADA = {"name": "Ada Obi", "email": "ada@shop.example", "reference": "cust-7"}


def payment_of(customer, *, business, now, **changes):
    return start(orders.card_payment(customer=customer, **changes), business=business, now=now)


def note_on(payment, *, now, text="Called about the delivery"):
    return Note.objects.create(transaction=payment, author="Bisi Ojo", text=text, at=now)


def refund_of(payment, *, now, **request):
    request = {"reference": orders.new_reference("rf"), "amount": 50_000} | request
    return refunds.refund(transaction=payment, request=request, now=now).resource


def kinds_of(answer):
    return {(row.kinds[-1], row.address) for row in answer.context["activity"].rows}


class TestActivity:
    def test_has_everything_that_the_payer_did(self, browser, ada, now):
        paid = payment_of(ADA, business=ada.business, now=now, amount=250_000)
        failed = payment_of(ADA, business=ada.business, now=now, amount=250_051)
        refund, dispute = refund_of(paid, now=now, reason="One yard short"), disputed(paid, amount=100_000)
        note_on(failed, now=now + timedelta(minutes=1))

        answer = browser.get(CUSTOMER, {"email": ADA["email"]})

        assert kinds_of(answer) == {
            ("payments", f"/dashboard/payments/{paid.pk}/"),
            ("failed", f"/dashboard/payments/{failed.pk}/"),
            ("refunds", f"/dashboard/refunds/{refund.pk}/"),
            ("disputes", f"/dashboard/disputes/{dispute.pk}/"),
            ("notes", f"/dashboard/payments/{failed.pk}/#notes"),
        }
        page = answer.content.decode()
        assert Audit(page).findings == []
        for text in (
            "Note by Bisi Ojo",
            "Called about the delivery",
            "One yard short",
            "Insufficient funds",
            f"{MINUS}NGN 500.00",
        ):
            assert text in page
        times = [row.at for row in answer.context["activity"].rows]
        assert times == sorted(times, reverse=True)

    def test_shows_one_kind(self, browser, ada, now):
        paid = payment_of(ADA, business=ada.business, now=now, amount=250_000)
        failed = payment_of(ADA, business=ada.business, now=now, amount=250_051)
        refund = refund_of(paid, now=now)

        for kind, address in {"failed": f"payments/{failed.pk}", "refunds": f"refunds/{refund.pk}"}.items():
            answer = browser.get(CUSTOMER, {"email": ADA["email"], "show": kind})
            assert kinds_of(answer) == {(kind, f"/dashboard/{address}/")}
        tabs = [(each.name, each.count) for each in answer.context["activity"].tabs]
        assert tabs == [("All", 3), ("Payments", 2), ("Failed tries", 1), ("Refunds", 1)]
        for kind in ("notes", "nothing"):
            answer = browser.get(CUSTOMER, {"email": ADA["email"], "show": kind})
            assert "Nothing of this kind" in answer.content.decode()

    def test_keeps_what_needs_a_decision_on_top(self, browser, ada, now):
        money = mismatched_money(business=ada.business, now=now)
        Transaction.objects.filter(session=money.transfer.session_id).update(customer_email=ADA["email"])

        page = browser.get(CUSTOMER, {"email": ADA["email"], "show": "payments"}).content.decode()
        everything = browser.get(CUSTOMER, {"email": ADA["email"]})

        assert "NGN 400.00 received, not applied" in page.replace("\N{NO-BREAK SPACE}", " ")
        assert ("unapplied", f"/dashboard/virtual-accounts/unapplied/{money.pk}/") in kinds_of(everything)
        assert "Wrong amount for " in everything.content.decode()

    def test_is_bounded(self, browser, ada, now):
        paid = payment_of(ADA, business=ada.business, now=now)
        for number in range(MOST_ROWS + 1):
            note_on(paid, now=now + timedelta(seconds=number), text="n" * 100)

        with at_most(12):
            answer = browser.get(CUSTOMER, {"email": ADA["email"]})

        assert len(answer.context["activity"].rows) == MOST_ROWS
        assert len(answer.content) < 60_000
        assert f"the latest {MOST_ROWS} entries" in answer.content.decode()


class TestCustomer:
    def test_shows_how_they_paid_and_what_for(self, browser, ada, now):
        link = link_of(ada.business, now=now, title="Ankara, 6 yards")
        payment = pay_by_card(begin(link))
        Transaction.objects.filter(pk=payment.pk).update(customer_email=ADA["email"], customer_name="Ada Obi")
        payment_of(ADA | {"name": "A. Chukwu"}, business=ada.business, now=now, amount=250_051)

        page = browser.get(CUSTOMER, {"email": ADA["email"]}).content.decode()

        assert f'href="/dashboard/payment-links/{link.pk}/"' in page
        assert "Ankara, 6 yards" in page
        assert " succeeded</bdi>" in page
        assert "Expires " in page
        assert "Also known as" in page

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
