"""A request pasted from one page never meets the reference of a different request on another page."""

import json
import re
from collections import defaultdict
from html import unescape

import pytest

from config.settings import BASE_DIR
from developer_site.guides.guides import DOCS
from developer_site.guides.request_samples import call_of
from developer_site.openapi.document import document

CODE = re.compile(r"^```\w*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PASTED = re.compile(r"^\S.* payments create --body - <<'JSON'\n(.*?)\nJSON$", re.MULTILINE | re.DOTALL)
OF_CLIENTS = re.compile(r'reference(?:=|: )"([\w.-]+)", ?')
CREATED_AT = ("payments", "virtual-accounts", "payment-links")


def requests_of_guide(text):
    """Yield the requests that create something: what, and the body."""
    for block in CODE.findall(text):
        call = call_of(block)
        if call is not None and call.method == "POST" and "reference" in (call.body or {}):
            yield call.target.rsplit("/", 1)[-1], call.body
        pasted = PASTED.findall(block.replace("$ .venv", ".venv"))
        yield from (("payments", json.loads(body)) for body in pasted)


def requests_of_reference():
    """Yield the example requests of the API reference."""
    for path, methods in document()["paths"].items():
        content = methods.get("post", {}).get("requestBody", {}).get("content", {})
        for example in content.get("application/json", {}).get("examples", {}).values():
            if "reference" in example["value"]:
                yield path.rsplit("/", 1)[-1], example["value"]


def requests_of_client(text):
    """Yield the payments of a client's README. Only their references can be read."""
    for block in CODE.findall(text):
        yield from (("payments", {"reference": found}) for found in OF_CLIENTS.findall(block))


def everything():
    """Return the requests of every page, by the page."""
    guides = [BASE_DIR / "README.md", *DOCS.glob("*.md")]
    pages = {file.name: list(requests_of_guide(file.read_text())) for file in guides}
    front = re.sub("</?code>", "\n", unescape((BASE_DIR / "templates" / "front.html").read_text()))
    pages["front page"] = [("payments", json.loads(body)) for body in PASTED.findall(front)]
    for name in ("python", "node"):
        readme = (BASE_DIR / "clients" / name / "README.md").read_text()
        pages[f"{name} client"] = list(requests_of_client(readme))
    return pages | {"API reference": list(requests_of_reference())}


@pytest.mark.parametrize(
    "page", ["README.md", "quickstart.md", "front page", "python client", "node client", "API reference"]
)
def test_requests_are_found(page):
    assert [kind for kind, _ in everything()[page] if kind == "payments"]


@pytest.mark.parametrize("kind", [*CREATED_AT, "refunds"])
def test_no_two_requests_share_a_reference(kind):
    found = defaultdict(list)
    for page, requests in everything().items():
        for made, body in requests:
            if made == kind and body not in [other for _, other in found[body["reference"]]]:
                found[body["reference"]].append((page, body))

    assert len(found) > 2
    assert {reference: [page for page, _ in uses] for reference, uses in found.items() if len(uses) > 1} == {}
