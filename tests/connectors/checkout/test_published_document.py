"""Every answer of the simulator, and every order of these tests, is valid against Checkout.com's published document."""

import json
import re

import pytest

from connectors.checkout.simulator.api.calls import CALLS
from tests.connectors.checkout import published
from tests.connectors.checkout.client import order, secure_order
from tests.connectors.checkout.test_simulated_authentication import TestHostedPage as HostedPages

pytestmark = pytest.mark.long
published.require_document()

# Answers that the document of 2023 doesn't have: the calls are newer or not in the bundle, or the facts have other sources.
UNPUBLISHED = {"/payments/{id}/reversals", "/disputes/{dispute_id}/evidence/arbitration"}
ERROR_STATUSES = {400, 409, 422, 429}


def template(method, path):
    """Return a path as the document writes it."""
    plain = path.partition("?")[0]
    for known, pattern, _ in CALLS:
        if known == method and re.fullmatch(pattern.replace("{id}", "[^/]+"), plain):
            written = pattern.replace("/disputes/{id}", "/disputes/{dispute_id}")
            return written.replace("/files/{id}", "/files/{fileId}")
    raise AssertionError(f"{method} {path} is no call")


def complaints_about(method, path, status, found):
    written = template(method, path)
    if written in UNPUBLISHED or written not in published.document()["paths"]:
        return []
    if status in ERROR_STATUSES:
        return published.complaints(found, published.component("ValidationError"))
    schema = published.answer_schema(method, written, status)
    if schema is None:
        return [] if found == b"" else ["has a body"]
    return published.complaints(found, schema)


def everything(client, simulator):
    """Make every call with every kind of answer."""
    client.pay(
        metadata={"sluice": "1"}, customer={"email": "ada@example.com", "name": "Ada"}, payment_ip="10.0.0.1"
    )
    client.pay("4544249167673670")
    client.pay("5105105105105100", amount=8205)
    client.pay(amount=0, billing_descriptor={"name": "Ada Books", "city": "Lagos"})
    client.pay(currency="XYZ")
    first = client.paid(
        source={"billing_address": {"country": "NG", "city": "Lagos"}, "store_for_future_use": True}
    )
    client.post(f"/payments/{first}/refunds", {"amount": 100, "reference": "op"})
    second, third = (client.pay()[1]["id"] for _ in range(2))
    client.post(f"/payments/{second}/captures", {"amount": 100})
    client.post(f"/payments/{third}/voids")
    waiting, failed = client.secured(), client.secured()
    client.get(f"/payments/{waiting['id']}")
    client.approve(waiting)
    client.payer(failed["_links"]["redirect"]["href"], result="decline")
    client.pass_time(2)
    session = simulator.account.payments[waiting["id"]].session
    for payment in (first, second, third, session, failed["id"]):
        client.get(f"/payments/{payment}")
        client.actions(payment)
    client.get("/payments?reference=ref-1")
    simulator.account.variants.change({"undecided_action": "listed"})
    client.post(f"/payments/{first}/refunds", {"amount": 100})
    client.actions(first)
    hosted(client)
    dispute = simulator.disputes.open(simulator.account.payments[first])
    client.get("/disputes")
    client.get(f"/disputes/{dispute.id}")
    client.call("PUT", f"/disputes/{dispute.id}/evidence", {"proof_of_delivery_or_service_text": "win"})
    client.get(f"/disputes/{dispute.id}/evidence")
    client.post(f"/disputes/{dispute.id}/evidence")
    client.post(f"/disputes/{simulator.disputes.open(simulator.account.payments[second]).id}/accept")
    client.pass_time(24 * 3600)
    report = client.get("/reports")[1]["data"][0]
    client.get(f"/reports/{report['id']}")
    client.get("/reports/rpt_none")


def hosted(client):
    page = client.post("/hosted-payments", HostedPages.ORDER)[1]
    client.get(f"/hosted-payments/{page['id']}")
    client.payer(page["_links"]["redirect"]["href"], **HostedPages.BAD_CARD)
    client.get(f"/hosted-payments/{page['id']}")
    client.payer(page["_links"]["redirect"]["href"], **HostedPages.CARD)
    client.get(f"/hosted-payments/{page['id']}")
    client.post("/hosted-payments", {})


def test_answers_are_valid(client, simulator):
    everything(client, simulator)

    found = [(*answer[:3], complaint) for answer in client.answers for complaint in complaints_about(*answer)]

    assert found == []
    calls = {(answer[0], template(*answer[:2]), answer[2]) for answer in client.answers}
    assert len(calls) > 20


def test_events_are_valid_apart_from_the_card(client, simulator, inbox):
    """In events, the card's members have other names than in the document."""
    everything(client, simulator)
    simulator.deliver()

    found = {}
    for _, _, body in inbox.received:
        event = json.loads(body)
        envelope = {
            name: value for name, value in event.items() if name not in {"data", "_links", "timestamp"}
        }
        complaints = published.complaints(envelope, published.component("EventObject"))
        if event["type"].startswith(("payment_", "card_")):
            data = {
                name: value
                for name, value in event["data"].items()
                if name not in {"source", "balances", "processing"}
            }
            complaints += published.complaints(data, published.component("Data"))
        found[event["type"]] = complaints

    assert {kind: complaints for kind, complaints in found.items() if complaints} == {}
    assert {"payment_approved", "payment_captured", "card_verified", "dispute_received"} <= found.keys()


@pytest.mark.parametrize(
    ("path", "sent"),
    [
        ("/payments", order()),
        ("/payments", secure_order(amount=0)),
        ("/payments/{id}/captures", {"amount": 100, "capture_type": "Final", "reference": "op"}),
        ("/hosted-payments", HostedPages.ORDER),
    ],
)
def test_orders_are_valid(path, sent):
    assert published.complaints(sent, published.request_schema("post", path)) == []
