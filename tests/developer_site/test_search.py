"""The search of the documentation finds exact names first, marks what it found, and accepts any input."""

import re

import pytest

from config.errors.error_codes import ERROR_CODES
from developer_site.search.search import LONGEST_QUERY, search
from developer_site.search.search_index import entries
from kit.api.fields.field_codes import FIELD_CODES
from tests.developer_site.test_pages import audited
from webhooks.models import Event


def first(query):
    return search(query).shown[0]


def shown(client, query):
    answer = client.get("/docs/search", {"q": query})
    assert answer.status_code == 200
    return answer


CLIENTS = "/docs/quickstart#clients-for-your-own-code"


class TestRanking:
    @pytest.mark.parametrize("code", ERROR_CODES)
    def test_finds_an_error_by_its_code_first(self, code):
        assert first(code).address == f"/docs/errors/{code}"

    @pytest.mark.parametrize("code", FIELD_CODES)
    def test_finds_the_code_of_a_field_first(self, code):
        page = f"/docs/errors/{code}" if code in ERROR_CODES else f"/docs/errors/#field-{code}"
        assert first(code).address == page

    @pytest.mark.parametrize("event", Event.labels)
    def test_finds_an_event_by_its_name_first(self, event):
        assert first(event).address == f"/docs/events#{event}"

    @pytest.mark.parametrize(
        ("query", "address"),
        [
            ("20051", "/api/docs/payment-object#field-response_code"),
            ("/api/payments", "/api/docs/create-payment"),
            ("GET /api/payments", "/api/docs/list-payments"),
            ("/api/payments/{reference}/capture", "/api/docs/capture-payment"),
            ("payment_method_id", "/api/docs/create-payment#body-payment_method_id"),
            ("source.pan", "/api/docs/create-payment#body-source.pan"),
            (
                "virtual_account_details.account_number",
                "/api/docs/payment-object#field-virtual_account_details.account_number",
            ),
            ("X-Service-Signature", "/api/docs/payment.success#header-X-Service-Signature"),
            ("string_to_sign", "/api/docs/error-object#field-string_to_sign"),
            ("payment.failed.20051", "/docs/events#payment.failed"),
            ("4000000000002503", "/docs/test-data#cards"),
            ("webhooks", "/docs/webhooks"),
            ("DUPLICATE_REFERENCE", "/docs/errors/duplicate_reference"),
            ("Not Found", "/docs/errors/not_found"),
        ],
    )
    def test_puts_the_exact_name_first(self, query, address):
        assert first(query).address == address

    @pytest.mark.parametrize("title", ["Lists", "Errors", "Signing", "References"])
    def test_finds_the_introduction_of_the_reference(self, title):
        wanted = f"/api/docs#{title.lower()}"

        assert wanted in [result.address for result in search(title).shown]

    @pytest.mark.parametrize(
        "query", ["pagination", "paging", "paginate", "pages", "how to page through a list"]
    )
    def test_knows_other_words_for_lists(self, query):
        assert first(query).address == "/api/docs#lists"

    @pytest.mark.parametrize("query", ["sdk", "npm", "pip", "library"])
    def test_knows_other_words_for_the_clients(self, query):
        assert first(query).address == CLIENTS

    @pytest.mark.parametrize("language", ["Python", "Node"])
    def test_knows_the_client_of_a_language(self, language):
        for query in (f"{language} client", f"{language} library"):
            assert first(query).address == f"/docs/{language.lower()}-client"

    def test_ignores_words_that_mean_nothing(self):
        assert [each.address for each in search("how to rotate a key").shown] == [
            each.address for each in search("rotate key").shown
        ]
        assert search("a").total  # there is nothing else

    def test_prefers_titles_to_texts(self):
        titles = [re.sub("<[^>]+>", "", result.title).lower() for result in search("refund").shown[:5]]

        assert all("refund" in title for title in titles)

    def test_returns_places_with_all_terms(self):
        texts = {entry.address: f"{entry.title} {entry.text}".lower() for entry in entries()}

        for result in search("rotate signing key").shown:
            assert all(term in texts[result.address] for term in ("rotate", "signing", "key"))

    def test_returns_places_with_any_term_if_none_has_all(self):
        assert search("refund zzzzzz").total == search("refund").total

    @pytest.mark.parametrize(
        ("detail", "code"),
        [
            ("No attempt of this event is planned for later.", "invalid_state"),
            ("No attempt of this event is planned", "invalid_state"),
            ('"This reference was already used for a different request."', "duplicate_reference"),
            ("See errors: every wrong field, by its dotted path.", "invalid_request"),
            ("At most 5000 is left to refund.", "amount_too_large"),
            ("X-Nonce and X-Signature are missing.", "missing_header"),
        ],
    )
    def test_finds_the_error_of_a_pasted_detail_first(self, detail, code):
        assert first(detail).address == f"/docs/errors/{code}"

    def test_finds_little_beside_a_pasted_detail(self):
        assert search("No attempt of this event is planned for later.").total < 5

    def test_shows_the_part_of_a_text_with_the_phrase(self):
        assert "<mark>An attempt is due or</mark>" in first("an attempt is due or").snippet

    def test_leaves_out_places_with_few_terms_of_many(self):
        assert search("refund zzzzzz yyyyyy xxxxxx").total == 0

    def test_suggests_a_close_name(self):
        assert search("duplicat_reference").suggestion == "duplicate_reference"
        assert search("zzzzzzzz").suggestion == ""


