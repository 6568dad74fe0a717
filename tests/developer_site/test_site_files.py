import re
from datetime import UTC, datetime, timedelta

import pytest
from django.utils import timezone


def test_serves_an_icon(client):
    icon = client.get("/favicon.ico")

    assert icon["Content-Type"] == "image/x-icon"
    assert icon.content[:4] == b"\x00\x00\x01\x00"
    assert "public" in icon["Cache-Control"]


def may_fetch(robots, path):
    """Return whether the longest rule that matches a path allows it (RFC 9309, section 2.2.2)."""
    rules = [line.split(": ") for line in robots.splitlines()[1:]]
    matching = [
        (len(pattern), rule == "Allow")
        for rule, pattern in rules
        if re.match(re.escape(pattern).replace(r"\$", "$"), path)
    ]
    return max(matching)[1]


@pytest.mark.parametrize(
    "path",
    ["/", "/docs/", "/docs/signing", "/api/docs", "/api/docs/createPayment", "/dashboard/login/", "/l/book"],
)
def test_lets_search_engines_read_public_pages(client, path):
    assert may_fetch(client.get("/robots.txt").content.decode(), path)


@pytest.mark.parametrize(
    "path",
    [
        "/dashboard/",
        "/dashboard/login/?next=/dashboard/",
        "/admin/",
        "/api/payments",
        "/pay/1",
        "/checkout/1",
    ],
)
def test_keeps_search_engines_from_businesses_and_payers(client, path):
    assert not may_fetch(client.get("/robots.txt").content.decode(), path)


class TestSecurityContact:
    def test_has_no_file_without_a_contact(self, client):
        assert client.get("/.well-known/security.txt").status_code == 404

    def test_states_contact_expiry_and_policy(self, client, settings):
        settings.SECURITY_CONTACT = "mailto:security@example.com"

        answer = client.get("/.well-known/security.txt")

        assert answer["Content-Type"] == "text/plain; charset=utf-8"
        fields = dict(re.findall(r"^([A-Z][A-Za-z-]+): (\S+)$", answer.content.decode(), re.MULTILINE))
        assert fields["Contact"] == "mailto:security@example.com"
        assert fields["Canonical"] == f"{settings.PUBLIC_URL}/.well-known/security.txt"
        expires = datetime.strptime(fields["Expires"], "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        assert timedelta(days=30) < expires - timezone.now() < timedelta(days=365)


@pytest.mark.parametrize("path", ["/favicon.ico", "/robots.txt"])
def test_answers_only_reads(client, path):
    assert client.post(path).status_code == 405
