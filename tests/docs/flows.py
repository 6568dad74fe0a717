"""The requests and responses that the flow guides show, in their order."""

import json
import re
from collections.abc import Callable
from http import HTTPStatus
from typing import Any, NamedTuple

import requests

from config.environment.env import PROJECT
from developer_site.guides.request_samples import samples
from tests.journeys.service import Service

DOCS = PROJECT / "docs"
GUIDES = ("hosted-checkout", "card-payments", "card-checks", "payouts", "virtual-accounts", "payment-links")
ACCOUNT_NUMBER = re.compile(r"\b[0-9]{10}\b")
BLOCK = re.compile(r"^```http\n(.*?)\n```$", re.MULTILINE | re.DOTALL)

# Values that differ each time; the guide shows an example.
ANEW = {
    "id",
    "payment_timestamp",
    "at",
    "completed_at",
    "created_at",
    "updated_at",
    "expires_at",
    "acquirer_transaction_id",
    "authorization_code",
    "retrieval_reference_number",
    "system_trace_audit_number",
    "redirect_link",
    "account_number",
    "slug",
    "url",
}


class Answer(NamedTuple):
    """A response. Its status is 0 if the sender doesn't see it."""

    status: int
    document: dict[str, Any]


def blocks(guide: str) -> list[tuple[str, str]]:
    """Return the first line and the body of each HTTP block in a guide."""
    found = [block.partition("\n\n") for block in BLOCK.findall((DOCS / f"{guide}.md").read_text())]
    return [(first, body) for first, _, body in found]


def filled(text: str, before: dict[str, Any]) -> str:
    """Return a request with `{id}` and `{account_number}` from the previous response."""
    number = before.get("virtual_account_details", {}).get("account_number", "")
    return text.replace("{id}", before.get("id", "")).replace("{account_number}", number)


def as_shown(answer: Any, shown: Any) -> Any:
    """Return a response with the guide's values where they differ each time."""
    if (
        isinstance(answer, str)
        and isinstance(shown, str)
        and ACCOUNT_NUMBER.sub("", answer) == ACCOUNT_NUMBER.sub("", shown)
    ):
        return shown
    if not isinstance(shown, dict) or not isinstance(answer, dict):
        return answer
    return {
        name: shown[name] if name in ANEW and value and type(value) is type(shown.get(name)) else
        as_shown(value, shown.get(name))
        for name, value in answer.items()
    }  # fmt: skip


def code_of(label: str, line: str, body: str) -> str:
    """Return the sample of a request in a language."""
    return next(each.code for each in samples(f"{line}\n\n{body}") if each.label == label)


def play(
    guide: str,
    send: Callable[[str, str, dict[str, Any]], Answer],
    confirm: Callable[[str], object],
) -> None:
    """Send the requests of a guide and compare the responses.

    `send` is given the first line, the body and the response before. `confirm` acts as the payer whose payment awaits
    one, and is given the link to the payer's page.
    """
    answer = None
    for line, body in blocks(guide):
        if not line.startswith("HTTP/1.1 "):
            answer = send(line, body, answer.document if answer else {})
            assert answer.status in {0, 200, 201}, (line, answer.document)
            continue
        assert answer is not None, "a response precedes its request"
        status = HTTPStatus(answer.status or int(line.split(" ")[1]))
        assert line == f"HTTP/1.1 {status.value} {status.phrase}"
        shown = json.loads(body)
        expected = as_shown(answer.document, shown)
        assert expected == shown
        if "redirect_link" in answer.document:
            confirm(answer.document["redirect_link"])


CODE = "123456"


def approve(link: str) -> None:
    """Act as a payer in front of a 3-D Secure page."""
    requests.post(link, data={"action": "approve", "code": CODE}, allow_redirects=False, timeout=10)


def of_new_business(service: Service) -> dict[str, str]:
    """Return the variables that samples read, with the keys of a new business."""
    keys = service.open_business("Ada Books").credentials
    return {
        "SLUICE_BASE_URL": service.base_url,
        "SLUICE_API_KEY": keys.api_key,
        "SLUICE_SECRET_KEY": keys.secret_key,
    }
