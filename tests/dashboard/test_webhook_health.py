"""The webhooks page opens with the state of the endpoint, and keeps its settings within reach."""

import re
from dataclasses import replace
from datetime import timedelta
from html import unescape
from urllib.parse import parse_qs

import pytest

from dashboard.ui.components.figures import Change
from kit.db import clock
from tests.developer_site.test_pages import Audit
from tests.query_counts import at_most
from tests.webhooks.rows import (
    DELIVERED,
    FAILED,
    acquire,
    make_deliveries,
    make_delivery,
    make_endpoint,
    record,
)
from webhooks.endpoints import outage_notices
from webhooks.models import Attempt, Delivery
from webhooks.sending.results import AttemptResult, record_results

pytestmark = [pytest.mark.django_db, pytest.mark.servers]

WEBHOOKS = "/dashboard/webhooks/"
HEALTH = f"{WEBHOOKS}health/"


def shown(browser, address=HEALTH):
    text = browser.get(address).content.decode()
    assert Audit(text).findings == []
    return re.sub(r"\s+", " ", re.sub(r"<[^>]+>", "", text))


def change_url(browser, url="http://127.0.0.1:9/another"):
    settings = {"url": url, "payment": "on", "payout": "on", "enabled": "on"}
    assert browser.post(WEBHOOKS, settings).status_code == 302


def attempted(delivery, *, at, total_ms):
    return Attempt.objects.create(delivery=delivery, number=1, started_at=at, total_ms=total_ms, status=200)


