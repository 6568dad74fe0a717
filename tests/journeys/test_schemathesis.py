"""Send generated requests, valid and invalid, from the OpenAPI description to the running service.

Every response must match the description: a documented status, media type and schema, and no server error.
Every run sends the same requests. SCHEMATHESIS_EXAMPLES=70 sends more of them.
"""

import itertools
import os

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from developer_site.openapi.document import document
from kit import banks
from payments.rules.sandbox_triggers import TEST_CARDS
from tests import orders
from tests.clients import signed_headers
from tests.payers import Payer

pytestmark = [pytest.mark.journey, pytest.mark.long, pytest.mark.xdist_group("journey")]

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
    response_headers_conformance,
]
EXAMPLES = int(os.environ.get("SCHEMATHESIS_EXAMPLES", "15"))  # per operation and mode
FOR_LINKS = 70  # few generated requests about links are acceptable, and one must be accepted
CARDS = [orders.GOOD_CARD, *(card.number for card in TEST_CARDS)]
NUMBERS = itertools.count()
OPERATIONS = [each["operationId"] for path in document()["paths"].values() for each in path.values()]
OF_LINKS = {name for name in OPERATIONS if "Link" in name or "Checkout" in name}
BANK_CODES = [bank.code for bank in banks.all_banks()]


@pytest.fixture(scope="module")
def description(service):
    document = requests.get(f"{service.base_url}/api/openapi.json", timeout=60).json()
    loaded = schemathesis.openapi.from_dict(document)
    loaded.config.generation.update(with_security_parameters=False)  # every request is signed, see `send`
    return loaded


@pytest.fixture(scope="module")
def references(service):
    """References of payments in every state that allows an action."""
    wanted = [
        orders.card_payment(),
        orders.card_payment(capture=False),
        orders.card_payment(amount=50_051),
        orders.card_payment(three_ds={"enabled": True}),
        orders.payout(),
        orders.card_check(),
    ]
    for number, order in enumerate(wanted):
        order["reference"] = f"known-{number}"
        assert service.client.post("/api/payments", order).status_code == 201
    return [order["reference"] for order in wanted]


@pytest.fixture(scope="module")
def links(service):
    """References of payment links: open, paid by a payer, chosen amount, deactivated."""
    span = {"min": 10_000, "max": 50_000}
    wanted = [{}, {"max_uses": 1}, {"amount": ..., "amount_range": span, "max_uses": 30}, {"max_uses": 20}]
    made = [service.client.post("/api/payment-links", orders.payment_link(**changes)) for changes in wanted]
    assert [answer.status_code for answer in made] == [201] * len(wanted)
    payer = Payer("192.0.2.1", service.base_url)
    assert payer.pay_by_card(payer.begin(made[1].json()["url"])).status_code == 303
    found = [answer.json()["reference"] for answer in made]
    assert service.client.post(f"/api/payment-links/{found[3]}/deactivate").status_code == 200
    return found


@pytest.fixture(scope="module")
def link_payments(service, links):
    """References of payments that came from payment links."""
    found = service.client.get("/api/payments?limit=100").json()["data"]
    return [payment["reference"] for payment in found if "payment_link_id" in payment]


@pytest.fixture(scope="module")
def known(references, accounts, links, link_payments):
    """Known references, by what the path names."""
    of_accounts = [account["reference"] for account in accounts]
    return {
        "virtual-accounts": of_accounts,
        "payment-links": links,
        "/checkout": link_payments,
        "/api/": references,
    }


@pytest.fixture(scope="module")
def accounts(service):
    """The creation responses of accounts of every kind."""
    wanted = [orders.dynamic_account(), orders.static_account(), orders.business_account()]
    opened = [service.client.post("/api/virtual-accounts", order) for order in wanted]
    assert [answer.status_code for answer in opened] == [201, 201, 201]
    return [answer.json() for answer in opened]