class TestIndex:
    @pytest.mark.long
    def test_has_only_existing_places(self, client):
        ids = {}
        for entry in entries():
            target, _, anchor = entry.address.partition("#")
            if target not in ids:
                answer = client.get(target)
                assert answer.status_code == 200, target
                ids[target] = set(re.findall(r'id="([^"]+)"', answer.content.decode()))
            assert not anchor or anchor in ids[target], entry.address


class TestPage:
    def test_explains_what_can_be_searched_for(self, client):
        text = audited(client.get("/docs/search"))

        assert "What you can search for" in text
        assert '<a href="/docs/search?q=%2Fapi%2Fpayments"><code>/api/payments</code></a>' in text

    def test_marks_what_it_found(self, client):
        text = audited(shown(client, "refund"))

        assert "<mark>Refund</mark>" in text
        assert 'value="refund"' in text

    def test_says_that_nothing_matches_and_suggests_a_name(self, client):
        text = audited(shown(client, "duplicat_reference"))

        assert "Nothing matches “duplicat_reference”" in text
        assert '<a href="/docs/search?q=duplicate_reference">duplicate_reference</a>' in text

    @pytest.mark.parametrize(
        "query",
        ["<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</title><script>", "<mark>", "amp", "&lt;"],
    )  # fmt: skip
    def test_escapes_everything(self, client, query):
        answer = shown(client, query)

        audited(answer)
        assert not re.search(
            r"<script(?![^>]* src=)|<img(?! class=.brand)|onerror=.alert|<mark></mark>",
            answer.content.decode(),
        )

    @pytest.mark.parametrize(
        "query",
        ["", " ", "\x00", "a" * 1000, "(((", "[", "\\", "*", "%", "ﬁ", "İ", "ß", "😀", "\u202e", "a " * 500, "é", "/", ".", "-"],
    )  # fmt: skip
    def test_accepts_any_text(self, client, query):
        audited(shown(client, query))

    @pytest.mark.parametrize("raw", ["q=%ff%fe", "q=%00", "q", "q=a&q=b", "x=1", "q[]=a", "q=%u0041"])
    def test_accepts_any_query_string(self, client, raw):
        assert client.get(f"/docs/search?{raw}").status_code == 200

    @pytest.mark.parametrize(
        "query",
        ["5399831619690403", "5399 8316 1969 0403", "5399831619690\x00403", "a" * 90 + " 5399831619690403"],
    )
    def test_masks_a_card_number(self, client, query):
        text = audited(shown(client, query))

        assert "539983***" in text
        assert "5399831619" not in re.sub(r"[ \x00]", "", text)

    def test_shows_a_test_card(self, client):
        assert 'value="4000000000002503"' in audited(shown(client, "4000000000002503"))

    def test_ignores_what_is_too_long(self):
        assert len(search("a" * 1000).query) == LONGEST_QUERY

    @pytest.mark.parametrize(
        "address", ["/", "/docs/", "/docs/webhooks", "/docs/errors/not_found", "/api/docs"]
    )
    def test_is_reachable_from_the_header_of_every_page(self, client, address):
        text = client.get(address).content.decode()

        assert re.search(r'<form class="page-search" role="search" action="/docs/search">', text)
        assert 'href="/docs/search" aria-label="Search the documentation"' in text
