"""Every request in the flow guides is sent, and gets the response that the guide shows."""

import json
import re
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from django.test import Client

from webhooks.url_validation import refusal

DOCS = Path(__file__).resolve().parents[2] / "docs"
GUIDES = ("card-payments", "card-checks", "payouts", "virtual-accounts", "payment-links")
ACCOUNT_NUMBER = re.compile(r"\b[0-9]{10}\b")
BLOCK = re.compile(r"^```http\n(.*?)\n```$", re.MULTILINE | re.DOTALL)

# Values that differ each time; the guide shows an example.
ANEW = {
    "id",
    "payment_timestamp",
    "created_at",
    "expires_at",
    "acquirer_transaction_id",
    "authorization_code",
    "retrieval_reference_number",
    "system_trace_audit_number",
    "redirect_link",
    "account_number",
}


def blocks(guide: str) -> list[tuple[str, str]]:
    """Return the first line and the body of each HTTP block in a guide."""
    found = [block.partition("\n\n") for block in BLOCK.findall((DOCS / f"{guide}.md").read_text())]
    return [(first, body) for first, _, body in found]


def send(api: Any, line: str, body: str, before: dict[str, Any]) -> Any:
    """Send a request; `{id}` and `{account_number}` in it are taken from the previous response."""
    method, target = line.split(" ")
    number = before.get("virtual_account_details", {}).get("account_number", "")
    body = body.replace("{id}", before.get("id", "")).replace("{account_number}", number)
    return api.send(method, target, body.encode())


def confirm(answer: dict[str, Any]) -> None:
    """Act as the payer between two calls, if the payment awaits one."""
    if "redirect_link" in answer:
        path = "/3ds/" + answer["redirect_link"].rpartition("/")[2]
        Client().post(path, {"action": "approve", "code": "123456"})


def shown_part(answer: Any, shown: Any) -> Any:
    """Return the part of a response that the guide shows, with the guide's values where they differ each
    time.
    """
    if (
        isinstance(answer, str)
        and isinstance(shown, str)
        and ACCOUNT_NUMBER.sub("", answer) == ACCOUNT_NUMBER.sub("", shown)
    ):
        return shown
    if not isinstance(shown, dict):
        return answer
    return {
        name: value if name in ANEW and answer.get(name) and type(answer[name]) is type(value) else
        shown_part(answer.get(name), value)
        for name, value in shown.items()
    }  # fmt: skip


@pytest.mark.django_db
class TestFlows:
    @pytest.mark.parametrize("guide", GUIDES)
    def test_get_the_responses_shown_in_their_guide(self, api, guide):
        answer = None
        for line, body in blocks(guide):
            if not line.startswith("HTTP/1.1 "):
                answer = send(api, line, body, answer.json() if answer else {})
                assert answer.status_code in {200, 201}, (line, answer.content)
                continue
            assert answer is not None, "a response precedes its request"
            status = HTTPStatus(answer.status_code)
            assert line == f"HTTP/1.1 {status.value} {status.phrase}"
            shown = json.loads(body)
            assert shown_part(answer.json(), shown) == shown
            confirm(answer.json())


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
