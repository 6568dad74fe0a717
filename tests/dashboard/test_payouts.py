"""Payouts in the dashboard: the form for a new payout, and returned payouts in the list."""

import pytest
from django.utils import timezone

from payments.models import Transaction
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


class TestNewPayout:
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
