"""Pages that explain: they render, load nothing from elsewhere and run nothing inline."""

import re
import shlex
from html import unescape
from html.parser import HTMLParser
from io import StringIO
from itertools import pairwise

import pytest
from django.core.management import call_command
from django.test import Client, RequestFactory

from config import docs
from config.problems import PROBLEMS
from payments.models import Transaction
from payments.sandbox_outcomes import (
    CARD_AMOUNTS,
    LOST_ANSWER_ACCOUNT,
    ONE_TIME_CODE,
    PAYOUT_AMOUNTS,
    TEST_CARDS,
)
from tests import orders

# None of these pages may need the database: these tests have none, but for those marked.
PAGES = ["/", "/docs/test-data", "/docs/errors/", *[f"/docs/errors/{code}" for code in PROBLEMS]]
MISSING = [
    "/nothing",
    "/docs/errors/no_such_code",
    "/docs/errors/%00",
    "/docs/",
    "/3ds/",
    "/favicon.ico",
    "/%ff%fe",
]


@pytest.fixture
def visitor():
    return Client(raise_request_exception=False)


@pytest.fixture
def broken(monkeypatch):
    """Let every page that is rendered for a request fail."""

    def fail(*_args, **_kwargs):
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(docs, "render", fail)


class Audit(HTMLParser):
    """Collects what a strict policy would block."""

    def __init__(self, page):
        super().__init__()
        self.findings = []
        self.loads = []
        self.ids = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.findings += [f"{tag} {name}" for name in given if name == "style" or name.startswith("on")]
        if tag == "style" or (tag == "script" and "src" not in given):
            self.findings.append(tag)
        self.findings += [f"{tag} {url}" for url in given.values() if str(url).startswith("javascript:")]
        if tag in {"script", "img", "iframe", "source"}:
            self.loads.append(given["src"])
        if tag in {"link", "form"}:
            self.loads.append(given.get("href") or given.get("action") or "/")
        if "id" in given:
            self.ids.append(given["id"])


def audited(answer):
    """Return the page's text after the checks that every page must pass."""
    page = answer.content.decode()
    audit = Audit(page)
    assert answer["Content-Type"] == "text/html; charset=utf-8"
    assert audit.findings == []
    assert [
        address for address in audit.loads if not address.startswith("/") or address.startswith("//")
    ] == []
    assert len(audit.ids) == len(set(audit.ids))
    assert page.startswith('<!doctype html>\n<html lang="en">')
    assert re.search(r"<title>[^<]+</title>", page)
    assert page.count("<h1") == 1
    assert "{%" not in page
    assert "{{" not in page
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not answer.cookies
    return unescape(page)


class TestPages:
    @pytest.mark.parametrize("path", PAGES)
    def test_render_and_hold_to_the_policy(self, visitor, path):
        answer = visitor.get(path)

        assert answer.status_code == 200
        audited(answer)

    @pytest.mark.parametrize("path", MISSING)
    def test_that_are_missing_say_so(self, visitor, path):
        answer = visitor.get(path)

        assert answer.status_code == 404
        assert "There is no such page" in audited(answer)

    @pytest.mark.parametrize("path", PAGES[:4])
    def test_lead_only_to_pages_that_exist(self, visitor, path):
        page = visitor.get(path).content.decode()

        for target in set(re.findall(r'<a [^>]*href="(/[^"]*)"', page)) - {"/admin/", "/api/docs"}:
            assert visitor.get(target).status_code == 200, target

    @pytest.mark.parametrize("path", PAGES[:4])
    def test_find_their_styles(self, visitor, path):
        page = visitor.get(path).content.decode()

        for target in re.findall(r'(?:href|src)="(/static/[^"]*)"', page):
            assert visitor.get(target).status_code == 200, target


