"""The webhooks page opens with the state of the endpoint, and keeps its settings within reach."""

import re
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs

import pytest

from tests.developer_site.test_pages import Audit
from tests.webhooks.rows import (
    DELIVERED,
    FAILED,
    acquire,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
)
from webhooks.models import Delivery

pytestmark = pytest.mark.django_db

WEBHOOKS = "/dashboard/webhooks/"


def shown(browser, address=WEBHOOKS):
    text = browser.get(address).content.decode()
    assert Audit(text).findings == []
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))


class TestState:
    def test_is_failing_since_the_first_failure_after_the_last_success(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now - timedelta(hours=2))
        record(acquire(at=now), DELIVERED, at=now - timedelta(hours=2))
        make_deliveries(endpoint, 2, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(minutes=59))

        answer = browser.get(WEBHOOKS)

        assert answer.context["health"].outage.began_at == now - timedelta(minutes=59)
        text = shown(browser)
        assert re.search(r"Failing since .{5,30}, 2 deliveries waiting\.", text)
        assert "500 Internal Server Error in 3 ms" in text

    def test_is_healthy_after_a_success(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(hours=1))
        make_delivery(endpoint, at=now - timedelta(minutes=5))
        record(acquire(at=now - timedelta(minutes=1))[:1], DELIVERED, at=now - timedelta(minutes=1))

        text = shown(browser)

        assert "Healthy" in text
        assert "Failing since" not in text

    def test_is_off_while_disabled(self, browser, ada):
        make_endpoint(business=ada.business, enabled=False)

        text = shown(browser)

        assert "Off" in text
        assert "Events are held for up to 7 days" in text

    def test_ignores_test_events(self, browser, ada, now):
        make_endpoint(business=ada.business)
        browser.post(f"{WEBHOOKS}test/")
        record(acquire(at=now + timedelta(minutes=1)), FAILED, at=now)

        assert "Failing since" not in shown(browser)


class TestPage:
    def test_keeps_the_settings_below_the_deliveries(self, browser, ada):
        make_endpoint(business=ada.business)

        page = browser.get(WEBHOOKS).content.decode()

        assert page.index("Recent deliveries") < page.index("Webhook URL") < page.index("Retry schedule")

    def test_begins_with_the_settings_before_there_is_an_endpoint(self, browser):
        page = browser.get(WEBHOOKS).content.decode()

        assert "Recent deliveries" not in page
        assert "Webhook URL" in page

    def test_charts_attempts_in_their_hour(self, browser, ada, now):
        make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=3))
        record(acquire(at=now), FAILED, at=now - timedelta(hours=1))

        slots = browser.get(WEBHOOKS).context["health"].attempts.slots

        assert slots[-2].text.endswith("0 delivered, 1 failed")
        assert slots[-4].text.endswith("0 delivered, 0 failed")


class TestList:
    def test_shows_response_attempts_and_reference(self, browser, ada, now):
        make_delivery(make_endpoint(business=ada.business), at=now)
        record(acquire(at=now + timedelta(seconds=1)), FAILED, at=now)

        text = shown(browser, f"{WEBHOOKS}deliveries/")

        assert "500 Internal Server Error in 3 ms" in text
        assert "1 of 8" in text

    def test_tabs_filter_by_state_and_keep_the_other_filters(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now, state=Delivery.State.DEAD, next_attempt_at=None)

        answer = browser.get(f"{WEBHOOKS}deliveries/?state=dead&event=payment.success")

        assert len(answer.context["rows"]) == 1
        assert {tab.name: tab.is_here for tab in answer.context["tabs"]}["Stopped"]
        addresses = re.findall(r'href="\?([^"]*)"', unescape(answer.content.decode()))
        assert {"state": ["held"], "event": ["payment.success"]} in map(parse_qs, addresses)
        assert '<input type="hidden" name="state" value="dead">' in answer.content.decode()
