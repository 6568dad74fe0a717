"""Refunds of transfer payments go out as payouts do: paid once, and held back while the rail is blocked."""

import pytest

from ledger.invariants import check
from payments.invariants.registry import INVARIANTS
from payments.models import CardOperation, PayoutReturn, RailBlock, Transaction
from tests import orders
from tests.connectors.paystack.connected import paystack_connected

pytestmark = pytest.mark.django_db

SENDER = {"sender_name": "Bisi Ade", "sender_account_number": "0123456789", "sender_bank_code": "058"}


@pytest.fixture
def paystack(settings, api):
    with paystack_connected(settings, api) as connected:
        yield connected


@pytest.fixture
def paid(api):
    """Return the URL of a successful transfer payment of NGN 500.00."""
    account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
    order = orders.transfer_payment(account, amount=50_000)
    number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
    request = {"account_number": number, "amount": 50_000} | SENDER
    assert api.post("/api/virtual-accounts/simulate", request).status_code == 200
    return f"/api/payments/{order['reference']}"


def refund(api, paid):
    return api.post(f"{paid}/refunds", {"reference": "rf-1", "amount": 20_000, "reason": "Too small"})


def test_is_paid(paystack, api, paid):
    refunded = refund(api, paid)

    assert refunded.json()["status"] == "success"
    assert paystack.paid() == {CardOperation.objects.get().pk.hex: 20_000}


def test_that_was_paid_and_comes_back_is_for_staff(paystack, api, paid, client):
    refund(api, paid)
    reference = CardOperation.objects.get().pk.hex
    paystack.command(transfer={"reference": reference, "status": "reversed"})

    paystack.deliver(client)

    returned = PayoutReturn.objects.get()
    assert (returned.applied, returned.why, returned.amount) == ("unmatched", "refund", 20_000)
    assert CardOperation.objects.get().status == "success"
    assert [one.broken for one in check(INVARIANTS) if not one.holds] == []


def test_that_was_lost_is_sent_again_a_minute_later(paystack, api, paid):
    paystack.plan("POST /transfer: lose_and_cut")
    assert refund(api, paid).json()["status"] == "pending"

    paystack.requery()
    assert paystack.paid() == {}
    paystack.requery_later()

    assert CardOperation.objects.get().status == "success"
    assert paystack.paid() == {CardOperation.objects.get().pk.hex: 20_000}


def test_is_refused_while_the_rail_is_blocked(paystack, api, paid):
    paystack.command(switch={"on_hold": True})
    payout = paystack.pay_out()

    refused = refund(api, paid)

    assert (refused.status_code, refused.json()["code"]) == (503, "rail_unavailable")
    assert not CardOperation.objects.exists()
    assert Transaction.objects.get(method="virtual_account").amount_being_refunded == 0
    assert RailBlock.objects.get().order_id.hex == payout["id"].replace("-", "")


def test_that_was_refused_is_the_probe(paystack, api, paid):
    paystack.command(switch={"on_hold": True})
    assert refund(api, paid).json()["status"] == "pending"
    paystack.command(switch={"on_hold": False})

    paystack.requery_later()

    assert CardOperation.objects.get().status == "success"
    assert not RailBlock.objects.exists()
