"""Answers with members of any type: read as unknown, and never an error of ours or a wrong outcome."""

import json
import random
from dataclasses import replace

import pytest

from kit.connectors.http_client import HttpAnswer
from payments.rails.protocol import AnswerLost
from tests.connectors.checkout.connecting import card, connected, operation, order
from tests.connectors.paystack.test_hostile_answers import mutated

pytestmark = pytest.mark.django_db


@pytest.fixture
def acquirer(settings, simulator, monkeypatch):
    """Return a connector to a Checkout.com whose answers are changed on the way."""
    made, transport = connected(settings, simulator)
    generator, call = random.Random(1), transport.call

    def changed(request, *, timeout):
        answer = call(request, timeout=timeout)
        if not answer.body or generator.random() < 0.5:
            return answer
        document = json.loads(answer.body)
        listed = [mutated(each, generator) for each in document] if isinstance(document, list) else None
        body = mutated(document, generator) if listed is None else listed
        return HttpAnswer(answer.status, answer.headers, json.dumps(body).encode())

    monkeypatch.setattr(transport, "call", changed)
    return made


@pytest.mark.long
def test_are_unknown_unless_they_are_ours(acquirer):
    for _ in range(300):
        paid = order()
        for ask in (lambda: acquirer.authorise(paid, card=card()), lambda: acquirer.query(paid)):  # noqa: B023
            try:
                answer = ask()
            except AnswerLost:
                continue
            assert not answer.outcome.is_failure or answer.must_be_reversed
            paid = replace(paid, acquirer_reference=answer.acquirer_reference)
        refund = operation("refund", 1_000)
        for ask in (
            lambda: acquirer.operate(paid, refund),  # noqa: B023
            lambda: acquirer.query_operation(paid, refund),  # noqa: B023
            lambda: acquirer.reverse(paid, is_repeat=False),  # noqa: B023
            lambda: acquirer.open_page(order()),
        ):
            try:
                ask()
            except AnswerLost:
                continue
