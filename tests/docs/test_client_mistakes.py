"""The answers to the fifteen mistakes are those that docs/client-errors.md shows."""

import json
import re
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from sluice import Sluice, SluiceError

from payments.sample_events import SampleEvents
from tests import orders
from tests.clients import Credentials, signed_headers
from tests.docs.flows import DOCS
from tests.webhooks import servers
from tests.webhooks.rows import KEY, make_endpoint
from webhooks.exams.exam import OTHER_LAYOUT, ExamAnswer, judge
from webhooks.exams.exam_requests import requests_of

ROWS = re.findall(r"^\| (\d+)\. .+? \| (.+) \|$", (DOCS / "client-errors.md").read_text(), re.MULTILINE)
# Code and texts of each answer, without the names of commands.
SHOWN = {int(number): re.findall(r"(?:401|404|409|415|:|or) `([^`]+)`", answer) for number, answer in ROWS}
PAYMENTS, BANKS = "/api/payments", "/api/banks"


class Mistakes:
    """Makes each mistake. A method yields the texts of the answers."""

    def __init__(self, api, client, business) -> None:
        self.api, self.client, self.business = api, client, business

    def send(self, method, target, body, headers, content_type="application/json"):
        return self.client.generic(method, target, body, content_type=content_type, headers=headers)

    def get(self, target, *, key="", **signed):
        credentials = Credentials(self.api.credentials.api_key, key or self.api.credentials.secret_key)
        return self.send("GET", target, b"", signed_headers(credentials, "GET", target, **signed))

    def pay(self, **changes):
        return self.api.post(PAYMENTS, json.dumps(orders.card_payment(**changes)).encode())

    def make(self, number) -> Iterator[str]:
        for answer in getattr(self, f"mistake_{number}")():
            yield answer if isinstance(answer, str) else json.dumps(answer.json(), ensure_ascii=False)

    def mistake_1(self):
        yield self.pay(amount=50)

    def mistake_2(self):
        yield self.pay(amount=2500.0)

    def mistake_3(self):
        headers = signed_headers(self.api.credentials, "POST", PAYMENTS, b'{"a":1}')
        yield self.send("POST", PAYMENTS, b'{"a": 1}', headers)

    def mistake_4(self):
        for signed in ("/gateway/api/banks", "/banks"):
            yield self.send("GET", BANKS, b"", signed_headers(self.api.credentials, "GET", signed))

    def mistake_5(self):
        with pytest.raises(CommandError) as refused:
            call_command(
                "configure_webhook", business="x", url="https://a.shop.com", events="payment.succeeded"
            )
        yield str(refused.value)
        yield self.api.post("/api/sandbox/listeners", {"name": "a", "events": ["payment.succeeded"]})

    def mistake_6(self):
        requests = requests_of(
            kinds=["payment.success"], hash_key=KEY, events=SampleEvents(SimpleNamespace(currencies=["NGN"])),
            tag="0", now=timezone.now(),
        )  # fmt: skip
        answers = {
            each.number: ExamAnswer(204 if each.probe == OTHER_LAYOUT else 400, "", 1.0) for each in requests
        }
        yield judge(requests, answers, is_over=True)[0].cause

    def mistake_7(self):
        yield self.send("GET", BANKS, b"", {"Authorization": "Bearer sk_sandbox_1"})

    def mistake_8(self):
        yield self.get(BANKS, key=make_endpoint(business=self.business).hash_key)

    def mistake_9(self):
        yield self.get(BANKS, timestamp="1769846400123")

    def mistake_10(self):
        self.get(PAYMENTS, nonce="A1b2C3d4E5f6G7h8")
        yield self.get(PAYMENTS, nonce="A1b2C3d4E5f6G7h8")

    def mistake_11(self):
        yield self.api.get("/api/paymnets")

    def mistake_12(self):
        headers = signed_headers(self.api.credentials, "POST", PAYMENTS, b"{}")
        yield self.send("POST", PAYMENTS, b"{}", headers, content_type="")

    def mistake_13(self):
        self.pay(reference="a", amount=50_000)
        yield self.pay(reference="a", amount=60_000)

    def mistake_14(self):
        with servers.opened(lambda visit: visit.send(servers.status(400))) as listener:
            yield failure("https", listener.port)
        with servers.opened(servers.reset) as listener:
            yield failure("http", listener.port)

    def mistake_15(self):
        yield failure("http", servers.refused_port())
        with servers.opened(servers.answering(servers.status(404))) as listener:
            yield failure("http", listener.port)


def failure(scheme, port) -> str:
    """Return what the client says, with the port of the guide."""
    with (
        Sluice(f"{scheme}://127.0.0.1:{port}", "pk_1", "sk_1", retries=0) as client,
        pytest.raises(SluiceError) as failed,
    ):
        client.payments.get("a")
    return str(failed.value).replace(str(port), "8443")


@pytest.mark.django_db
def test_answers_are_those_that_the_guide_shows(subtests, api, client, ada):
    for number in range(1, 16):
        with subtests.test(number=number):
            answers = list(Mistakes(api, client, ada.business).make(number))

            assert SHOWN[number]
            for text in SHOWN[number]:
                assert any(text in answer for answer in answers), (text, answers)


def test_guide_shows_fifteen():
    assert list(SHOWN) == list(range(1, 16))
