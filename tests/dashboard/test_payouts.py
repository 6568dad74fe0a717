"""Payouts in the dashboard: the form for a new payout, and returned payouts in the list."""

import pytest
from django.utils import timezone

from payments.models import Transaction
from payments.rules.sandbox_triggers import LOST_ANSWER_ACCOUNT
from payments.services.payouts import payout_returns
from tests import orders
from tests.settling import STAFF
from tests.transactions import captured_payment, start

pytestmark = pytest.mark.django_db

PAYOUTS = "/dashboard/payouts/"
PAYOUT_FORM = {
    "reference": "by-hand-1",
    "currency": "NGN",
    "amount": "2,500.50",
    "bank_code": "058",
    "account_number": "0123456789",
    "name": "Ada Obi",
    "narration": "Rent",
}


CUSTOMER = {"name": "Ada Obi", "bank_code": "058"}


class TestNewPayout:
    def test_reads_pasted_text(self, browser, ada):
        pasted = {
            "name": "Ada\u00a0Obi\u200b",
            "account_number": "\u202a0123456789\u202c",
            "amount": "₦2,500.50",
        }

        browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | pasted | {"step": "confirmed"})

        payout = Transaction.objects.get()
        assert (payout.customer_name, payout.account_number, payout.amount) == (
            "Ada Obi",
            "0123456789",
            250_050,
        )

    def test_shows_bank_fee_and_total_first(self, browser, ada):
        shown = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "review"}).content.decode()

        for word in ("Guaranty Trust Bank", "NGN 2,500.50", "NGN 10.00", "NGN 2,510.50"):
            assert word in shown
        assert not Transaction.objects.exists()

    def test_pays_once_if_confirmed_twice(self, browser, ada):
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
    def test_shows_errors(self, browser, ada, field, value):
        answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "confirmed", field: value})

        assert field in answer.context["form"].errors
        assert not Transaction.objects.exists()

    def test_lists_the_fields_to_check_if_there_are_several(self, browser, ada):
        shown = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"name": "", "bank_code": ""}).content.decode()

        for field, message in [("name", "Enter the beneficiary."), ("bank_code", "Choose the bank.")]:
            assert f'<a href="#id_{field}">' in shown
            assert shown.count(message) == 2
        one_error = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"name": ""}).content.decode()
        assert "Check what you entered" in shown
        assert "Check what you entered" not in one_error

    def test_rejects_a_used_reference(self, browser, ada, now):
        captured_payment(business=ada.business, now=now, reference="by-hand-1")

        answer = browser.post(f"{PAYOUTS}new/", PAYOUT_FORM | {"step": "confirmed"})

        assert "This reference was already used for a different request." in answer.content.decode()


class TestReturnedPayout:
    @pytest.mark.parametrize(("returned", "badge"), [(250_000, "Returned"), (1, "Partly returned")])
    def test_is_marked_in_the_list(self, browser, ada, now, returned, badge):
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)
        type(payout).objects.filter(pk=payout.pk).update(amount_returned=returned)

        assert f">{badge}</span>" in browser.get(PAYOUTS).content.decode()

    def test_leads_to_its_debit_and_its_credit(self, browser, ada):
        now = timezone.now()
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)
        payout_returns.reverse(transaction_id=payout.pk, reason="Account closed", actor=STAFF, now=now)

        related = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].related

        movements = [each for each in related if each.name == "Balance movement"]
        assert [each.text for each in movements] == ["\N{MINUS SIGN}NGN 2,510.00", "+NGN 2,500.00 returned"]
        for each in movements:
            assert "Ada Obi" in browser.get(each.address).content.decode()

    def test_has_a_tab(self, browser, ada, now):
        start(orders.payout(amount=250_000), business=ada.business, now=now)
        returned = start(orders.payout(amount=250_000), business=ada.business, now=now)
        type(returned).objects.filter(pk=returned.pk).update(amount_returned=1)

        shown = browser.get(PAYOUTS, {"status": "returned"})

        assert [row.pk for row in shown.context["page"].rows] == [returned.pk]
        assert [tab.shown_count for tab in shown.context["tabs"] if tab.is_here] == ["1"]


def tiles(browser, payout):
    figures = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].figures
    return {each.name: (each.amount, each.note) for each in figures}


def movements(browser, payout):
    related = browser.get(f"{PAYOUTS}{payout.pk}/").context["detail"].related
    return [each.text for each in related if each.name == "Balance movement"]


class TestPayoutPage:
    def test_sums_up_a_failed_payout_as_it_does_others(self, browser, ada, now):
        failed = start(orders.payout(amount=10_051), business=ada.business, now=now)

        assert tiles(browser, failed) == {
            "Amount": (10_051, ""),
            "Fee": (0, ""),
            "Debited": (0, "NGN 110.51 credited back"),
        }

    def test_leads_to_the_debit_and_the_credit_of_a_failed_payout(self, browser, ada, now):
        failed = start(orders.payout(amount=10_051), business=ada.business, now=now)

        assert movements(browser, failed) == ["\N{MINUS SIGN}NGN 110.51", "+NGN 110.51 credited back"]

    def test_says_that_the_balance_was_too_low(self, browser, ada, now, settings):
        settings.PAYOUT_REQUIRES_BALANCE = True

        refused = start(orders.payout(amount=250_000), business=ada.business, now=now)

        assert tiles(browser, refused)["Debited"] == (0, "Your balance was too low")
        assert movements(browser, refused) == []

    def test_includes_the_fee_of_a_pending_payout(self, browser, ada, now):
        unanswered = orders.payout(customer={**CUSTOMER, "account_number": LOST_ANSWER_ACCOUNT})
        pending = start(unanswered, business=ada.business, now=now)

        assert tiles(browser, pending)["Fee"] == (1_000, "")
        assert tiles(browser, pending)["Debited"] == (251_000, "From your balance")
        assert movements(browser, pending) == ["\N{MINUS SIGN}NGN 2,510.00"]

    def test_calls_a_failed_payout_a_payout(self, browser, ada, now):
        failed = start(orders.payout(amount=10_051), business=ada.business, now=now)

        shown = browser.get(f"{PAYOUTS}{failed.pk}/")
        listed = browser.get(PAYOUTS).content.decode()

        assert "Payout failed (20030)" in [each.title for each in shown.context["detail"].timeline]
        visible = shown.content.decode().partition('class="fold')[0]
        assert "Payment failed" not in visible + listed
        assert "Payout failed" in listed

    def test_calls_a_completed_payout_a_payout(self, browser, ada, now):
        payout = start(orders.payout(amount=250_000), business=ada.business, now=now)

        assert "10000 · Payout completed" in browser.get(f"{PAYOUTS}{payout.pk}/").content.decode()
