"""Payouts that the simulated bank returns, with notifications over real HTTP."""

import json
from urllib.request import Request, urlopen

import pytest

from ledger.models import Account
from payments.simulators.bank import NoSuchTransfer
from tests import orders

pytestmark = pytest.mark.django_db(transaction=True)

KEY = "bank-key-of-today-0123456789-0123456789"


@pytest.fixture
def notifying(bank, settings, live_server):
    """Return a bank that notifies the running service."""
    settings.BANK_NOTIFICATION_KEYS = [KEY]
    bank.notify_url, bank.notify_key = live_server.url, KEY
    return bank


def pay_out(api, **changes):
    return api.post("/api/payments", orders.payout(**changes)).json()


def control(bank, order):
    request = Request(f"{bank.url}/control", data=json.dumps(order).encode(), method="POST")
    with urlopen(request, timeout=10) as answer:
        return json.load(answer)


def wallet():
    return Account.objects.get(kind="wallet", currency="NGN").balance


def test_returned_payout_is_reversed(api, notifying):
    payout = pay_out(api, amount=250_000)
    reference = payout["id"].replace("-", "")

    result = control(notifying, {"return": {"reference": reference, "reason": "Account closed"}})

    assert result["answer"]["status"] == 200
    assert json.loads(result["answer"]["body"])["applied"] == "reversed"
    shown = api.get(f"/api/payments/{payout['reference']}").json()
    assert (shown["status"], shown["reversal"]["amount"], shown["reversal"]["reason"]) == (
        "success", 250_000, "Account closed",
    )  # fmt: skip
    assert notifying.books.paid(reference) == 0
    assert wallet() == -1_000


def test_payout_is_returned_in_parts(api, notifying):
    payout = pay_out(api, amount=250_000)
    reference = payout["id"].replace("-", "")

    for amount in (100_000, 150_000):
        notifying.return_payout(reference, amount=amount)

    assert api.get(f"/api/payments/{payout['reference']}").json()["reversal"]["amount"] == 250_000
    with pytest.raises(NoSuchTransfer):
        notifying.return_payout(reference)


def test_bank_returns_only_paid_payouts(api, bank):
    failed = pay_out(api, amount=250_051)

    for reference in (failed["id"].replace("-", ""), "0" * 32):
        with pytest.raises(NoSuchTransfer):
            bank.return_payout(reference)
