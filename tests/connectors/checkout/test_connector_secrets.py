"""A card number, a CVV and the secret key appear in no log, exception, repr or answer, whatever goes wrong."""

import logging
import re
import traceback

import pytest

from kit.connectors.http_client import HttpRequest
from payments.rails.protocol import AnswerLost
from tests.connectors.checkout.connecting import card, connected, operation, order

NUMBER, CVV = "4543474002249996", "7319"
FAULTS = [
    "answer", "swallow", "cut", "half", "garbage", "error 400 request_body_malformed", "error 401", "error 403",
    "error 404", "error 409", f"error 422 {NUMBER}", "error 422 card_number_invalid", "error 422 business_not_found",
    "error 429", "error 500", "error_after 502",
]  # fmt: skip


def hits(settings, *texts):
    spellings = (NUMBER, " ".join(re.findall("....", NUMBER)), settings.CHECKOUT_SECRET_KEY)
    # Identifiers and times may have the digits of the CVV as a part.
    patterns = [*map(re.escape, spellings), rf"(?<![\w.-]){CVV}(?![\w.-])"]
    return [found for pattern in patterns for text in texts for found in re.findall(pattern, text)]


@pytest.mark.parametrize("fault", FAULTS)
def test_no_call_shows_a_secret(settings, simulator, caplog, fault):
    caplog.set_level(logging.DEBUG)
    acquirer, transport = connected(settings, simulator)
    made, shown = order(), []
    calls = (
        lambda: acquirer.authorise(made, card=card(NUMBER, cvv=CVV)),
        lambda: acquirer.query(made),
        lambda: acquirer.operate(made, operation("capture")),
        lambda: acquirer.reverse(made, is_repeat=False),
    )
    for call in calls:
        simulator.plan.add(*[fault] * 9)
        try:
            shown.append(repr(call()))
        except AnswerLost as lost:
            shown += [str(lost), repr(lost), *traceback.format_exception(lost)]
        simulator.plan._faults.clear()

    logged = [f"{record.getMessage()} {vars(record)}" for record in caplog.records]
    assert hits(settings, *shown, *logged) == []
    assert transport.sent[0][2]["source"]["number"] == NUMBER
    assert transport.sent[0][3]["Authorization"].endswith(settings.CHECKOUT_SECRET_KEY)


def test_unexpected_error_of_the_transport_shows_none(settings, simulator):
    acquirer, transport = connected(settings, simulator)

    def fail(request: HttpRequest, *, timeout: float) -> None:
        raise OSError(f"no route: {request!r}")

    transport.call = fail
    with pytest.raises(OSError, match="no route") as failed:
        acquirer.authorise(order(), card=card(NUMBER, cvv=CVV))

    assert hits(settings, *traceback.format_exception(failed.value)) == []


def test_reprs_show_none(settings, simulator):
    acquirer, _ = connected(settings, simulator)

    assert hits(settings, repr(vars(acquirer.client)), repr(card(NUMBER, cvv=CVV))) == []
