"""The samples beside an operation: each example in three languages, and the response that belongs to it."""

import json
import re
from html import unescape

from developer_site.reference.pages import Kind, pages
from developer_site.reference.samples import column_of, example_named


def operations():
    return [page for page in pages().values() if page.kind is Kind.OPERATION]


def text_of(tab):
    return unescape(re.sub("<[^>]+>", "", tab.code))


class TestColumn:
    def test_has_each_example_in_three_languages(self):
        for page in operations():
            for example in page.examples or [""]:
                curl, python, node = column_of(page.slug, example).requests
                assert (curl.label, python.label, node.label) == ("curl", "Python", "Node")
                assert page.target in text_of(curl)
                compile(text_of(python), page.slug, "exec")
                assert "Sluice.fromEnv()" in text_of(node)

    def test_shows_responses_as_json(self):
        for page in operations():
            column = column_of(page.slug, example_named(page, ""))
            assert column.answers
            assert all(isinstance(json.loads(text_of(tab)), dict) for tab in column.answers)


class TestAnswers:
    def test_belong_to_the_example_of_the_request(self):
        declined = column_of("create-payment", "card_payment_that_is_declined").answers[0]
        payout = column_of("create-payment", "payout").answers[0]

        assert json.loads(text_of(declined))["response_code"] == "20051"
        assert json.loads(text_of(payout))["request_type"] == "payout"

    def test_show_one_error_of_each_status(self):
        labels = [tab.label for tab in column_of("create-payment", "card_payment").answers]

        assert labels == ["201", "400", "409"]

    def test_cut_long_lists(self):
        assert len(json.loads(text_of(column_of("list-payments", "").answers[0]))["data"]) == 2
