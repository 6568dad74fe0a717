"""Every request in the flow guides is sent, and gets the response that the guide shows: as HTTP and by our Python client and curl."""

import json
import re
from dataclasses import dataclass
from typing import Any

import pytest
from django.test import Client
from sluice import Sluice
from sluice.transport import Request, Response

from config.environment.env import PROJECT
from tests.client_packages.programs import run
from tests.docs.flows import CODE, DOCS, GUIDES, Answer, approve, code_of, filled, of_new_business, play
from webhooks.endpoints.url_validation import refusal


def approve_in_process(link: str) -> None:
    Client().post("/3ds/" + link.rpartition("/")[2], {"action": "approve", "code": CODE})


@dataclass
class InProcess:
    """Sends what our Python client has signed through Django's test client, and keeps the last answer."""

    answer: Any = None

    def send(self, request: Request) -> Response:
        headers = dict(request.headers)
        content_type = headers.pop("Content-Type", "")
        self.answer = Client().generic(
            request.method, request.target, request.body, content_type, headers=headers
        )
        received = {name.lower(): value for name, value in self.answer.headers.items()}
        return Response(self.answer.status_code, received, self.answer.content)


@pytest.mark.django_db
@pytest.mark.parametrize("guide", GUIDES)
class TestRequests:
    def test_get_the_responses_shown_in_their_guide(self, api, guide):
        def send(line, body, before):
            method, target = line.split(" ")
            answer = api.send(method, target, filled(body, before).encode())
            return Answer(answer.status_code, answer.json())

        play(guide, send, approve_in_process)

    def test_get_the_same_responses_by_their_python_samples(self, api, guide, monkeypatch):
        transport, keys = InProcess(), api.credentials
        client = Sluice("https://pay.example", keys.api_key, keys.secret_key, transport=transport, retries=0)
        monkeypatch.setattr(Sluice, "from_env", lambda: client)

        def send(line, body, before):
            exec(filled(code_of("Python", line, body), before), {})  # noqa: S102
            return Answer(transport.answer.status_code, transport.answer.json())

        play(guide, send, approve_in_process)


@pytest.fixture
def variables(service):
    """The keys of a new business: guides show its balance."""
    return of_new_business(service)


@pytest.mark.long
@pytest.mark.journey
@pytest.mark.xdist_group("journey")
@pytest.mark.parametrize("guide", GUIDES)
def test_curl_samples_get_the_same_responses(guide, variables):

    def send(line, body, before):
        code = filled(code_of("curl", line, body), before)
        return Answer(0, json.loads(run("bash", "-euo", "pipefail", "-c", code, cwd=PROJECT, **variables)))

    play(guide, send, approve)


class TestWebhookAddresses:
    def test_in_guides_are_accepted_in_production(self):
        guides = [path.read_text() for path in DOCS.glob("*.md")]

        addresses = {url for guide in guides for url in re.findall(r"--url (?:')?(https://[^\s']+)", guide)}

        assert addresses
        assert {url: refusal(url, strict=True) for url in addresses} == dict.fromkeys(addresses)


class TestSources:
    def test_in_guides_have_a_type_in_lower_case(self):
        """The service accepts any case. Guides use one."""
        guides = "".join(path.read_text() for path in DOCS.glob("*.md"))

        types = re.findall(r'"source": \{\s*"type": "(\w+)"', guides)

        assert "card" in types
        assert [type_ for type_ in types if type_ != type_.lower()] == []
