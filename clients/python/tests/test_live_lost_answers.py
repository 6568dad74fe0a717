"""The answer is lost after the request arrived: each call is executed once, and its result is returned."""

import secrets

import pytest
from tests.cutting_proxy import CuttingProxy

import sluice
from sluice.credentials import from_sandbox

pytestmark = pytest.mark.long

HOLDER = {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"}


@pytest.fixture(scope="module")
def proxy(sandbox):
    made = CuttingProxy(from_sandbox(sandbox).base_url)
    yield made
    made.close()


@pytest.fixture
def cut(proxy, sandbox, monkeypatch):
    """A client that loses the first answer of each of its writes."""
    monkeypatch.setattr("sluice.caller.FIRST_WAIT", 0)
    proxy.seen.clear()
    keys = from_sandbox(sandbox)
    with sluice.Sluice(proxy.url, keys.api_key, keys.secret_key) as made:
        yield made


@pytest.fixture
def reference():
    return f"lost-{secrets.token_hex(6)}"


@pytest.fixture
def order(card, reference):
    return {"reference": reference, "amount": 250_000, "currency": "NGN", "source": card} | {
        "redirect_url": "https://shop.example/done"
    }


def test_card_payments_and_refunds(cut, proxy, order, reference):
    payment = cut.payments.card(**order)
    refund = cut.refunds.create(reference, reference=f"{reference}-r", amount=100)

    assert (payment.status, payment.meta.replayed, proxy.times("/payments")) == ("success", True, [2])
    assert (refund.status, refund.meta.replayed, proxy.times("/refunds")) == ("success", True, [2])
    assert [each.reference for each in cut.refunds.list(reference)] == [f"{reference}-r"]
    assert cut.payments.get(reference).total_amount_refunded == 100


def test_card_checks(cut, proxy, card):
    check = cut.card_checks.create(currency="NGN", source=card)

    assert (check.status, check.meta.replayed, proxy.times("/payments")) == ("success", True, [2])


def test_payouts(cut, client, proxy, order, reference):
    client.payments.card(**order)
    client.sandbox.close_day()
    before = _available(client)

    payout = cut.payouts.create(reference=f"{reference}-p", amount=60_000, currency="NGN", customer=HOLDER)

    assert (payout.status, payout.meta.replayed, proxy.times("/payments")) == ("success", True, [2])
    assert 60_000 <= before - _available(client) < 120_000


def test_accounts(cut, proxy, reference):
    account = cut.virtual_accounts.dynamic(
        reference=reference, email="ada@shop.example", currency="NGN", first_name="Ada", last_name="Obi",
        address={
            "address_line1": "12 Marina", "city": "Lagos", "state": "Lagos", "postal_code": "101241",
            "country": "NGA",
        },
    )  # fmt: skip

    assert (account.meta.replayed, proxy.times("/virtual-accounts")) == (True, [2])
    assert cut.virtual_accounts.get(reference).id == account.id


def test_captures_and_voids(cut, client, proxy, order, reference):
    for name in ("c", "v"):
        client.payments.card(**order | {"reference": f"{reference}-{name}", "capture": False})

    captured = cut.payments.capture(f"{reference}-c", 1_000)
    voided = cut.payments.void(f"{reference}-v")

    assert (captured.status, captured.total_amount_captured, proxy.times("/capture")) == (
        "success",
        1_000,
        [2],
    )
    assert (voided.response_code, proxy.times("/void")) == ("20090", [2])
    assert captured.meta.replayed
    assert voided.meta.replayed


def test_simulated_transfers_are_not_repeated(cut, proxy):
    with pytest.raises(sluice.OutcomeUnknown, match=r"client\.requests\.list\(\)"):
        cut.virtual_accounts.simulate_transfer(account_number="0123456789", amount=5_000)

    assert proxy.times("/simulate") == [1]


def _available(client):
    (wallet,) = [each for each in client.balance.get() if each.currency == "NGN"]
    return wallet.available
