"""Refunds of transfer payments over real HTTP to the simulated bank."""

from io import StringIO

import pytest
from django.core.management import call_command

from payments.models import CardOperation
from tests import orders
from tests.simulators import plan

pytestmark = pytest.mark.django_db

SENDER = {"sender_name": "Bisi Ade", "sender_account_number": "0123456789", "sender_bank_code": "058"}
LOST = ["swallow", "lose", "cut", "lose_and_cut", "half", "garbage"]


@pytest.fixture
def paid(api):
    """Return the URL of a transfer payment of 50,000 with a known sender."""
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
    order = orders.transfer_payment(account)
    number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
    api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000} | SENDER)
    return f"/api/payments/{order['reference']}"


def refund(api, paid, **wanted):
    return api.post(f"{paid}/refunds", {"reference": "rf-1", "amount": 20_000} | wanted).json()


def requery_all():
    call_command("requery_pending", stdout=StringIO(), stderr=StringIO())


class TestRefund:
    def test_is_sent_with_its_own_id_and_the_merchants_reference(self, api, bank, paid):
        made = refund(api, paid)

        operation = CardOperation.objects.get()
        sent = bank.books.sent(operation.pk.hex)
        assert (made["status"], operation.connector) == ("success", "http")
        assert (sent.amount, sent.account_number, sent.merchant_reference) == (20_000, "0123456789", "rf-1")
        assert operation.acquirer_transaction_id == sent.session_id

    def test_declined_by_the_bank_fails_and_releases_its_amount(self, api, bank, paid):
        made = refund(api, paid, amount=20_051)

        assert (made["status"], made["gateway_code"]) == ("failed", "51")
        assert api.get(paid).json()["total_amount_available_to_refund"] == 50_000
        assert bank.books.paid(CardOperation.objects.get().pk.hex) == 0

    @pytest.mark.long
    @pytest.mark.parametrize("act", LOST)
    def test_without_an_answer_is_paid_once(self, api, bank, paid, act):
        plan(bank, act)
        made = refund(api, paid)
        plan(bank, act)
        requery_all()
        requery_all()

        operation = CardOperation.objects.get()
        assert made["status"] == "pending"
        assert api.get("/api/refunds/rf-1").json()["status"] == "success"
        assert bank.books.paid(operation.pk.hex) == 20_000
        assert sum(bank.books.all_paid().values()) == 20_000