class TestFrontPage:
    def test_leads_to_everything(self, visitor):
        page = visitor.get("/").content.decode()

        for target in ("/api/docs", "/admin/", "/docs/errors/", "/docs/test-data"):
            assert f'href="{target}"' in page

    def test_shows_test_data_in_the_sandbox_only(self, visitor, settings):
        assert orders.CHALLENGED_CARD in visitor.get("/").content.decode()

        settings.SANDBOX = False
        assert orders.CHALLENGED_CARD not in visitor.get("/").content.decode()

    @pytest.mark.django_db
    def test_quickstart_works_as_it_stands(self, visitor, api):
        page = unescape(visitor.get("/").content.decode())
        commands = re.findall(r"<code>\.venv/bin/python manage\.py (.+?)</code>", page, re.DOTALL)

        statuses = []
        for command in commands:
            curl = StringIO()
            call_command(*shlex.split(command), api_key=api.credentials.api_key, stdout=curl)
            statuses.append(play(curl.getvalue()).status_code)

        assert statuses == [200, 201, 200]
        assert Transaction.objects.get().status == "success"


def play(curl_line):
    """Send what a curl line would send."""
    words = shlex.split(curl_line)
    options = list(pairwise(words))
    headers = dict(value.split(": ", 1) for name, value in options if name == "-H")
    [method] = [value for name, value in options if name == "-X"]
    body = "".join(value for name, value in options if name == "--data-binary")
    path = "/" + words[-1].split("/", 3)[3]
    content_type = headers.pop("Content-Type", "application/json")
    return Client().generic(method, path, body.encode(), content_type=content_type, headers=headers)


class TestDataPage:
    def test_shows_every_trigger(self, visitor):
        page = visitor.get("/docs/test-data").content.decode()

        for card in TEST_CARDS:
            assert card.number in page
        for amount in [*CARD_AMOUNTS, *PAYOUT_AMOUNTS]:
            assert str(10_000 + int(amount)) in page
        assert LOST_ANSWER_ACCOUNT in page
        assert ONE_TIME_CODE in page

    @pytest.mark.django_db
    def test_tells_the_truth_about_card_amounts(self, visitor, api):
        page = visitor.get("/docs/test-data").content.decode()
        cards = page.split('id="amounts"')[1].split("</table>")[0]
        rows = re.findall(
            r'such as (\d+).*?<span class="status[^>]*>(\w+)<.*?number">(\d{5})<', cards, re.DOTALL
        )

        assert len(rows) == len(CARD_AMOUNTS)
        for amount, status, code in rows:
            payment = api.post("/api/payments", orders.card_payment(amount=int(amount))).json()
            assert (payment["status"], payment["response_code"]) == (status, code)


class TestErrorPages:
    def test_are_all_listed(self, visitor):
        page = visitor.get("/docs/errors/").content.decode()

        for code in PROBLEMS:
            assert f'href="/docs/errors/{code}"' in page

    @pytest.mark.parametrize("code", PROBLEMS)
    def test_tell_title_status_and_remedy(self, visitor, code):
        kind = PROBLEMS[code]

        page = unescape(visitor.get(f"/docs/errors/{code}").content.decode())

        assert f"<h1>{kind.title}</h1>" in page
        assert f"HTTP status {kind.status}" in page
        assert re.sub("`(.+?)`", r"<code>\1</code>", kind.help) in page
        assert 'href="/docs/errors/"' in page


class TestFailures:
    def test_of_ours_tell_the_request_id_and_nothing_else(self, visitor, broken):
        answer = visitor.get("/", headers={"X-Request-Id": "what-i-sent"})

        assert answer.status_code == 500
        page = audited(answer)
        assert "Something went wrong on our side" in page
        assert "what-i-sent" in page
        assert "secret" not in page

    def test_can_be_told_without_any_middleware(self):
        answer = docs.server_error(RequestFactory().get("/"))

        assert answer.status_code == 500
        assert b"Something went wrong on our side" in answer.content

    def test_of_permission_and_form_have_pages(self):
        request = RequestFactory().get("/")

        assert docs.forbidden(request, PermissionError()).status_code == 403
        assert docs.bad_request(request, ValueError()).status_code == 400

    def test_under_the_api_are_problems(self, visitor):
        answer = visitor.get("/api/nothing")

        assert answer.status_code == 404
        assert answer.json()["code"] == "not_found"
