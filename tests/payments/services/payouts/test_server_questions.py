"""The question to the business's own server before each payout."""

import hashlib
import hmac
import json
from datetime import timedelta

import pytest
from django.utils import timezone

from ledger.services import balances
from merchants.people.audit import Actor
from payments.models import PayoutControls, PayoutServerQuestion, Transaction
from payments.services.payouts.controls import payout_freezes, waiting_payouts
from payments.services.payouts.controls.server_questions import ATTEMPTS
from tests import orders
from tests.factories import MemberFactory
from tests.receiver import running_receiver
from webhooks import services as webhooks

pytestmark = pytest.mark.django_db(transaction=False)
OWNER = Actor(name="ada@example.com")
APPROVE, DENY = b'{"decision": "approve"}', b'{"decision": "deny"}'


@pytest.fixture
def business(ada):
    webhooks.configure(
        business=ada.business,
        url="http://127.0.0.1:9/hook",
        subscribed_events=["payout"],
        enabled=False,
        actor=OWNER,
        now=timezone.now(),
    )
    return ada.business


def ask(business, server, **more):
    PayoutControls.objects.update_or_create(business=business, defaults={"server_url": server.url, **more})


def made(api, **changes):
    answer = api.post("/api/payments", orders.payout(**changes)).json()
    return answer, Transaction.objects.get(pk=answer["id"])


def stored(payout):
    return Transaction.objects.get(pk=payout.pk)


def test_approval_lets_the_payout_go(api, business):
    with running_receiver(body=APPROVE) as server:
        ask(business, server)
        answer, payout = made(api)

        assert waiting_payouts.ask_servers() == 1

    assert (answer["status"], answer["response_code"]) == ("pending", "10001")
    assert "awaiting_approval" not in answer
    assert stored(payout).status == "success"
    (asked,) = server.received
    key = business.webhook_endpoints.get().hash_key.encode()
    assert asked.headers["X-Service-Signature"] == hmac.new(key, asked.body, hashlib.sha256).hexdigest()
    assert json.loads(asked.body) == {name: each for name, each in answer.items() if name != "warnings"}


def test_denial_fails_the_payout_at_once(api, business):
    with running_receiver(body=DENY) as server:
        ask(business, server)
        _, payout = made(api)

        waiting_payouts.ask_servers()

    assert (stored(payout).status, stored(payout).response_code) == ("failed", "20092")
    assert balances(business)[0].available == 0


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (200, b'{"decision": "approve", "decision": "deny"}'),
        (200, b'"approve"'),
        (201, APPROVE),
        (302, APPROVE),
    ],
)
def test_anything_else_is_asked_again_over_15_minutes_and_then_fails(api, business, status, body):
    with running_receiver(lambda _: status, body=body) as server:
        ask(business, server)
        _, payout = made(api)
        for attempt in range(1, ATTEMPTS + 1):
            waiting_payouts.ask_servers()
            assert waiting_payouts.ask_servers() == 0  # not due yet
            assert len(server.received) == attempt
            question = PayoutServerQuestion.objects.get()
            if attempt < ATTEMPTS:
                assert stored(payout).awaiting == "server"
                wait = question.next_attempt_at - timezone.now()
                assert timedelta(minutes=4) < wait <= timedelta(minutes=5)
                PayoutServerQuestion.objects.update(next_attempt_at=timezone.now())

    assert (stored(payout).status, stored(payout).response_code) == ("failed", "20092")
    assert question.state == "unanswered"


def test_comes_after_the_approval_and_not_while_payouts_are_frozen(api, business):
    checker = MemberFactory(business=business, role="finance").user
    with running_receiver(body=APPROVE) as server:
        ask(business, server, approval="always")
        _, payout = made(api)
        assert waiting_payouts.ask_servers() == 0
        waiting_payouts.approve(payout.pk, user=checker, actor=OWNER, now=timezone.now())
        assert stored(payout).awaiting == "server"
        payout_freezes.freeze(business, reason="Stolen key", actor=OWNER, now=timezone.now())
        assert waiting_payouts.ask_servers() == 0
        payout_freezes.lift(business, reason="Revoked", actor=OWNER, now=timezone.now())

        waiting_payouts.ask_servers()

    assert stored(payout).status == "success"


def test_can_be_cancelled_before_the_answer(api, business):
    with running_receiver(body=APPROVE) as server:
        ask(business, server)
        answer, _payout = made(api)

        cancelled = api.post(f"/api/payments/{answer['reference']}/cancel", {})

        assert cancelled.json()["response_code"] == "20091"
        assert waiting_payouts.ask_servers() == 0
    assert not server.received


def test_is_asked_at_once_when_the_sandbox_advances(api, business):
    with running_receiver(body=APPROVE) as server:
        ask(business, server)
        answer, _ = made(api)

        advanced = api.post("/api/sandbox/advance", {"payment": answer["reference"]}).json()

    assert (advanced["advanced"], advanced["status"]) == ("server", "success")