@pytest.mark.parametrize(
    ("operation_id", "mode"),
    [
        pytest.param(name, mode, id=f"{name}-{mode.value}")
        for name in OPERATIONS
        for mode in GenerationMode
        # A request without parameters and body cannot be invalid.
        if name not in {"listBanks", "listCapabilities", "getBalance", "listScenarios", "listListeners"}
        or mode is GenerationMode.POSITIVE
    ],
)
def test_answers_as_described(  # noqa: PLR0917
    service, description, known, accounts, operation_id, mode
):
    operation = description.find_operation_by_id(operation_id)
    must_be_accepted = mode is GenerationMode.POSITIVE and operation_id in OF_LINKS
    statuses = set()

    @settings(
        max_examples=max(EXAMPLES, FOR_LINKS) if must_be_accepted else EXAMPLES,
        derandomize=True,
        database=None,
        deadline=None,
        phases=[Phase.generate],  # failures are reported as found, because shrinking would take minutes
        suppress_health_check=list(HealthCheck),
    )
    @given(case=operation.as_strategy(generation_mode=mode), data=st.data())
    def answers_as_described(case, data):
        if "reference" in (case.path_parameters or {}) and data.draw(st.booleans()):
            chosen = next(found for part, found in known.items() if part in case.path)
            case.path_parameters["reference"] = data.draw(st.sampled_from(chosen))
        if mode is GenerationMode.POSITIVE and operation_id == "pollListener":
            given_body = case.body if isinstance(case.body, dict) else {}
            case.body = given_body | {"wait": data.draw(st.integers(0, 1))}  # up to ten seconds otherwise
        elif mode is GenerationMode.POSITIVE and isinstance(case.body, dict):
            _make_acceptable(case.body, data, accounts)
        answer = _send(service, case)
        statuses.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    answers_as_described()
    if must_be_accepted:
        assert statuses & {200, 201}, "no generated request was accepted"


def _make_acceptable(body, data, accounts):
    """Insert values that a schema cannot express: Luhn-valid numbers, listed banks, enabled currencies
    and accounts.

    Half of the references are new; the others may have been used.
    """
    if "reference" in body and data.draw(st.booleans()):
        body["reference"] = f"new-{next(NUMBERS)}"
    if "title" in body:
        _make_acceptable_link(body, data)
    if "currency" in body:
        body["currency"] = data.draw(st.sampled_from(["NGN", "USD"]))
    if "pan" in body.get("source", {}):
        body["source"]["pan"] = data.draw(st.sampled_from(CARDS))
    if "bank_code" in body.get("customer", {}):
        body["customer"]["bank_code"] = data.draw(st.sampled_from(BANK_CODES))
    if "country" in body.get("address", {}):
        body["address"]["country"] = data.draw(st.sampled_from(["NGA", "GBR"]))
    if "payment_method_id" in body:
        body["payment_method_id"] = data.draw(st.sampled_from(accounts))["id"]
        body["currency"] = "NGN"
    if "account_number" in body:
        numbers = [account["customer"]["account_number"] for account in accounts]
        body["account_number"] = data.draw(st.sampled_from([number for number in numbers if number]))


def _make_acceptable_link(body, data):
    """Let the fields of a payment link, or of a change, fit each other, as its rules in words say."""
    body.pop("slug", None)
    body.pop("customer", None)
    if "expires_at" in body:
        body["expires_at"] = "2030-01-01T00:00:00Z"
    if body.get("max_uses"):
        body["max_uses"] = data.draw(st.integers(2, 100))
        body.pop("transfer_window", None)
    if "reference" in body:  # not a change
        body.pop("amount_range", None)
        body["amount"] = data.draw(st.integers(10_000, 10**9))
    if "custom_fields" in body:
        body["custom_fields"] = body["custom_fields"] and body["custom_fields"][:1]


def _send(service, case):
    """Send a case, signed over exactly the bytes that are sent."""
    prepared = requests.Request(**case.as_transport_kwargs(base_url=service.base_url)).prepare()
    body = prepared.body or b""
    body = body.encode() if isinstance(body, str) else body
    prepared.headers.update(signed_headers(service.credentials, prepared.method, prepared.path_url, body))
    with requests.Session() as session:
        return session.send(prepared, timeout=20, allow_redirects=False)
