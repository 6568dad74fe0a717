"""The page of components: every block in the sandbox, nothing in production."""

import re
from http import HTTPStatus

import pytest

pytestmark = pytest.mark.django_db


class TestComponents:
    def test_are_shown_in_the_sandbox_with_each_block_once(self, client):
        answer = client.get("/docs/components")

        assert answer.status_code == HTTPStatus.OK
        text = answer.content.decode()
        blocks = re.findall(r'href="/static/css/([\w-]+)[\w.]*\.css"', text)
        assert {"table", "timeline", "related", "field", "dialog"} <= set(blocks)
        assert len(blocks) == len(set(blocks))
        assert text.count("data-component=") == len(set(re.findall(r'data-component="([\w-]+)"', text)))

    def test_are_not_shown_in_production(self, client, settings):
        settings.SANDBOX = False

        assert client.get("/docs/components").status_code == HTTPStatus.NOT_FOUND