class TestState:
    def test_is_failing_since_the_first_failure_after_the_last_success(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now - timedelta(hours=2))
        record(acquire(at=now), DELIVERED, at=now - timedelta(hours=2))
        make_deliveries(endpoint, 2, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(minutes=59))

        answer = browser.get(HEALTH)

        assert answer.context["health"].outage.began_at == now - timedelta(minutes=59)
        text = shown(browser)
        assert re.search(r"Failing since .{5,30}, 2 deliveries retrying\.", text)
        assert "500 Internal Server Error in 3 ms" in text

    def test_of_a_failing_endpoint_names_the_first_error_and_what_was_changed_before(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        for url, events in (("http://127.0.0.1:9/a", "on"), ("http://127.0.0.1:9/b", "on")):
            browser.post(WEBHOOKS, {"url": url, "payment": events, "payout": events, "enabled": "on"})
        make_delivery(endpoint, at=now - timedelta(minutes=10))
        record(acquire(at=now), replace(FAILED, excerpt=b"no such table"), at=clock.now())

        text = shown(browser)

        assert "no such table" in text
        assert "Changed: URL" in text
        assert "ada@example.com" in text

    def test_of_a_failing_endpoint_costs_no_more_queries_than_any_page(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_endpoint(business=ada.business, number=1, url="http://127.0.0.1:9/second")
        make_deliveries(endpoint, 2, at=now - timedelta(minutes=10))
        record(acquire(at=now), replace(FAILED, excerpt=b"no such table"), at=now - timedelta(minutes=9))
        make_delivery(endpoint, at=now - timedelta(minutes=8), state="dead")

        with at_most(12):
            assert "no such table" in browser.get(HEALTH).content.decode()

    def test_of_a_failing_endpoint_retries_all_now(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_deliveries(endpoint, 3, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now)
        page = browser.get(HEALTH).content.decode()
        assert "Retry all 3 now" in page
        assert f'<a href="{WEBHOOKS}">Change URL</a>' in page
        assert re.findall(r'button--primary"[^>]*>([^<]+)<', page) == ["Send test event"]

        answer = browser.post(f"{WEBHOOKS}replay/", {"state": "waiting"}, follow=True)

        assert "Resending 3 deliveries." in answer.content.decode()
        assert Delivery.objects.filter(is_manual=True, next_attempt_at__lte=clock.now()).count() == 3

    def test_of_a_resend_says_how_many_are_answered(self, browser, ada, now):
        make_deliveries(make_endpoint(business=ada.business), 3, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now)
        address = browser.post(f"{WEBHOOKS}replay/", {"state": "waiting"})["Location"]
        assert "0 of 3 answered" in shown(browser, address)

        one, other, last = acquire(at=now + timedelta(minutes=1))
        record([one], DELIVERED, at=now)
        record([other], FAILED, at=now)
        assert "2 of 3 answered: 1 delivered, 1 failed" in shown(browser, address)
        part = browser.get(address, headers={"HX-Request": "true"}).content.decode()
        assert "data-poll" in part
        assert "<html" not in part

        assert "Show the figures now" in part
        assert '<rect class="is-good" x="0%" width="33.33%"/>' in part

        record([last], DELIVERED, at=now)
        assert browser.get(address, headers={"HX-Request": "true"}).headers["HX-Refresh"] == "true"
        assert "3 of 3 answered: 2 delivered, 1 failed" in shown(browser, address)
        assert "data-poll" not in browser.get(address).content.decode()

    def test_of_a_resend_that_never_was_is_not_shown(self, browser, other_browser, ada, bisi, now):
        for key in (ada, bisi):
            make_delivery(make_endpoint(business=key.business), at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now)
        address = browser.post(f"{WEBHOOKS}replay/", {"state": "waiting"})["Location"]

        for each in (address, f"{HEALTH}?resent=never", f"{HEALTH}?resent=2026-13-01T00:00:00Z"):
            assert "answered" not in shown(other_browser, each)

    def test_is_healthy_after_a_success(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(hours=1))
        make_delivery(endpoint, at=now - timedelta(minutes=5))
        record(acquire(at=now - timedelta(minutes=1))[:1], DELIVERED, at=now - timedelta(minutes=1))

        text = shown(browser)

        assert "Healthy" in text
        assert "Failing since" not in text

    def test_compares_the_rate_with_the_day_before(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        yesterday = now - timedelta(hours=30)
        for result in (DELIVERED, FAILED):
            make_delivery(endpoint, at=yesterday)
            record(acquire(at=yesterday), result, at=yesterday)
        make_delivery(endpoint, at=now)
        record(acquire(at=now), DELIVERED, at=now)  # the failed one too

        change = browser.get(HEALTH).context["health"].change

        assert change == Change("↑ 33.3 pts", "up", "from 66.7%")

    def test_compares_the_response_time_with_the_day_before(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        for at, milliseconds in ((now - timedelta(hours=30), 20), (now, 45)):
            attempted(make_delivery(endpoint, at=at), at=at, total_ms=milliseconds)

        change = browser.get(HEALTH).context["health"].median_change

        assert change == Change("↑ 25 ms", "down", "from 20 ms")

    def test_counts_the_response_time_of_answers_only(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        attempted(make_delivery(endpoint, at=now), at=now, total_ms=40)
        refused = attempted(make_delivery(endpoint, at=now), at=now, total_ms=1)
        Attempt.objects.filter(pk=refused.pk).update(status=None, error="connection_refused")

        health = browser.get(HEALTH).context["health"]

        assert (health.median_ms, health.p95_ms) == (40, 40)
        assert (health.delivered, health.failed) == (1, 1)

    def test_of_a_failing_endpoint_is_compared_too(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        yesterday = now - timedelta(hours=30)
        make_delivery(endpoint, at=yesterday)
        record(acquire(at=yesterday), DELIVERED, at=yesterday)
        make_delivery(endpoint, at=now - timedelta(hours=1))
        record(acquire(at=now - timedelta(minutes=59)), FAILED, at=now - timedelta(minutes=59))

        health = browser.get(HEALTH).context["health"]

        assert health.outage
        assert health.change == Change("↓ 100.0 pts", "down", "from 100.0%")

    def test_says_when_the_next_attempt_is_and_when_deliveries_stopped(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now - timedelta(days=2), state="dead")
        make_delivery(endpoint, at=now)

        health = browser.get(HEALTH).context["health"]

        assert health.next_at == now
        assert health.stopped_at == now - timedelta(days=2)

    def test_is_not_tried_before_the_first_attempt(self, browser, ada, now):
        make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=1))

        text = shown(browser)

        assert "Not tried yet" in text
        assert "Send a test event to check" in text
        assert "Healthy" not in text
        assert "Not tried yet" in shown(browser, f"{WEBHOOKS}endpoints/")

    @pytest.mark.parametrize(("result", "state"), [(DELIVERED, "Healthy"), (FAILED, "Not tried yet")])
    def test_is_healthy_after_a_test_event_that_was_delivered(self, browser, ada, now, result, state):
        make_endpoint(business=ada.business)
        browser.post(f"{WEBHOOKS}test/")
        record(acquire(at=now + timedelta(minutes=1)), result, at=now)

        assert state in shown(browser)
        assert state in shown(browser, f"{WEBHOOKS}endpoints/")

    @pytest.mark.parametrize("result", [DELIVERED, FAILED])
    def test_is_not_tried_after_another_url(self, browser, ada, now, result):
        make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=1))
        record(acquire(at=now), result, at=now - timedelta(minutes=50))

        change_url(browser)

        for page in (HEALTH, f"{WEBHOOKS}endpoints/", "/dashboard/"):
            text = shown(browser, page)
            assert "Not tried yet" in text, page
            assert not re.search("Healthy|Failing|has been failing", text), page

    def test_is_not_tried_by_an_attempt_that_was_under_way_to_the_former_url(self, browser, ada, now):
        make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=1))
        leased, started_at = acquire(at=now), clock.now()
        change_url(browser)

        ended_at = clock.now() + timedelta(seconds=5)
        result = AttemptResult(
            delivery=leased[0], exchange=DELIVERED, started_at=started_at, ended_at=ended_at, jitter=0.0
        )
        record_results([result])

        for page in (HEALTH, f"{WEBHOOKS}endpoints/", "/dashboard/"):
            assert "Not tried yet" in shown(browser, page), page

    @pytest.mark.parametrize(("result", "state"), [(DELIVERED, "Healthy"), (FAILED, "Failing")])
    def test_is_known_again_after_an_attempt_at_another_url(self, browser, ada, now, result, state):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(minutes=50))
        next(outage_notices.due(now=now)).complete(now=now)
        change_url(browser)

        make_delivery(endpoint, at=clock.now())
        record(acquire(at=clock.now()), result, at=clock.now())
        list(outage_notices.due(now=clock.now()))

        for page in (HEALTH, "/dashboard/"):
            assert state in shown(browser, page), page

    def test_of_another_url_offers_to_retry_what_waits(self, browser, ada, now):
        make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=1))
        record(acquire(at=now), FAILED, at=now - timedelta(minutes=1))

        change_url(browser)

        assert "Retry now" in shown(browser)

    def test_is_kept_if_the_url_is_saved_unchanged(self, browser, ada, now):
        endpoint = make_endpoint(business=ada.business)
        make_delivery(endpoint, at=now - timedelta(hours=1))
        record(acquire(at=now), DELIVERED, at=now - timedelta(minutes=50))

        change_url(browser, endpoint.url)

        assert "Healthy" in shown(browser)

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
    def test_keeps_the_settings_on_a_tab_of_their_own(self, browser, ada):
        make_endpoint(business=ada.business)

        health, settings = (browser.get(page).content.decode() for page in (HEALTH, WEBHOOKS))

        assert "Recent deliveries" in health
        assert "Webhook URL" not in health
        assert settings.index("Webhook URL") < settings.index("Retry schedule")
        assert "Recent deliveries" not in settings
        assert f'href="{WEBHOOKS}">Settings</a>' in health

    def test_begins_with_the_settings_before_there_is_an_endpoint(self, browser):
        page = browser.get(HEALTH).content.decode()

        assert "Recent deliveries" not in page
        assert "Webhook URL" in page

    def test_charts_attempts_in_their_hour(self, browser, ada, now):
        make_delivery(make_endpoint(business=ada.business), at=now - timedelta(hours=3))
        record(acquire(at=now), FAILED, at=now - timedelta(hours=1))

        slots = browser.get(HEALTH).context["health"].attempts.slots

        assert slots[-2].text.endswith("0 delivered, 1 failed")
        assert slots[-4].text == ""


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
        assert '<p class="muted">The last automatic attempt failed. Resend' in answer.content.decode()
        assert 'title="Your endpoint is off. Events are sent once' in answer.content.decode()
        addresses = re.findall(r'href="\?([^"]*)"', unescape(answer.content.decode()))
        assert {"state": ["held"], "event": ["payment.success"]} in map(parse_qs, addresses)
        assert '<input type="hidden" name="state" value="dead">' in answer.content.decode()
