"""The client against a running sandbox."""

import secrets
from itertools import islice

import pytest

import sluice

pytestmark = pytest.mark.long


@pytest.fixture
def reference():
    return f"py-{secrets.token_hex(4)}"


@pytest.fixture
def pay(client, card):
    def make(reference, **changes):
        return client.payments.card(
            **{"reference": reference, "amount": 250_000, "currency": "NGN", "source": card}
            | {"redirect_url": "https://shop.example/done"}
            | changes
        )

    return make


def test_pays_by_card_and_refunds(client, pay, reference):
    payment = pay(reference)
    again = pay(reference)
    refund = client.refunds.create(reference, reference=f"{reference}-r", amount=100, reason="Returned")

    assert (payment.status, payment.response_code, payment.meta.status) == ("success", "10000", 201)
    assert (again.id, again.meta.replayed) == (payment.id, True)
    assert (refund.status, client.refunds.get(f"{reference}-r").amount) == ("success", 100)
    assert [each.reference for each in client.refunds.list(reference)] == [f"{reference}-r"]
    assert client.payments.get(reference).refund_status == "partially_refunded"


def test_returns_a_decline_and_raises_what_is_refused(client, pay, reference):
    assert (pay(reference, amount=10_051).status, client.payments.get(reference).response_code) == (
        "failed",
        "20051",
    )

    with pytest.raises(sluice.DuplicateReference) as refused:
        pay(reference, amount=10_052)
    assert refused.value.first_status == "failed"
    with pytest.raises(sluice.InvalidRequest, match="amount"):
        pay(f"{reference}-2", amount=0)
    with pytest.raises(sluice.NotFound):
        client.payments.get("no-such-payment")


def test_authorises_captures_voids_and_waits(client, pay, reference):
    pay(reference, capture=False)
    captured = client.payments.capture(reference, 1_000)
    pay(f"{reference}-v", capture=False)
    voided = client.payments.void(f"{reference}-v")

    assert (captured.status, captured.total_amount_captured) == ("success", 1_000)
    assert voided.response_code == "20090"
    assert client.payments.wait(reference).status == "success"


def test_takes_a_transfer_into_an_account(client, reference):
    address = {
        "address_line1": "12 Marina",
        "city": "Lagos",
        "state": "Lagos",
        "postal_code": "101241",
        "country": "NGA",
    }
    account = client.virtual_accounts.dynamic(
        reference=reference,
        email="ada@shop.example",
        currency="NGN",
        first_name="Ada",
        last_name="Obi",
        address=address,
    )
    payment = client.payments.transfer(
        reference=f"{reference}-p",
        amount=5_000,
        currency="NGN",
        payment_method_id=account.id,
        expiry_duration=600,
    )
    number = payment.virtual_account_details.account_number
    arrived = client.virtual_accounts.simulate_transfer(
        account_number=number, amount=5_000, sender_name="Chidi Eze"
    )

    assert arrived.success
    assert client.payments.wait(f"{reference}-p", timeout=5).status == "success"
    assert reference in [each.reference for each in client.virtual_accounts.list(limit=5).data]
    assert client.virtual_accounts.deactivate(reference).status == "inactive"


def test_pays_out_checks_cards_and_looks_up_banks(client, card, reference):
    customer = {"name": "Ada Obi", "account_number": "0123456789", "bank_code": "058"}
    top_up = client.payouts.create(reference=reference, amount=100, currency="NGN", customer=customer)

    assert top_up.status in ("success", "failed")  # a new sandbox has nothing in its wallet
    assert client.card_checks.create(currency="NGN", source=card).status == "success"
    assert client.banks.list() == client.banks.list()
    assert client.banks.resolve(account_number="0123456789", bank_code="058").account_name
    assert client.balance.get()[0].currency == "NGN"
    assert client.balance.movements(limit=1).data is not None


def test_makes_and_changes_a_payment_link(client, reference):
    link = client.payment_links.create(
        reference=reference, title="Workshop", amount=50_000, currency="NGN", max_uses=3
    )

    assert client.payment_links.get(reference).id == link.id
    assert client.payment_links.update(reference, max_uses=None).max_uses is None
    assert client.payment_links.deactivate(reference).status == "inactive"
    assert client.payment_links.activate(reference).status == "active"
    assert client.payment_links.checkouts(reference).data == []


def test_lists_what_happened(client, pay, reference):
    pay(reference)
    pay(f"{reference}-2")

    listed = islice(client.payments.list(limit=1), 2)
    assert [each.reference for each in listed] == [f"{reference}-2", reference]
    assert client.events.list().data is not None
    assert client.requests.list(limit=2).data is not None
    assert client.settlements.list().data is not None
    assert client.unapplied_transfers.list(state="open").data is not None
    assert len(client.sandbox.scenarios()) > 40
    assert client.call("GET", "/api/banks")["data"]
