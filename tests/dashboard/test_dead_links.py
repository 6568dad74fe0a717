"""No page links to one that doesn't exist: the dashboard, the administration, and what they link in the documentation."""

import re
from html import unescape
from urllib.parse import urljoin, urlsplit

import pytest

from tests.dashboard.people import signed_in
from tests.dashboard.test_page_cost import busy, pages  # noqa: F401  (fixtures)
from tests.factories import UserFactory

pytestmark = [pytest.mark.django_db, pytest.mark.long]

LINK = re.compile(r'<a [^>]*href="([^"]+)"')
ID = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/)\d+(?=/)")
FILES = re.compile(r"export\.|/qr\.|/files/|\.csv|logout|password_change")


def links_of(answer, address):
    """Return where the links of a page lead, without their queries."""
    text = answer.getvalue().decode() if "html" in answer["Content-Type"] else ""
    found = {urlsplit(urljoin(address, unescape(link))) for link in LINK.findall(text)}
    return {link.path for link in found if not link.netloc and link.scheme in {"", "http"} and link.path}


def dead_links(client, starts, *, within):
    """Follow the links of pages below an address, one of each kind, and return those to nowhere with their page."""
    dead, seen, waiting = [], set(), [(start, "") for start in starts]
    while waiting:
        address, page = waiting.pop()
        kind = ID.sub("@", address)
        if kind in seen or FILES.search(address):
            continue
        seen.add(kind)
        answer = client.get(address, follow=True)
        if answer.status_code == 404:
            dead.append(f"{page} links to {address}")
        elif address.startswith(within):
            waiting += [(link, address) for link in sorted(links_of(answer, address))]
    return dead


def test_of_members_lead_to_pages(browser, pages):  # noqa: F811
    assert dead_links(browser, [urlsplit(each).path for each in pages], within="/dashboard/") == []


def test_of_staff_lead_to_pages(busy):  # noqa: F811
    assert (
        dead_links(signed_in(UserFactory(is_staff=True, is_superuser=True)), ["/admin/"], within="/admin/")
        == []
    )
