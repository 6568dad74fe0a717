"""The summary of a form's errors leads to its fields."""

from html.parser import HTMLParser

import pytest

from dashboard.memberships import FORM_BUSINESS
from merchants.models import Member
from tests.addresses import MEMBERS, RULES
from tests.dashboard.addresses import filled_path
from tests.dashboard.people import signed_in
from tests.dashboard.test_authorisation import here, members, send  # noqa: F401  (fixtures)

pytestmark = [pytest.mark.django_db, pytest.mark.long]


class Anchors(HTMLParser):
    """The ids of a page, and those that its links lead to."""

    def __init__(self, page):
        super().__init__()
        self.ids, self.wanted = set(), set()
        self.feed(page)

    def handle_starttag(self, tag, attributes):
        given = dict(attributes)
        self.ids.add(given.get("id"))
        if tag == "a" and given.get("href", "").startswith("#"):
            self.wanted.add(given["href"].removeprefix("#"))


def test_leads_to_a_field(ada, here, members):  # noqa: F811
    owner, lost, summaries = signed_in(members[Member.Role.OWNER]), [], 0
    hidden = {FORM_BUSINESS: str(ada.business_id), "currency": "NGN", "reference": "hidden-0"}
    for route in (route for route in MEMBERS if RULES[route].writers):
        answer = send(owner, "post", filled_path(route, here), hidden)
        if answer.status_code != 302 and answer.get("Content-Type", "").startswith("text/html"):
            anchors = Anchors(answer.content.decode())
            summaries += any(each.startswith("id_") for each in anchors.wanted)
            lost += [(route, each) for each in anchors.wanted - anchors.ids - {"", "top"}]

    assert lost == []
    assert summaries > 5
