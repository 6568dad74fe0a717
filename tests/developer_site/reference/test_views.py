"""The API reference is rendered from the OpenAPI document: every operation, event and field, without a script."""

import re
from urllib.parse import urlsplit

import pytest
from django.test import Client

from developer_site.openapi.document import document
from developer_site.reference.pages import Kind, pages, slug_of
from tests.developer_site.test_pages import audited
from tests.weighing import weigh

# None of these pages may query the database: no test here has access to one.
HEAVIEST = 68 * 1024  # bytes before compression: the result of `advance` holds six objects
NEED_MORE = {
    "/dashboard/",
    "/dashboard/sandbox/",
    "/api/openapi.json",
    "/api/collections/postman.json",
    "/api/collections/bruno.zip",
}


@pytest.fixture(scope="module")
def texts():
    """The text of every page by its address."""
    return {
        address: audited(Client().get(address))
        for address in ["/api/docs", *(page.address for page in pages().values())]
    }


def operations():
    return [
        (path, method, operation)
        for path, methods in document()["paths"].items()
        for method, operation in methods.items()
    ]


def text_of(client, address):
    answer = client.get(address)
    assert answer.status_code == 200, address
    return audited(answer)


class TestPages:
    def test_of_every_operation_exist(self):
        made = {(page.path, page.method.lower()) for page in pages().values() if page.kind is Kind.OPERATION}

        assert made == {(path, method) for path, method, _ in operations()}

    def test_of_every_event_exist(self):
        assert {page.slug for page in pages().values() if page.kind is Kind.EVENT} == set(
            document()["webhooks"]
        )

    @pytest.mark.long
    def test_link_to_each_other(self, texts):
        for text in texts.values():
            assert set(re.findall(r'href="(/api/docs[^"#?]*)', text)) == set(texts)

    @pytest.mark.long
    def test_link_only_to_existing_places(self, client, texts):
        anchors = {}
        for address, text in texts.items():
            for link in re.findall(r'href="([^"]+)"', text):
                target, _, anchor = link.partition("#")
                anchors.setdefault(target if target.startswith("/") else address, set()).add(anchor)
        for target in {each for each in anchors if not each.startswith("/static/")} - NEED_MORE:
            text = texts.get(target) or getattr(client.get(target), "content", b"").decode()
            assert text, target
            assert anchors[target] - set(re.findall(r'id="([^"]+)"', text)) <= {""}, target

    @pytest.mark.long
    def test_are_light(self, client, texts):
        files = {}

        def read(path):
            if path not in files:
                files[path] = client.get(path).getvalue()
            return files[path]

        weights = {address: weigh(text, read) for address, text in texts.items()}
        assert {address: weight for address, weight in weights.items() if weight.page > HEAVIEST} == {}

    def test_load_nothing_from_another_host(self, client):
        page = client.get("/api/docs").content.decode()

        found = re.findall(r'(?:src|href|action)="([^"]+)"', page)
        assert {"/api/openapi.json", "/api/collections/postman.json", "/api/collections/bruno.zip"} <= set(
            found
        )
        assert [address for address in found if urlsplit(address).netloc] == []

    @pytest.mark.parametrize("slug", ["none", "create-payment/", "payment.none"])
    def test_that_are_missing_return_a_404_page(self, client, slug):
        answer = client.get(f"/api/docs/{slug}")

        assert answer.status_code == 404
        assert "Page not found" in audited(answer)

    def test_return_405_for_a_post_like_the_api(self, client):
        client.handler.enforce_csrf_checks = True

        for address in ("/api/docs", "/api/docs/create-payment"):
            answer = client.post(address, b"{}", content_type="application/json")
            assert (answer.status_code, answer["Content-Type"]) == (405, "application/problem+json")
            assert (answer.json()["code"], answer["Allow"]) == ("method_not_allowed", "GET, HEAD, OPTIONS")


class TestIntroduction:
    def test_explains_how_to_sign(self, client):
        assert 'sluice sign GET /api/banks <span class="option">--curl</span>' in text_of(client, "/api/docs")

    def test_lists_every_operation(self, client):
        text = text_of(client, "/api/docs")

        for path, method, operation in operations():
            assert operation["summary"] in text
            assert f"{method.upper()} {path}" in text


class TestOperation:
    @pytest.mark.long
    def test_shows_every_field(self, texts):
        for page in pages().values():
            for row in page.rows():
                assert f"<code>{row.name}</code> <i>{row.type}</i>" in texts[page.address], (
                    page.slug,
                    row.path,
                )

    def test_shows_nested_fields_folded(self, client):
        text = text_of(client, "/api/docs/create-payment")

        assert "<summary>source: 7 fields</summary>" in text
        assert 'id="body-source.billing_address.country"' in text

    @pytest.mark.long
    def test_links_every_error_to_its_page(self, texts):
        for _, _, operation in operations():
            text = " ".join(texts[f"/api/docs/{slug_of(operation['operationId'])}"].split())
            for status, response in operation["responses"].items():
                for code in (
                    response.get("content", {}).get("application/problem+json", {}).get("examples", ())
                ):
                    assert f'<b>{status}</b> <a class="mono" href="/docs/errors/{code}">' in text

    def test_shows_successes_with_their_object_and_headers(self, client):
        text = text_of(client, "/api/docs/create-payment")

        assert '<b>201</b> <a class="mono" href="/api/docs/payment-object">Payment</a>' in text
        assert "<code>Location</code>" in text
        assert "<code>Idempotent-Replayed</code>" in text

    def test_shows_the_chosen_example(self, client):
        first = text_of(client, "/api/docs/create-payment")
        payout = text_of(client, "/api/docs/create-payment?example=payout")

        assert '<a href="?example=card_payment" aria-current="true">' in first
        assert '<a href="?example=payout" aria-current="true">' in payout
        assert "payout-5" in payout
        assert "payout-5" not in first

    @pytest.mark.parametrize("example", ["none", "%00", "", "<script>", "a" * 3000], ids=range(5))
    def test_shows_the_first_example_if_there_is_no_such(self, client, example):
        text = text_of(client, f"/api/docs/create-payment?example={example}")

        assert '<a href="?example=card_payment" aria-current="true">' in text

    def test_shows_sandbox_links_in_the_sandbox_only(self, client, settings):
        assert "/dashboard/sandbox/" in text_of(client, "/api/docs/create-payment")

        settings.SANDBOX = False
        assert "/dashboard/sandbox/" not in text_of(client, "/api/docs/create-payment")


class TestEvent:
    def test_shows_headers_body_and_examples(self, client):
        text = text_of(client, "/api/docs/payment.failed?example=card_payment_that_is_voided")

        assert 'id="header-X-Service-Signature"' in text
        assert 'id="body-event_id"' in text
        assert "Payment voided" in text
        assert 'href="/docs/events#payment.failed"' in text


class TestLargeObject:
    def test_has_a_page_with_every_field(self, client):
        text = text_of(client, "/api/docs/payment-object")

        for name in document()["components"]["schemas"]["Payment"]["properties"]:
            assert f'id="field-{name}"' in text


class TestErrors:
    def test_have_a_page_with_every_field(self, client):
        text = text_of(client, "/api/docs/error-object?example=duplicate_reference")

        for name in ("type", "code", "errors", "errors.suggestion", "string_to_sign", "existing.status"):
            assert f'id="field-{name}"' in text
        assert '"duplicate_reference"' in text
