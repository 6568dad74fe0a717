"""Journeys through all operations, whose answers and events are compared with what Paystack publishes."""

import pytest

from tests.connectors.paystack import documents
from tests.connectors.paystack.client import (
    AT_BANK,
    IDENTITY,
    LIVE_KEY,
    NO_FUNDS,
    REFERENCE,
    WITH_OTP,
    WITH_PHONE,
    Client,
)

ANSWER = {
    "resolution": "declined",
    "message": "Delivered",
    "refund_amount": 50_000,
    "uploaded_filename": "a.pdf",
}
PAYER = {
    "customer_email": "a@b.co",
    "customer_name": "Ada",
    "customer_phone": "080",
    "service_details": "Books",
}


@pytest.fixture(autouse=True)
def published():
    if not documents.are_here():
        pytest.skip(documents.MISSING)  # at one place, so that the suite's summary has one line about it


def charges(paystack, live):
    paystack.charge()
    paystack.verify()
    paystack.get(f"/charge/{REFERENCE}")
    paystack.charge(WITH_OTP, reference="otp")
    paystack.verify("otp")
    paystack.get("/charge/otp")
    paystack.post("/charge/submit_pin", reference="otp", pin="1234")
    paystack.post("/charge/submit_otp", reference="otp", otp="123456")
    paystack.charge(WITH_PHONE, reference="phone")
    paystack.post("/charge/submit_pin", reference="phone", pin="0000")
    paystack.post("/charge/submit_phone", reference="phone", phone="08030000000")
    paystack.command(script={"card": ["birthday address approved", "pending=10 declined"]})
    paystack.charge(reference="birthday")
    paystack.post("/charge/submit_birthday", reference="birthday", birthday="1990-12-31")
    paystack.post(
        "/charge/submit_address",
        reference="birthday",
        address="1 Marina",
        city="Lagos",
        state="LA",
        zip_code="1",
    )
    paystack.charge(reference="pending")
    paystack.charge(AT_BANK, reference="bank")
    paystack.charge(NO_FUNDS, reference="poor")
    paystack.get("/charge/poor")
    paystack.verify("poor")
    paystack.get(f"/transaction/{paystack.verify().data['id']}")
    paystack.get("/transaction")
    paystack.get("/transaction", use_cursor="true", perPage=2)


def hosted_checkout(paystack, live):
    paystack.post("/transaction/initialize", email="ada@example.com", amount=50_000, reference=REFERENCE)
    paystack.verify()


def accounts(paystack, live):
    account = live.account(preferred_bank="wema-bank")
    customer = live.get("/customer/shop+va-1@example.com").data
    live.get("/dedicated_account", customer=customer["id"], provider_slug="wema-bank")
    live.get("/dedicated_account/available_providers")
    live.get(
        "/dedicated_account/requery", account_number=account["account_number"], provider_slug="wema-bank"
    )
    live.command(receive={"account_number": account["account_number"], "amount": 70_000})
    live.get("/transaction", channel="dedicated_nuban")
    live.command(script={"identification": ["success", "failed"], "assignment": ["success", "failed"]})
    for _ in range(2):
        live.post(f"/customer/{customer['customer_code']}/identification", **IDENTITY)
        live.post(
            "/dedicated_account/assign",
            email="new@example.com",
            first_name="Bola",
            last_name="Ade",
            phone="080",
            preferred_bank="wema-bank",
            country="NG",
        )
    live.call("DELETE", f"/dedicated_account/{account['id']}")


def sessions(paystack, live):
    session = paystack.session().data
    paystack.verify()
    paystack.command(receive={"account_number": session["account_number"], "amount": 49_999})
    other = paystack.session(reference="other").data
    paystack.command(receive={"account_number": other["account_number"], "amount": 50_000})
    paystack.verify("other")
    paystack.get("/charge/other")


def transfers(paystack, live):
    live.get("/bank", currency="NGN", perPage=5, use_cursor="true", include_nip_sort_code="true")
    live.get("/bank", currency="NGN")
    live.get("/bank/resolve", account_number="0123456789", bank_code="058")
    live.get("/balance")
    live.command(script={"transfer": ["success reversed", "pending failed"]})
    live.transfer()
    live.transfer("another-reference-0001")
    live.get(f"/transfer/verify/{REFERENCE}")
    live.get("/transfer", status="success", per_page=5)
    live.get("/balance/ledger")


def refunds(paystack, live):
    paystack.charge()
    paystack.command(script={"refund": ["pending processing processed", "pending failed", "needs-attention"]})
    for amount in (10_000, 11_000, 12_000):
        refund = paystack.post("/refund", transaction=REFERENCE, amount=amount, merchant_note="ours").data
        paystack.get(f"/refund/{refund['id']}")
    paystack.get("/refund", transaction=paystack.verify().data["id"])
    paystack.post(
        f"/refund/retry_with_customer_details/{refund['id']}",
        refund_account_details={"currency": "NGN", "account_number": "0123456789", "bank_id": "5"},
    )
    paystack.verify()


def disputes(paystack, live):
    live.charge()
    number = live.command(dispute={"reference": REFERENCE})["dispute"]
    live.simulator.advance(4 * 3600)
    live.get("/dispute", status="awaiting-merchant-feedback")
    live.get(f"/dispute/{number}")
    live.get(f"/dispute/{number}/upload_url", upload_filename="receipt.pdf")
    live.post(f"/dispute/{number}/evidence", **PAYER, delivery_address="1 Marina")
    live.put(f"/dispute/{number}/resolve", **ANSWER)
    live.command(decide={"id": number, "resolution": "merchant-accepted"})
    live.get(f"/dispute/{number}")


def settlements(paystack, live):
    paystack.charge()
    number = paystack.command(settle=True)["settle"]
    paystack.get("/settlement")
    paystack.get(f"/settlement/{number}/transactions")


def refusals(paystack, live):
    paystack.call("GET", "/balance", key="sk_test_other")
    paystack.verify("unknown")
    paystack.get("/charge/unknown")
    paystack.get("/transfer/verify/unknown")
    paystack.post("/charge", amount=50_000, card={})
    paystack.charge()
    paystack.charge()
    paystack.transfer(recipient="RCP_unknown")
    paystack.get("/refund/1")
    paystack.get("/customer/unknown")


JOURNEYS = (charges, hosted_checkout, accounts, sessions, transfers, refunds, disputes, settlements, refusals)


@pytest.mark.parametrize("journey", JOURNEYS)
def test_agrees_with_what_is_published(paystack, live, journey):
    journey(paystack, live)  # the fixtures compare every answer and event


def test_journeys_meet_every_operation_and_event():
    seen = set()
    for journey in JOURNEYS:
        clients = Client(), Client(key=LIVE_KEY)
        journey(*clients)
        for client in clients:
            seen.update(documents.operation(method, path) for method, path, *_ in client.exchanges)
            seen.update(event.name for event in client.simulator.integration.outbox.events)

    assert set(documents.SAMPLES) | documents.sampled_events() <= seen
