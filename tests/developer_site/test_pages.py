"""Documentation pages render without external resources and inline scripts."""

import json
import os
import re
import subprocess
import sys
from functools import cache
from html import unescape
from html.parser import HTMLParser
from pathlib import Path

import pytest
from django.core.exceptions import PermissionDenied, SuspiciousOperation
from django.core.handlers.wsgi import WSGIHandler
from django.db import InterfaceError, OperationalError
from django.http import Http404
from django.test import Client, RequestFactory

from config.errors.error_codes import ERROR_CODES
from config.templatetags.prose import code_words
from developer_site import views
from developer_site.guides.guides import DEFAULT_ADDRESS, DOCS, GUIDES, page, samples
from kit.api.fields.field_codes import FIELD_CODES
from payments.models import Transaction
from payments.rules.sandbox_triggers import (
    CARD_AMOUNTS,
    DISPUTED_ENDING,
    LOST_ANSWER_ACCOUNT,
    ONE_TIME_CODE,
    PAYOUT_AMOUNTS,
    TEST_CARDS,
)
from tests import orders

# None of these pages may query the database: only marked tests have access to one.
GUIDE_PAGES = [f"/docs/{slug}" for slug in GUIDES]
LISTS = ["/", "/docs/", "/docs/test-data", "/docs/events", "/docs/search", "/docs/errors/", *GUIDE_PAGES]
PAGES = [*LISTS, *[f"/docs/errors/{code}" for code in ERROR_CODES]]
MISSING = [
    "/nothing",
    "/docs/errors/no_such_code",
    "/docs/errors/%00",
    "/docs/no-such-guide",
    "/docs/../settings",
    "/docs/samples/signing/../../../config/settings.py",
    "/docs/samples/signing/none.py",
    "/3ds/",
    "/favicon.png",
    "/%ff%fe",
]


NEED_THE_DATABASE = {"/admin/", "/api/openapi.json", "/dashboard/", "/dashboard/sandbox/"}


@pytest.fixture
def visitor():
    return Client(raise_request_exception=False)


@pytest.fixture
def fetched(visitor):
    """Return a function that gets each address once."""
    return cache(visitor.get)


@pytest.fixture
def broken(monkeypatch):
    """Make the rendering of every page fail."""

    def fail(*_args, **_kwargs):
        raise RuntimeError("a secret of ours")

    monkeypatch.setattr(views, "render", fail)


