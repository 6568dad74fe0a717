"""The example of a response is the response to the example of the request with the same name."""

import pytest

from developer_site.openapi.document import document
from tests import orders
from virtual_accounts.models import VirtualAccount
from virtual_accounts.representation import VIRTUAL_ACCOUNT

# What differs each time: identifiers, times, what the acquirer or a bank assigns, and the business's own name.
ANEW = {
    "id", "payment_timestamp", "completed_at", "created_at", "acquirer_transaction_id", "authorization_code",
    "retrieval_reference_number", "system_trace_audit_number", "redirect_link", "merchant_descriptor", "account_number",
    "bank_code", "bank", "expires_at", "account_name",
}  # fmt: skip
OPERATIONS = {"/api/payments": "payments", "/api/virtual-accounts": "accounts"}


def examples_of(path):
    """Return the examples of the bodies of a POST: those of requests and of 201 responses."""
    operation = document()["paths"][path]["post"]
    parts = operation["requestBody"], operation["responses"]["201"]
    return [part["content"]["application/json"]["examples"] for part in parts]


def without_anew(answer):
    """Return an answer with nothing in place of values that differ each time."""
    if not isinstance(answer, dict):
        return answer
    return {name: None if name in ANEW else without_anew(value) for name, value in answer.items()}


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path in OPERATIONS for name in examples_of(path)[0]]
)
def test_answers_the_request_beside_it(api, path, name):
    requests, answers = examples_of(path)
    if name == "virtual_account_payment":
        api.post("/api/virtual-accounts", orders.dynamic_account())
        VirtualAccount.objects.update(id=VIRTUAL_ACCOUNT["id"].example)

    created = api.post(path, requests[name]["value"])

    assert created.status_code == 201
    assert without_anew(created.json()) == without_anew(answers[name]["value"])


@pytest.mark.parametrize("name", examples_of("/api/payments/{reference}/refunds")[0])
def test_answers_the_refund_beside_it(api, name):
    requests, answers = examples_of("/api/payments/{reference}/refunds")
    order = orders.card_payment(reference="order-1042")
    api.post("/api/payments", order)
    if name == "to_an_account":
        account = api.post("/api/virtual-accounts", orders.dynamic_account()).json()["id"]
        order = orders.transfer_payment(account, reference="order-1047")
        number = api.post("/api/payments", order).json()["virtual_account_details"]["account_number"]
        api.post("/api/virtual-accounts/simulate", {"account_number": number, "amount": 50_000})

    refunded = api.post(f"/api/payments/{order['reference']}/refunds", requests[name]["value"])

    assert without_anew(refunded.json()) == without_anew(answers[name]["value"])
