"""Our requests agree with Paystack's published document, and its published answers are read."""

import json
from uuid import uuid4

import pytest

from connectors.paystack.api.client import PaystackClient
from kit.connectors.http_client import HttpAnswer
from payments.rails.protocol import NotReceived, PayoutOrder
from tests.connectors.paystack import documents
from tests.connectors.paystack.connected import made_bank, paystack_connected

pytestmark = [
    pytest.mark.django_db,
    pytest.mark.skipif(not documents.are_here(), reason=documents.MISSING),
]
ORDER = PayoutOrder(
    id=uuid4(),
    amount=100_000,
    currency="NGN",
    beneficiary="Jekanmo Padie",
    account_number="9876543210",
    nip_code="000014",
    narration="Bonus for the week",
)


@pytest.fixture
def bank(settings, api):
    with paystack_connected(settings, api):
        yield made_bank()


def answered(bank, monkeypatch, *answers):
    """Let the next calls of the connector be answered with documents, after the list of banks was read."""
    bank.account_name(account_number="0123456789", nip_code="000014")
    written = iter([HttpAnswer(status, {}, json.dumps(document).encode()) for status, document in answers])
    monkeypatch.setattr(bank._connector._client._http, "call", lambda *_, **__: next(written))


def test_requests_are_valid(bank, monkeypatch):
    sent, post = [], PaystackClient.post

    def recorded(self, path, document, **options):
        sent.append((path, document))
        return post(self, path, document, **options)

    monkeypatch.setattr(PaystackClient, "post", recorded)
    bank.send(ORDER)

    assert [path for path, _ in sent] == ["/transferrecipient", "/transfer"]
    assert [documents.request_complaints("POST", path, body) for path, body in sent] == [[], []]


def test_sample_of_a_found_transfer_is_a_success(bank, monkeypatch):
    document = json.loads(json.dumps(documents.sample("api.transfers.verify", 200)))
    document["data"]["reference"] = ORDER.id.hex
    answered(bank, monkeypatch, (200, document))

    answer = bank.query(ORDER)

    assert answer.outcome.is_success
    assert answer.acquirer_transaction_id == "TRF_8opchtrhtjlfz90n"


def test_sample_of_a_missing_transfer_is_not_received(bank, monkeypatch):
    answered(bank, monkeypatch, (404, documents.sample("api.transfers.verify", 404)))

    with pytest.raises(NotReceived):
        bank.query(ORDER)


def test_sample_of_a_refused_recipient_fails_the_payout(bank, monkeypatch):
    refusal = documents.sample("api.transfers.initiate", 400)
    missing = documents.sample("api.transfers.verify", 404)
    answered(bank, monkeypatch, (400, refusal), (404, missing))

    assert bank.send(ORDER).outcome.code == "20030"