class Audit(HTMLParser):
    """Collects content that a strict content security policy would block."""

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
    """Return the text of a page after the checks that every page must pass."""
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
    assert "{{ " not in page  # {{new}} is a placeholder of scenarios
    policy = answer["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not answer.cookies
    return unescape(page)


class TestPages:
    def test_render_and_respect_the_policy(self, subtests, visitor):
        for path in PAGES:
            with subtests.test(path=path):
                answer = visitor.get(path)

                assert answer.status_code == 200
                page = audited(answer)
                assert len(re.findall(r'<meta name="description" content="[^"]{30,}">', page)) == 1

    def test_that_are_missing_return_a_404_page(self, subtests, visitor):
        for path in MISSING:
            with subtests.test(path=path):
                answer = visitor.get(path)

                assert answer.status_code == 404
                assert "Page not found" in audited(answer)

    def test_link_only_to_existing_pages(self, subtests, fetched):
        for path in LISTS:
            with subtests.test(path=path):
                page = fetched(path).content.decode()

                for link in set(re.findall(r'<a [^>]*href="([/#][^"]*)"', page)):
                    target, _, anchor = link.partition("#")
                    if target.partition("?")[0] in NEED_THE_DATABASE:
                        continue
                    answer = fetched(target or path)
                    assert answer.status_code == 200, target
                    if anchor:
                        assert f'id="{anchor}"' in answer.content.decode(), link

    def test_include_every_guide_of_the_readme(self):
        rows = re.findall(r"^\| \[.*", (DOCS.parent / "README.md").read_text(), re.MULTILINE)
        listed = {file for row in rows for file in re.findall(r"\(docs/([\w/-]+\.md)\)", row)}

        assert listed - {each.file for each in GUIDES.values()} == set()

    def test_load_their_styles(self, fetched):
        styles = {
            target
            for path in LISTS
            for target in re.findall(r'(?:href|src)="(/static/[^"]*)"', fetched(path).content.decode())
        }

        assert {target: fetched(target).status_code for target in styles} == dict.fromkeys(styles, 200)


class TestScriptName:
    """The header SCRIPT_NAME, which gunicorn accepts from trusted proxies."""

    @pytest.mark.parametrize("path", ["/", "/docs/", "/dashboard/", "/dashboard/login/"])
    @pytest.mark.parametrize("name", ["SCRIPT_NAME", "SCRIPT_URL", "REDIRECT_URL"])
    def test_changes_no_link(self, rf, db, path, name):
        environ = rf.get(path).environ | {name: f"/evil{path}"}
        headers = []

        body = b"".join(WSGIHandler()(environ, lambda _status, sent: headers.extend(sent)))

        assert b"/evil" not in body
        assert "/evil" not in str(headers)

    def test_keeps_the_rules_of_the_api(self, rf, visitor):
        answer = visitor.post("/api/payments", b"{}", content_type="text/plain", SCRIPT_NAME="/evil")

        assert answer["Content-Type"] == "application/problem+json"
        assert answer["Cache-Control"] == "no-store"


class TestFrontPage:
    def test_links_to_every_section(self, visitor):
        page = visitor.get("/").content.decode()

        for target in ("/api/docs", "/admin/", "/docs/errors/", "/docs/test-data"):
            assert f'href="{target}"' in page

    def test_shows_test_data_in_the_sandbox_only(self, visitor, settings):
        assert orders.CHALLENGED_CARD in visitor.get("/").content.decode()

        settings.SANDBOX = False
        assert orders.CHALLENGED_CARD not in visitor.get("/").content.decode()

    @pytest.mark.long
    @pytest.mark.django_db(transaction=True)
    def test_quickstart_works_unchanged(self, visitor, api, live_server):
        page = unescape(visitor.get("/").content.decode())
        commands = re.findall(r"<code>\.venv/bin/(sluice .+?)</code>", page, re.DOTALL)
        keys = {
            "SLUICE_BASE_URL": live_server.url,
            "SLUICE_API_KEY": api.credentials.api_key,
            "SLUICE_SECRET_KEY": api.credentials.secret_key,
        }

        sign, create, show = (terminal(command, keys) for command in commands)

        assert json.loads(terminal(sign, {}))["data"]
        assert "status        success" in create
        assert show == create
        assert Transaction.objects.get().status == "success"


def terminal(command, variables):
    """Run a command as in the project's directory, and return what it prints."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-ec", command],
        env=variables | {"PATH": path},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=60,
    )
    return ran.stdout


class TestGuides:
    def test_show_a_table_of_contents(self, subtests, visitor):
        for slug in GUIDES:
            with subtests.test(slug=slug):
                text = visitor.get(f"/docs/{slug}").content.decode()

                assert f'<a href="/docs/{slug}" aria-current="page">' in text
                headings = re.findall(r'<h2 id="([^"]+)"', text)
                contents = re.search(r'<nav class="guide__contents".*?</nav>', text, re.DOTALL)
                assert contents is None or re.findall(r'href="#([^"]+)"', contents.group()) == headings
                assert contents is not None or len(headings) <= 2

    def test_show_samples_as_tabs_and_as_files(self, visitor):
        text = visitor.get("/docs/signing").content.decode()

        assert re.findall(r'<label class="pick__tab" for="\w[^"]*">([^<]+)<', text)[:2] == [
            "Python",
            "Python with requests",
        ]
        assert text.count("pick__tab") == text.count("pick__part")
        assert len(re.findall(r'type="radio"[^>]* checked', text)) == 1
        for name, path in samples().items():
            answer = visitor.get(f"/docs/samples/{name}")
            assert answer.content == path.read_bytes()
            assert answer["Content-Type"] == "text/plain; charset=utf-8"

    def test_show_requests_in_each_language(self):
        shown = page(
            '```http\nPOST /api/payments\n\n{"request_type": "payout", "reference": "a"}\n```\n\n'
            "```http\nHTTP/1.1 201 Created\n```\n\n```http\nGET /api/banks\n```\n",
            file="a.md",
        )

        assert re.findall(r'<label class="pick__tab" for="([^"]+)">([^<]+)<', shown.html) == [
            (f"request-{number}-{label.lower()}", label)
            for number in (1, 2)
            for label in ("HTTP", "curl", "Python", "Node")
        ]
        assert "client.payouts.create(reference=&quot;a&quot;)" in shown.html
        assert "await client.banks.list()" in shown.html
        assert len(re.findall(r"<code>HTTP/1.1 201", shown.html)) == 1

    def test_choose_the_language_of_each_sample_apart(self, visitor):
        text = visitor.get("/docs/card-payments").content.decode()

        groups = re.findall(r'<fieldset class="pick">(.*?)</fieldset>', text, re.DOTALL)
        names = [set(re.findall(r'type="radio" name="([^"]+)"', group)) for group in groups]
        assert len(groups) == len(set.union(*names)) > 1
        assert [group.count(" checked>") for group in groups] == [1] * len(groups)

    def test_show_the_address_of_this_service(self, visitor, settings):
        for guide in ("quickstart", "card-payments", "signing"):
            text = visitor.get(f"/docs/{guide}").content.decode()

            assert settings.PUBLIC_URL in text
            assert settings.PUBLIC_URL == DEFAULT_ADDRESS or DEFAULT_ADDRESS not in text

    def test_keep_options_of_commands_on_one_line(self):
        shown = page("`sluice sign GET /api/banks --curl`", file="a.md").html

        assert '<code>sluice sign GET /api/banks <span class="option">--curl</span></code>' in shown

    def test_link_each_named_error_to_its_page(self, visitor):
        text = visitor.get("/docs/signing").content.decode()

        assert '<a href="/docs/errors/nonce_reused"><code>nonce_reused</code></a>' in text

    def test_escape_html_of_their_files(self):
        shown = page(
            "# A\n\n## <b>\n\n<script>\n\n`<i>`\n\n```\n</code>\n```\n\n[x](javascript:a)", file="a.md"
        )

        assert re.findall(r"<(?:b|script|i)>", shown.html) == []
        assert shown.html.count("</code>") == 2
        assert 'href="javascript' not in shown.html

    def test_render_links_to_files_without_a_page_as_text(self):
        shown = page("[why](decisions/README.md) and [how](../CHANGELOG.md)", file="limits.md")

        assert shown.html == '<p>why and <a href="/docs/changelog">how</a></p>\n'

    def test_link_each_page_to_the_next(self, visitor):
        address, seen = "/docs/quickstart", []
        while address and address not in seen and address != "/api/docs":
            seen.append(address)
            text = visitor.get(address).content.decode()
            [address] = re.findall(r'docs-neighbours__link--next" href="([^"]+)"', text) or [""]

        assert seen == [
            "/docs/quickstart", "/docs/signing", "/docs/python-client", "/docs/node-client", "/docs/test-data",
            "/docs/hosted-checkout", "/docs/card-payments", "/docs/disputes", "/docs/card-checks", "/docs/payouts", "/docs/payout-batches", "/docs/virtual-accounts", "/docs/payment-links", "/docs/settlement",
            "/docs/webhooks", "/docs/events", "/docs/errors/", "/docs/limits",
        ]  # fmt: skip


class TestDataPage:
    def test_shows_every_trigger(self, visitor):
        page = visitor.get("/docs/test-data").content.decode()

        for card in TEST_CARDS:
            assert card.number in page
        for amount in [*CARD_AMOUNTS, DISPUTED_ENDING, *PAYOUT_AMOUNTS]:
            assert str(10_000 + int(amount)) in page
        assert LOST_ANSWER_ACCOUNT in page
        assert ONE_TIME_CODE in page

    @pytest.mark.django_db
    def test_describes_card_amounts_correctly(self, visitor, api):
        page = visitor.get("/docs/test-data").content.decode()
        cards = page.split('id="amounts"')[1].split("</table>")[0]
        rows = re.findall(
            r'such as (\d+).*?<span class="status[^>]*>(\w+)<.*?number">(\d{5})<', cards, re.DOTALL
        )

        assert len(rows) == len(CARD_AMOUNTS) + 1  # the disputed one
        for amount, status, code in rows:
            payment = api.post("/api/payments", orders.card_payment(amount=int(amount))).json()
            assert (payment["status"], payment["response_code"]) == (status, code)


class TestErrorPages:
    def test_are_all_listed(self, visitor):
        page = visitor.get("/docs/errors/").content.decode()

        for code in ERROR_CODES:
            assert f'href="/docs/errors/{code}"' in page

    def test_explain_every_code_of_a_field(self, visitor):
        page = visitor.get("/docs/errors/").content.decode()

        for code, explanation in FIELD_CODES.items():
            row = page.partition(f'id="field-{code}"')[2].partition("</tr>")[0]
            assert code_words(explanation.meaning) in row
            assert code_words(explanation.help) in row

    def test_show_title_status_and_advice(self, subtests, visitor):
        for code in ERROR_CODES:
            with subtests.test(code=code):
                kind = ERROR_CODES[code]

                page = unescape(visitor.get(f"/docs/errors/{code}").content.decode())

                assert f"<h1>{kind.title}</h1>" in page
                assert f"HTTP status {kind.status}" in page
                assert re.sub("`(.+?)`", r"<code>\1</code>", kind.help) in page
                assert 'href="/docs/errors/"' in page

    def test_show_the_response_of_the_api_description(self, subtests, visitor):
        examples = visitor.get("/api/openapi.json").json()["components"]["examples"]
        for code in sorted(ERROR_CODES.keys() - {"method_not_allowed"}):
            with subtests.test(code=code):
                page = visitor.get(f"/docs/errors/{code}").content.decode()

                assert (
                    json.loads(unescape(re.search("<pre.*?<code>(.*?)</code>", page, re.DOTALL)[1]))
                    == examples[code]["value"]
                )

    @pytest.mark.parametrize(
        ("code", "member"),
        [
            ("duplicate_reference", "existing"),
            ("timestamp_out_of_range", "server_time"),
            ("invalid_signature", "string_to_sign"),
            ("unknown_field", "errors"),
        ],
    )
    def test_explain_the_members_of_their_own(self, visitor, code, member):
        assert f"<dt><code>{member}</code></dt>" in visitor.get(f"/docs/errors/{code}").content.decode()
        assert "<dt>" not in visitor.get("/docs/errors/nonce_reused").content.decode()

    def test_list_what_the_detail_can_say(self, visitor):
        page = unescape(visitor.get("/docs/errors/invalid_state").content.decode())

        assert "<li>This event is being advanced by another call.</li>" in page

    def test_link_the_operations_that_return_them(self, visitor):
        own = visitor.get("/docs/errors/duplicate_reference").content.decode()
        common = visitor.get("/docs/errors/invalid_signature").content.decode()

        assert '<a href="/api/docs/create-payment">' in own
        assert '<a href="/api/docs/get-payment">' not in own
        assert 'Most operations of the <a href="/api/docs">API</a>' in common


class TestFailures:
    def test_of_the_server_show_only_the_request_id(self, visitor, broken):
        answer = visitor.get("/", headers={"X-Request-Id": "what-i-sent"})

        assert answer.status_code == 500
        page = audited(answer)
        assert "Something went wrong" in page
        assert "what-i-sent" in page
        assert "secret" not in page

    def test_render_without_any_middleware(self):
        answer = views.server_error(RequestFactory().get("/"))

        assert answer.status_code == 500
        assert b"Something went wrong" in answer.content

    @pytest.mark.parametrize(
        "error", [OperationalError("a secret of ours"), InterfaceError("a secret of ours")], ids=type
    )
    def test_of_the_database_pass(self, visitor, monkeypatch, error):
        """After a restart of PostgreSQL, the first request of each connection fails."""

        def fail(*_args, **_kwargs):
            raise error

        monkeypatch.setattr(views, "render", fail)
        visitor.raise_request_exception = False
        answer = visitor.get("/")

        assert (answer.status_code, answer.headers["Retry-After"]) == (503, "5")
        page = audited(answer)
        assert "Not available at the moment" in page
        assert "secret" not in page

    @pytest.mark.parametrize(
        ("error", "status", "heading"),
        [
            (PermissionDenied("a secret of ours"), 403, "You don't have permission to do this"),
            (SuspiciousOperation("a secret of ours"), 400, "Bad request"),
            (Http404("a secret of ours"), 404, "Page not found"),
        ],
    )
    def test_of_each_kind_explain_what_to_do(self, visitor, monkeypatch, error, status, heading):
        def fail(*_args, **_kwargs):
            raise error

        monkeypatch.setattr(views, "render", fail)

        answer = visitor.get("/", headers={"X-Request-Id": "what-i-sent"})

        assert answer.status_code == status
        text = audited(answer)
        assert f"<h1>{heading}</h1>" in text
        assert "what-i-sent" in text
        assert "secret" not in text

    @pytest.mark.django_db
    def test_of_a_forged_form_is_explained(self):
        answer = Client(enforce_csrf_checks=True).post(
            "/dashboard/login/", {"email": "a"}, headers={"X-Request-Id": "what-i-sent"}
        )

        assert answer.status_code == 403
        assert "<h1>This form has expired</h1>" in audited(answer)
        assert b"what-i-sent" in answer.content

    @pytest.mark.urls("tests.config.rate_limited_urls")
    def test_of_rate_limits_is_used_by_the_sign_in_library(self, visitor):
        answer = visitor.get("/hasty", headers={"X-Request-Id": "what-i-sent"})

        assert answer.status_code == 429
        assert "<h1>Too many attempts</h1>" in audited(answer)
        assert b"what-i-sent" in answer.content

    def test_under_the_api_are_problems(self, visitor):
        answer = visitor.get("/api/nothing")

        assert answer.status_code == 401
        assert answer.json()["code"] == "missing_header"


class TestStaticFile:
    FILE = "/static/css/table.css"

    def test_is_304_if_the_entity_tag_matches(self, client):
        etag = client.get(self.FILE)["ETag"]

        for if_none_match in (etag, "*", f'"other", {etag}', f"W/{etag}", f' "a" ,W/"b",{etag} '):
            answer = client.get(self.FILE, headers={"If-None-Match": if_none_match})
            assert answer.status_code == 304, if_none_match

    @pytest.mark.parametrize("if_none_match", ['"other"', "bare", 'W/"other", "b"', ""])
    def test_is_sent_if_no_entity_tag_matches(self, client, if_none_match):
        assert client.get(self.FILE, headers={"If-None-Match": if_none_match}).status_code == 200
